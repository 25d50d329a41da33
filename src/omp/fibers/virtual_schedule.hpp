// Which context runs next on which carrier, and which contexts wait at the team's barrier: a state machine
// independent of stacks, threads and entry points. Contexts are the virtual threads of one parallel region, numbered as
// the program sees them; carriers are the threads of the native runtime that run them.
//
// A carrier runs its own contexts in the order of their numbers, both new and ready ones; when none is left it steals
// from the far end of another carrier's queue, the next carrier first, so that carriers that run out together try
// different victims. Where started contexts may not migrate, only new ones are stolen, and stay with the thief until
// the region ends. In that case nothing is stolen from a carrier that is only late, nor when there are no more contexts
// than carriers, for a program may rely on a thread for each.
//
// Each call below is one transition: one lock or one shared word, so the interleavings of calls are the complete state
// space (tests/omp/fibers/virtual_schedule_test.cpp). `Memory` supplies the words and the lock, which the tests replace
// by plain ones. Calls with a carrier's number are made by that carrier; any thread may call make_ready().
//
//   context: not started -> running -> suspended -> ready -> running -> ... -> finished
//            suspended: at the barrier, elsewhere (a lock, an ordered turn), or yielded and ready at once
//   carrier:    look: own -> [arrivals -> [release]] -> others -> rest (or sleep, or leave) -> own
//
// A barrier is complete when all contexts have arrived. Each carrier counts its own arrivals and reports them when it
// has nothing of its own left to run, which delays nothing: the contexts it still runs must arrive too. The carrier
// that reports the last one starts a new generation; contexts that wait since an earlier generation are ready, for
// their carrier or a thief.
//
// A carrier leaves when some context of the region has finished (then no barrier can follow), it owns no suspended
// context, and there is nothing to steal. No carrier is waited for: the contexts of one that never comes are stolen by
// others.
//
// Before a carrier steals, it passes others by a few times: they may be about to arrive from a fork or a barrier, and
// migrating a context for less than that costs more than it gains.
//
// Few cache lines move: a region starts by one line with its number; a carrier's state is initialized for the region by
// its first user, the owner or a thief. Numbers of regions and generations only increase.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace tri::omp {

// A queue of context numbers with a fixed capacity, in cache lines of its own.
class context_queue {
 public:
  void reserve(std::uint32_t capacity) {
    lines_.resize((capacity + per_line - 1) / per_line);
    capacity_ = static_cast<std::uint32_t>(lines_.size()) * per_line;
  }
  bool empty() const { return count_ == 0; }
  std::uint32_t size() const { return count_; }
  void push_back(std::uint32_t context) { slot(count_++) = context; }
  std::uint32_t pop_front() {
    const std::uint32_t context = slot(0);
    if (++first_ == capacity_) first_ = 0;
    --count_;
    return context;
  }
  std::uint32_t pop_back() { return slot(--count_); }
  std::uint32_t at(std::uint32_t index) const { return const_cast<context_queue*>(this)->slot(index); }

 private:
  static constexpr std::uint32_t per_line = 32;
  struct alignas(128) line {
    std::uint32_t contexts[per_line];
  };
  std::uint32_t& slot(std::uint32_t offset) {
    std::uint32_t index = first_ + offset;
    if (index >= capacity_) index -= capacity_;
    return lines_[index / per_line].contexts[index % per_line];
  }
  std::vector<line> lines_;
  std::uint32_t capacity_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

struct context_counts {
  std::uint64_t run = 0;        // contexts that ran to their end
  std::uint64_t stolen = 0;     // taken from another carrier
  std::uint64_t suspended = 0;  // times that a context was suspended
};

template <class Memory>
class context_schedule {
 public:
  enum class advice : std::uint8_t {
    run,      // `context`, which is now this carrier's
    look_on,  // call look() again; `rings`: wake sleepers first
    rest,     // nothing to do now; look() again later, or prepare_sleep()
    sleep,    // nothing to do; new work comes with a wake-up
    leave     // this carrier is not needed any more
  };
  struct step {
    advice what = advice::rest;
    std::uint32_t context = 0;
    bool rings = false;
  };
  struct limits {
    std::uint32_t contexts = 1;
    std::uint32_t carriers = 1;
    bool started_may_move = true;
    std::uint32_t patience = 0;  // times that a carrier without own work passes others by
  };

