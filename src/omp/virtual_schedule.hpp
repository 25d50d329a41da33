// Which context runs next on which host thread, and who waits at the barrier of the team: a state machine that knows
// nothing of stacks, threads and entry points. Contexts are the virtual threads of one parallel region, numbered as the
// program sees them; hosts are the threads of the host runtime that run them.
//
// A host goes through its own contexts in the order of their numbers, those that have not started and those that may go
// on; when none is left it takes one from the far end of another host's, the next host first, so that hosts that run
// out together look at different ones. Where started contexts may not move, only those that have not started are
// taken.
//
// Each call below is one transition: one lock or one shared word, so that all interleavings of calls are all there is
// (tests/omp/virtual_schedule_test.cpp). `Memory` supplies the words and the lock, which the tests replace by plain
// ones. Calls with a host's number belong to that host; make_ready() may be called by anybody.
//
//   context: not started -> running -> (waiting at the barrier | elsewhere: a lock, an ordered turn) -> ready ->
//   running
//            -> ... -> finished
//   host:    look: own -> arrivals -> [release] -> over -> others -> rest (or sleep, or leave) -> own
//
// A barrier is complete when all contexts have arrived. Arrivals are counted by each host for itself and reported when
// it has nothing of its own left to run, which delays nothing: what it still runs has to arrive too. Who reports the
// last one begins a new generation; contexts that wait since an earlier generation are ready, whoever looks first,
// their host or a thief.
//
// A host leaves when some context of the region has finished (then no barrier is still to come), no context that is
// suspended belongs to it, and there is nothing to take. Nobody waits for a host: one that never comes is one whose
// contexts are taken by others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace tri::omp {

// Context numbers in a line; room for a number that is known before.
class context_queue {
 public:
  void reserve(std::uint32_t room) {
    if (slots_.size() < room) slots_.resize(room);
    first_ = count_ = 0;
  }
  bool empty() const { return count_ == 0; }
  std::uint32_t size() const { return count_; }
  void push_back(std::uint32_t context) { slots_[place(count_++)] = context; }
  std::uint32_t pop_front() {
    const std::uint32_t context = slots_[first_];
    first_ = place(1);
    --count_;
    return context;
  }
  std::uint32_t pop_back() { return slots_[place(--count_)]; }
  std::uint32_t at(std::uint32_t index) const { return slots_[place(index)]; }

 private:
  std::uint32_t place(std::uint32_t offset) const {
    const std::size_t sum = std::size_t{first_} + offset;
    return static_cast<std::uint32_t>(sum < slots_.size() ? sum : sum - slots_.size());
  }
  std::vector<std::uint32_t> slots_;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

struct context_counts {
  std::uint64_t run = 0;        // contexts that ran to their end
  std::uint64_t stolen = 0;     // taken from another host
  std::uint64_t suspended = 0;  // times that a context was put aside
};

template <class Memory>
class context_schedule {
 public:
  enum class advice : std::uint8_t {
    run,      // `context`, which is now this host's
    look_on,  // call look() again; `rings`: whoever sleeps has to be woken first
    rest,     // nothing to do now; look() again later, or prepare_sleep()
    sleep,    // nothing to do, and whoever makes something will ring
    leave     // this host is not needed any more
  };
  struct step {
    advice what = advice::rest;
    std::uint32_t context = 0;
    bool rings = false;
  };

  /// A region of `contexts` on `hosts` begins. Called while no host is inside.
  void begin(std::uint32_t contexts, std::uint32_t hosts, bool started_may_move) {
    contexts_ = contexts;
    moves_ = started_may_move;
    if (hosts_.size() < hosts) hosts_ = std::vector<host_state>(hosts);
    count_ = hosts;
    if (home_.size() < contexts) home_.resize(contexts);
    for (std::uint32_t host = 0; host < hosts; ++host) hosts_[host].begin(range_of(host), contexts);
    remaining_.store(contexts, std::memory_order_relaxed);  // relaxed: hosts come through a fork
    generation_.store(0, std::memory_order_relaxed);        // relaxed: as above
    over_.store(0, std::memory_order_relaxed);              // relaxed: as above
    sleepers_.store(0, std::memory_order_relaxed);          // relaxed: as above
  }

  /// The next step of `host`'s search for something to run.
  step look(std::uint32_t host) {
    host_state& me = hosts_[host];
    switch (me.at) {
      case place::own:
        return look_at_own(me, host);
      case place::arrivals:
        return report_arrivals(me);
      case place::release:
        return release(me);
      case place::over:
        me.at = place::others;
        me.victim = 1;
        me.said_over = true;
        over_.store(1, std::memory_order_seq_cst);  // schedule.over; seq_cst: see prepare_sleep
        return {advice::look_on, 0, true};
      case place::others:
        return look_at_others(me, host);
    }
    return {};
  }