  /// A region begins. Called while no carrier is inside.
  void begin(const limits& of_region) {
    if (carriers_.size() < of_region.carriers || capacity_ < of_region.contexts) grow(of_region);
    if (of_region.contexts != region_.contexts) {
      const std::uint32_t now = generation_of(barrier_.load(std::memory_order_relaxed));  // relaxed: we are alone
      barrier_.store(barrier_word(now, of_region.contexts), std::memory_order_relaxed);   // relaxed: as above
    }
    region_ = of_region;
    present_.store(0, std::memory_order_relaxed);  // relaxed: we are alone
    ++round_;
  }

  /// The number of carriers in this region, the first ones: the native runtime may provide fewer than requested. Each
  /// carrier calls this before its first look() where started contexts may not migrate.
  void set_present(std::uint32_t carriers) {
    present_.store(carriers, std::memory_order_relaxed);  // relaxed: all say the same
  }

  /// The next step of `carrier`'s search for something to run.
  step look(std::uint32_t carrier) {
    carrier_state& me = carriers_[carrier];
    if (me.own_round != round_) come(me);
    switch (me.at) {
      case phase::own:
        return look_at_own(me, carrier);
      case phase::arrivals:
        return report_arrivals(me);
      case phase::release:
        return release(me);
      case phase::others:
        return look_at_others(me, carrier);
    }
    return {};
  }

  /// The context that look() returned is suspended: at the barrier, ...
  void arrive(std::uint32_t carrier, std::uint32_t context) {
    carrier_state& me = carriers_[carrier];
    me.stepped_back = 0;
    const std::lock_guard held(me.guard);
    const std::uint32_t now = generation_now();  // it cannot change before this arrival is reported
    collect_released(me, now);
    me.waiting.push_back(context);
    set_hint(me.waiting_since, now + 1);
    ++me.arrived;
    ++me.counts.suspended;
  }
  /// ... or in a queue whose owner will call make_ready(). Called before the context is visible there.
  void put_elsewhere(std::uint32_t carrier) {
    carrier_state& me = carriers_[carrier];
    me.stepped_back = 0;
    const std::lock_guard held(me.guard);
    ++me.elsewhere;
    ++me.counts.suspended;
  }
  /// ... or behind all other runnable contexts, here and, if there are none here, elsewhere: it polls for something
  /// that only another context can provide.
  void yield(std::uint32_t carrier, std::uint32_t context) {
    carrier_state& me = carriers_[carrier];
    const std::lock_guard held(me.guard);
    me.ready.push_back(context);
    update_signs(me);
    ++me.stepped_back;
    ++me.counts.suspended;
  }
  /// It need not be suspended after all and continues running.
  void take_back(std::uint32_t carrier) {
    carrier_state& me = carriers_[carrier];
    const std::lock_guard held(me.guard);
    --me.elsewhere;
    --me.counts.suspended;
  }
  /// It has ended.
  void finish(std::uint32_t carrier) {
    carrier_state& me = carriers_[carrier];
    me.stepped_back = 0;
    ++me.counts.run;
    if (me.finished) return;
    me.finished = me.tells = true;
    const std::lock_guard held(me.guard);
    me.ended = true;
    update_signs(me);
  }

  /// A context that was put elsewhere may continue. Sleepers must be woken afterwards.
  void make_ready(std::uint32_t context) {
    carrier_state& home = carriers_[home_[context]];
    const std::lock_guard held(home.guard);
    --home.elsewhere;
    home.ready.push_back(context);
    update_signs(home);
  }

  /// After advice::rest: the carrier wants to sleep and checks again, thoroughly. If there is nothing, advice::sleep
  /// follows. A thread that creates work and does not see this sleeper did so before the sleeper's check: either both
  /// took the same lock, or both words are written and read in the one order of seq_cst.
  /// Not arena::sleeper, which is one thread's: new work is for any carrier, so all sleepers share a count and a
  /// doorbell; and the count is a word of this state machine, whose transitions the tests enumerate.
  void prepare_sleep(std::uint32_t carrier) {
    carriers_[carrier].thorough = true;
    carriers_[carrier].at = phase::own;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);  // pairs: schedule.sleepers
  }
  void end_sleep(std::uint32_t carrier) { look_no_more(carriers_[carrier]); }
  bool has_sleepers() const { return sleepers_.load(std::memory_order_seq_cst) != 0; }  // schedule.sleepers

  /// Whether a barrier is complete since the carrier looked at its own contexts: one word, which is in every carrier's
  /// cache until then.
  bool has_news(std::uint32_t carrier) const { return generation() != carriers_[carrier].seen; }

  /// Of all regions so far. Called while no carrier is inside.
  context_counts counts() const {
    context_counts sum = earlier_;
    for (const carrier_state& each : carriers_) {
      sum.run += each.counts.run;
      sum.stolen += each.counts.stolen;
      sum.suspended += each.counts.suspended;
    }
    return sum;
  }