  /// What look() said was run has been put aside: at the barrier, ...
  void arrive(std::uint32_t host, std::uint32_t context) {
    host_state& me = hosts_[host];
    const std::lock_guard held(me.guard);
    const std::uint32_t now = generation_.load(std::memory_order_relaxed);  // relaxed: it cannot change before us
    collect_released(me, now);
    me.waiting.push_back(context);
    me.waiting_since.store(now + 1, std::memory_order_relaxed);  // relaxed: a hint; the lock orders what counts
    ++me.arrived;
    ++me.counts.suspended;
  }
  /// ... or where somebody else keeps it, who will call make_ready(). Called before anybody else can know of it.
  void put_elsewhere(std::uint32_t host) {
    host_state& me = hosts_[host];
    const std::lock_guard held(me.guard);
    ++me.elsewhere;
    ++me.counts.suspended;
  }
  /// It need not be put aside after all: what it wanted was there. It goes on running.
  void take_back(std::uint32_t host) {
    host_state& me = hosts_[host];
    const std::lock_guard held(me.guard);
    --me.elsewhere;
    --me.counts.suspended;
  }
  /// It has ended.
  void finish(std::uint32_t host) {
    hosts_[host].finished = true;
    ++hosts_[host].counts.run;
  }

  /// A context that was put elsewhere may go on. Whoever sleeps has to be woken afterwards.
  void make_ready(std::uint32_t context) {
    host_state& home = hosts_[home_[context]];
    const std::lock_guard held(home.guard);
    --home.elsewhere;
    home.ready.push_back(context);
    count_claimable(home);
  }

  /// After advice::rest: the host wants to sleep and looks again, thoroughly. If there is nothing, advice::sleep
  /// follows. Whoever makes something to do and does not see this sleeper did so before the sleeper looked: either both
  /// took the same lock, or both words are written and read in the one order of seq_cst.
  void prepare_sleep(std::uint32_t host) {
    hosts_[host].thorough = true;
    hosts_[host].at = place::own;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);  // pairs: schedule.sleepers
  }
  void end_sleep(std::uint32_t host) { look_no_more(hosts_[host]); }
  bool has_sleepers() const { return sleepers_.load(std::memory_order_seq_cst) != 0; }  // schedule.sleepers

  const context_counts& counts(std::uint32_t host) const { return hosts_[host].counts; }
  std::uint32_t home(std::uint32_t context) const { return home_[context]; }

  /// Everything that decides the future, for tests.
  template <class Append>
  void describe(Append&& append) const {
    for (std::uint32_t host = 0; host < count_; ++host) hosts_[host].describe(append);
    for (std::uint32_t context = 0; context < contexts_; ++context) append(home_[context]);
    append(remaining_.load(std::memory_order_relaxed));   // relaxed: nobody else is there
    append(generation_.load(std::memory_order_relaxed));  // relaxed: as above
    append(over_.load(std::memory_order_relaxed));        // relaxed: as above
    append(sleepers_.load(std::memory_order_relaxed));    // relaxed: as above
  }

 private:
  template <class Value>
  using word = typename Memory::template word<Value>;
  enum class place : std::uint8_t { own, arrivals, release, over, others };
  struct number_range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  struct alignas(128) host_state {
    // Under the lock.
    typename Memory::mutex guard;
    number_range unstarted;
    context_queue ready;
    context_queue waiting;        // at the barrier, since generation waiting_since - 1
    std::uint32_t elsewhere = 0;  // contexts of this host that others keep
    // Written under the lock, read by others without it, as hints.
    word<std::uint32_t> claimable{0};      // unstarted and ready
    word<std::uint32_t> waiting_since{0};  // 0: nobody waits
    // The host's own.
    alignas(128) place at = place::own;
    bool thorough = false;   // it looks without trusting hints
    bool finished = false;   // a context of the region ended here
    bool said_over = false;  // ... and the others know
    bool suspends = false;   // at its last look, suspended contexts belonged to it
    std::uint32_t victim = 0;
    std::uint32_t arrived = 0;  // and not yet reported
    context_counts counts;

    void begin(number_range range, std::uint32_t contexts) {
      unstarted = range;
      ready.reserve(contexts);
      waiting.reserve(contexts);
      elsewhere = 0;
      claimable.store(range.last - range.first, std::memory_order_relaxed);  // relaxed: hosts come through a fork
      waiting_since.store(0, std::memory_order_relaxed);                     // relaxed: as above
      at = place::own;
      thorough = finished = said_over = suspends = false;
      victim = arrived = 0;
      counts = {};
    }
    template <class Append>
    void describe(Append&& append) const {
      append(unstarted.first);
      append(unstarted.last);
      for (const context_queue* queue : {&ready, &waiting}) {
        append(queue->size());
        for (std::uint32_t index = 0; index < queue->size(); ++index) append(queue->at(index));
      }
      append(elsewhere);
      append(waiting_since.load(std::memory_order_relaxed));  // relaxed: nobody else is there
      append(static_cast<std::uint32_t>(at));
      append(static_cast<std::uint32_t>(thorough | finished << 1 | said_over << 2 | suspends << 3));
      append(victim);
      append(arrived);
    }
  };

  // The program's static split: the first contexts % hosts hosts have one more.
  number_range range_of(std::uint32_t host) const {
    const std::uint32_t each = contexts_ / count_;
    const std::uint32_t more = contexts_ % count_;
    const std::uint32_t first = host * each + (host < more ? host : more);
    return {first, first + each + (host < more ? 1 : 0)};
  }

  void count_claimable(host_state& host) {
    const std::uint32_t unstarted = host.unstarted.last - host.unstarted.first;
    // relaxed: a hint
    host.claimable.store(unstarted + (moves_ ? host.ready.size() : 0), std::memory_order_relaxed);
  }

  // Those that waited for the end of a generation that is over are ready. Under the host's lock.
  void collect_released(host_state& host, std::uint32_t now) {
    if (host.waiting.empty()) return;
    if (host.waiting_since.load(std::memory_order_relaxed) == now + 1) return;  // relaxed: the lock orders it
    if (host.ready.empty()) {
      std::swap(host.ready, host.waiting);
    } else {
      while (!host.waiting.empty()) host.ready.push_back(host.waiting.pop_front());
    }
    host.waiting_since.store(0, std::memory_order_relaxed);  // relaxed: a hint
    count_claimable(host);
  }
  std::uint32_t generation_now() const {
    return generation_.load(std::memory_order_seq_cst);  // pairs: schedule.release; seq_cst: see prepare_sleep
  }

  step found(host_state& me, std::uint32_t context) {
    me.at = place::own;
    if (me.thorough) look_no_more(me);
    return {advice::run, context, false};
  }

  step look_at_own(host_state& me, std::uint32_t host) {
    {
      const std::lock_guard held(me.guard);
      collect_released(me, generation_now());
      if (!me.ready.empty()) {
        const std::uint32_t context = me.ready.pop_front();
        count_claimable(me);
        return found(me, context);
      }
      if (me.unstarted.first != me.unstarted.last) {
        const std::uint32_t context = me.unstarted.first++;
        home_[context] = host;
        count_claimable(me);
        return found(me, context);
      }
      me.suspends = me.elsewhere != 0 || !me.waiting.empty();
    }
    me.victim = 1;
    me.at = me.arrived != 0 ? place::arrivals : place_after_arrivals(me);
    return {advice::look_on, 0, false};
  }
  place place_after_arrivals(const host_state& me) const {
    return me.finished && !me.said_over ? place::over : place::others;
  }

  step report_arrivals(host_state& me) {
    const std::uint32_t count = std::exchange(me.arrived, 0);
    // acq_rel: what the contexts wrote before the barrier goes to whoever completes it, and on from there
    const bool complete = remaining_.fetch_sub(count, std::memory_order_acq_rel) == count;
    me.at = complete ? place::release : place_after_arrivals(me);
    return {advice::look_on, 0, false};
  }
  step release(host_state& me) {
    remaining_.store(contexts_, std::memory_order_relaxed);  // relaxed: nobody arrives before the new generation
    generation_.fetch_add(1, std::memory_order_seq_cst);     // schedule.release
    me.at = place::own;
    return {advice::look_on, 0, true};
  }

  bool may_have(const host_state& victim) const {
    if (victim.claimable.load(std::memory_order_relaxed) != 0) return true;  // relaxed: a hint
    if (!moves_) return false;
    const std::uint32_t since = victim.waiting_since.load(std::memory_order_relaxed);  // relaxed: a hint
    return since != 0 && since != generation_.load(std::memory_order_relaxed) + 1;     // relaxed: a hint
  }

  step look_at_others(host_state& me, std::uint32_t host) {
    while (me.victim < count_) {
      host_state& victim = hosts_[(host + me.victim++) % count_];
      if (!me.thorough && !may_have(victim)) continue;
      const std::lock_guard held(victim.guard);
      if (moves_) collect_released(victim, generation_now());
      std::uint32_t context = 0;
      if (victim.unstarted.first != victim.unstarted.last) {
        context = --victim.unstarted.last;
      } else if (moves_ && !victim.ready.empty()) {
        context = victim.ready.pop_back();
      } else {
        return {advice::look_on, 0, false};
      }
      count_claimable(victim);
      home_[context] = host;
      ++me.counts.stolen;
      return found(me, context);
    }
    me.at = place::own;
    if (!me.suspends && over_.load(std::memory_order_seq_cst) != 0) {  // pairs: schedule.over
      if (me.thorough) look_no_more(me);
      return {advice::leave, 0, false};
    }
    return {me.thorough ? advice::sleep : advice::rest, 0, false};
  }
  void look_no_more(host_state& me) {
    me.thorough = false;
    sleepers_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a ring too many does no harm
  }

  std::uint32_t contexts_ = 0;
  std::uint32_t count_ = 0;
  bool moves_ = true;
  std::vector<host_state> hosts_;
  std::vector<std::uint32_t> home_;  // the host that ran it last; written under the lock of whoever had it
  alignas(128) word<std::uint32_t> remaining_{0};
  alignas(128) word<std::uint32_t> generation_{0};
  word<std::uint32_t> over_{0};
  word<std::uint32_t> sleepers_{0};
};

}  // namespace tri::omp