  /// Everything that decides the future, for tests.
  template <class Append>
  void describe(Append&& append) const {
    for (std::uint32_t carrier = 0; carrier < region_.carriers; ++carrier) carriers_[carrier].describe(append, round_);
    for (std::uint32_t context = 0; context < region_.contexts; ++context) append(home_[context]);
    append(barrier_.load(std::memory_order_relaxed));   // relaxed: no other thread is there
    append(sleepers_.load(std::memory_order_relaxed));  // relaxed: as above
    append(present_.load(std::memory_order_relaxed));   // relaxed: as above
  }

 private:
  template <class Value>
  using word = typename Memory::template word<Value>;
  enum class phase : std::uint8_t { own, arrivals, release, others };
  struct row_range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  struct alignas(128) carrier_state {
    // Under the lock.
    typename Memory::mutex guard;
    std::uint64_t round = 0;      // number of the region that it is ready for
    row_range unstarted;          // see context_of()
    std::uint32_t elsewhere = 0;  // contexts of this carrier that others keep
    bool ended = false;           // a context of the region finished here
    bool came = false;            // the carrier itself has looked; where started contexts may not move
    // Under the lock.
    context_queue ready;
    context_queue waiting;  // at the barrier, since generation waiting_since - 1
    // Written by their carrier, or under the lock, and only when they change; others poll them.
    alignas(64) word<std::uint64_t> signs{0};  // {region, flags below}; of an earlier region: the carrier has not come
    word<std::uint32_t> waiting_since{0};      // a generation + 1; 0: no context waits
    // The carrier's own.
    alignas(128) phase at = phase::own;
    bool thorough = false;    // its check ignores hints
    bool finished = false;    // a context of the region ended here
    bool tells = false;       // ... of which sleepers must be notified
    bool knows_end = false;   // a context of the region ended somewhere else
    bool suspends = false;    // at its last look, suspended contexts belonged to it
    bool looks_away = false;  // all that it could run have yielded
    bool passed_by = false;   // in this round of polls, a carrier that may have work
    std::uint32_t seen = 0;   // generation, at its last look at its own contexts
    std::uint64_t own_round = 0;
    std::uint32_t patience = 0;
    std::uint32_t stepped_back = 0;  // contexts, one after the other, since anything else happened
    std::uint32_t victim = 0;
    std::uint32_t arrived = 0;  // and not yet reported
    context_counts counts;      // of all regions

    template <class Append>
    void describe(Append&& append, std::uint64_t now) const {
      append(round == now);
      append(unstarted.first);
      append(unstarted.last);
      for (const context_queue* queue : {&ready, &waiting}) {
        append(queue->size());
        for (std::uint32_t index = 0; index < queue->size(); ++index) append(queue->at(index));
      }
      append(elsewhere);
      append(static_cast<std::uint32_t>(ended));
      append(waiting_since.load(std::memory_order_relaxed));  // relaxed: no other thread is there
      append(signs.load(std::memory_order_relaxed));          // relaxed: as above
      append(static_cast<std::uint32_t>(at));
      append(static_cast<std::uint32_t>(thorough | finished << 1 | tells << 2 | knows_end << 3 | suspends << 4 |
                                        passed_by << 5 | (own_round == now) << 6 | looks_away << 7));
      append(patience);
      append(stepped_back);
      append(victim);
      append(arrived);
    }
  };

  // The barrier: {generation, contexts that have not reported}, so that one line moves.
  static std::uint64_t barrier_word(std::uint32_t generation, std::uint32_t missing) {
    return std::uint64_t{generation} << 32 | missing;
  }
  static std::uint32_t generation_of(std::uint64_t barrier) { return static_cast<std::uint32_t>(barrier >> 32); }
  std::uint32_t generation() const {
    return generation_of(barrier_.load(std::memory_order_relaxed));  // relaxed: a hint to check again
  }
  std::uint32_t generation_now() const {
    // pairs: schedule.release; seq_cst: see prepare_sleep
    return generation_of(barrier_.load(std::memory_order_seq_cst));
  }

  void grow(const limits& of_region) {
    earlier_ = counts();
    capacity_ = capacity_ > of_region.contexts ? capacity_ : of_region.contexts;
    carriers_ =
        std::vector<carrier_state>(carriers_.size() > of_region.carriers ? carriers_.size() : of_region.carriers);
    for (carrier_state& each : carriers_) {
      each.ready.reserve(capacity_);
      each.waiting.reserve(capacity_);
    }
    home_.assign(capacity_, 0);
  }

  // Contexts are dealt out to and fro: rows of one context for each carrier, every other row backwards. A static split
  // gives the first virtual threads one iteration more each, and the cost of iterations often rises or falls: both are
  // even so for any number of iterations, which is known to the program alone. Neighbours mostly stay together.
  std::uint32_t context_of(std::uint32_t carrier, std::uint32_t row) const {
    return row * region_.carriers + (row % 2 == 0 ? carrier : region_.carriers - 1 - carrier);
  }
  std::uint32_t rows_of(std::uint32_t carrier) const {
    const std::uint32_t whole = region_.contexts / region_.carriers;
    return whole + (context_of(carrier, whole) < region_.contexts ? 1 : 0);
  }

  // The carrier's own part of entering a region.
  void come(carrier_state& me) {
    me.at = phase::own;
    me.thorough = me.finished = me.tells = me.knows_end = me.suspends = me.looks_away = me.passed_by = false;
    me.victim = me.arrived = me.stepped_back = 0;
    me.patience = region_.patience;
    me.own_round = round_;
  }
  // The part under the lock, done by its first holder in a region.
  void make_current(carrier_state& state, std::uint32_t carrier) {
    if (state.round == round_) return;
    state.round = round_;
    state.unstarted = {0, rows_of(carrier)};
    state.elsewhere = 0;
    state.ended = state.came = false;
    set_hint(state.waiting_since, std::uint32_t{0});
    update_signs(state);
  }

  // Hints are written only when they change: others poll them.
  template <class Value>
  static void set_hint(word<Value>& hint, Value value) {
    if (hint.load(std::memory_order_relaxed) != value) hint.store(value, std::memory_order_relaxed);  // relaxed: a hint
  }
  static constexpr std::uint64_t sign_claimable = 1;
  static constexpr std::uint64_t sign_ended = 2;
  static constexpr std::uint64_t sign_came = 4;
  void update_signs(carrier_state& carrier) {
    const bool any =
        carrier.unstarted.first != carrier.unstarted.last || (region_.started_may_move && !carrier.ready.empty());
    set_hint(carrier.signs, round_ << 3 | (any ? sign_claimable : 0) | (carrier.ended ? sign_ended : 0) |
                                (carrier.came ? sign_came : 0));
  }
  // Most often it is there already, and its line need not move.
  void settle(std::uint32_t context, std::uint32_t carrier) {
    if (home_[context] != carrier) home_[context] = carrier;
  }

  // Those that waited for the end of a generation that is over are ready. Under the carrier's lock.
  void collect_released(carrier_state& carrier, std::uint32_t now) {
    if (carrier.waiting.empty()) return;
    if (carrier.waiting_since.load(std::memory_order_relaxed) == now + 1) return;  // relaxed: the lock orders it
    if (carrier.ready.empty()) {
      std::swap(carrier.ready, carrier.waiting);
    } else {
      while (!carrier.waiting.empty()) carrier.ready.push_back(carrier.waiting.pop_front());
    }
    set_hint(carrier.waiting_since, std::uint32_t{0});
    update_signs(carrier);
  }

  void look_no_more(carrier_state& me) {
    me.thorough = false;
    sleepers_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a ring too many does no harm
  }
  step found(carrier_state& me, std::uint32_t context) {
    me.at = phase::own;
    if (me.thorough) look_no_more(me);
    return {advice::run, context, false};
  }

  step found_own(carrier_state& me, std::uint32_t context) {
    me.patience = region_.patience;
    return found(me, context);
  }

  step look_at_own(carrier_state& me, std::uint32_t carrier) {
    {
      const std::lock_guard held(me.guard);
      make_current(me, carrier);
      if (!region_.started_may_move && !me.came) {
        me.came = true;
        update_signs(me);
        // Its contexts may be stolen from now on, and it may never look again: its first context may wait for the
        // others.
        if (region_.contexts > region_.carriers) return {advice::look_on, 0, true};
      }
      me.seen = generation_now();
      collect_released(me, me.seen);
      const bool begins_another = me.stepped_back != 0 && me.unstarted.first != me.unstarted.last;
      me.looks_away = !begins_another && me.stepped_back != 0 && me.stepped_back >= me.ready.size();
      if (!me.ready.empty() && !begins_another && !me.looks_away) {
        const std::uint32_t context = me.ready.pop_front();
        update_signs(me);
        return found_own(me, context);
      }
      if (me.unstarted.first != me.unstarted.last) {
        const std::uint32_t context = context_of(carrier, me.unstarted.first++);
        settle(context, carrier);
        update_signs(me);
        return found_own(me, context);
      }
      me.suspends = me.elsewhere != 0 || !me.waiting.empty() || !me.ready.empty();
    }
    me.victim = 1;
    me.passed_by = false;
    me.at = me.arrived != 0 ? phase::arrivals : phase::others;
    return {advice::look_on, 0, std::exchange(me.tells, false)};
  }

  step report_arrivals(carrier_state& me) {
    const std::uint32_t count = std::exchange(me.arrived, 0);
    // acq_rel: the contexts' writes before the barrier become visible to the carrier that completes it, and on from
    // there
    const std::uint64_t before = barrier_.fetch_sub(count, std::memory_order_acq_rel);
    me.at = static_cast<std::uint32_t>(before) == count ? phase::release : phase::others;
    return {advice::look_on, 0, false};
  }
  step release(carrier_state& me) {
    // No other carrier writes it: all have arrived, and none arrives before the new generation.
    const std::uint32_t now = generation_of(barrier_.load(std::memory_order_relaxed));   // relaxed: as said
    barrier_.store(barrier_word(now + 1, region_.contexts), std::memory_order_seq_cst);  // schedule.release
    me.at = phase::own;
    return {advice::look_on, 0, true};
  }

  bool may_have(const carrier_state& victim, std::uint64_t signs) const {
    if (signs >> 3 != round_ || (signs & sign_claimable) != 0) return true;
    if (!region_.started_may_move) return false;
    const std::uint32_t since = victim.waiting_since.load(std::memory_order_relaxed);  // relaxed: a hint
    return since != 0 && since != generation() + 1;
  }

  // Whether that carrier may be stolen from, where stolen contexts cannot return.
  bool may_lose(std::uint32_t number, bool came) const {
    if (region_.started_may_move) return true;
    const std::uint32_t present = present_.load(std::memory_order_relaxed);  // relaxed: we have said so ourselves
    if (present != 0 && number >= present) return true;                      // it will never come
    return came && region_.contexts > region_.carriers;
  }

  step look_at_others(carrier_state& me, std::uint32_t carrier) {
    while (me.victim < region_.carriers) {
      const std::uint32_t number = (carrier + me.victim++) % region_.carriers;
      carrier_state& victim = carriers_[number];
      if (!me.thorough) {
        const std::uint64_t signs = victim.signs.load(std::memory_order_relaxed);  // relaxed: a hint
        if (signs >> 3 == round_ && (signs & sign_ended) != 0) me.knows_end = true;
        if (!may_have(victim, signs)) continue;
        if (!may_lose(number, signs >> 3 == round_ && (signs & sign_came) != 0)) continue;
        if (me.patience != 0 && !me.looks_away) {
          me.passed_by = true;
          continue;
        }
      }
      const std::lock_guard held(victim.guard);
      make_current(victim, number);
      if (victim.ended) me.knows_end = true;
      if (!may_lose(number, victim.came)) continue;
      if (region_.started_may_move) collect_released(victim, generation_now());
      std::uint32_t context = 0;
      if (victim.unstarted.first != victim.unstarted.last) {
        context = context_of(number, --victim.unstarted.last);
      } else if (region_.started_may_move && !victim.ready.empty()) {
        context = victim.ready.pop_back();
      } else {
        return {advice::look_on, 0, false};
      }
      update_signs(victim);
      settle(context, carrier);
      ++me.counts.stolen;
      return found(me, context);
    }
    me.at = phase::own;
    if (std::exchange(me.looks_away, false)) {
      me.stepped_back = 0;
      return {advice::look_on, 0, false};
    }
    if (me.passed_by) {
      --me.patience;
    } else if (!me.suspends && (me.finished || me.knows_end)) {
      if (me.thorough) look_no_more(me);
      return {advice::leave, 0, false};
    }
    return {me.thorough ? advice::sleep : advice::rest, 0, false};
  }

  // Written when a region begins, read by all.
  alignas(128) limits region_{0, 0, true, 0};
  std::uint64_t round_ = 0;
  word<std::uint32_t> sleepers_{0};
  word<std::uint32_t> present_{0};
  std::uint32_t capacity_ = 0;  // contexts that there is room for
  std::vector<carrier_state> carriers_;
  std::vector<std::uint32_t> home_;  // the carrier that ran it last; written under the lock of the carrier that had it
  context_counts earlier_;           // from before the last growth
  alignas(128) word<std::uint64_t> barrier_{0};
};

}  // namespace tri::omp
