#include "explore/interleavings.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "explore/watched_accesses.hpp"

namespace tri::explore {
namespace {

using clock = std::array<std::uint32_t, most_agents>;
using agent_set = std::uint8_t;

void join(clock& to, const clock& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}
constexpr agent_set only(int agent) { return static_cast<agent_set>(1U << agent); }

// Of each word, by its number: the oldest of its values that may still be read, counted from the first.
using oldest_values = std::vector<std::uint32_t>;
void join(oldest_values& to, const oldest_values& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}
std::uint32_t at(const oldest_values& of, std::size_t word) { return word < of.size() ? of[word] : 0; }
void raise(oldest_values& of, std::size_t word, std::uint32_t value) {
  if (of.size() <= word) of.resize(word + 1);
  of[word] = std::max(of[word], value);
}

// What the memory orders let an agent know, and what a value carries from the one who released it.
struct knowledge {
  clock releases{};  // of each agent, up to which of its releases
  oldest_values oldest;
};
void join(knowledge& to, const knowledge& from) {
  join(to.releases, from.releases);
  join(to.oldest, from.oldest);
}

// A step as others see it. In the one order of seq_cst, where old values can be read: a fence concerns all other steps
// of that kind, and nothing else does by this alone.
enum class concerns : std::uint8_t { nobody, reads, writes, acquires };
struct announced {
  concerns what = concerns::nobody;
  std::uintptr_t address = 0;
  std::size_t bytes = 1;
  concerns in_one_order = concerns::nobody;
};
bool overlap(std::uintptr_t a, std::size_t a_bytes, std::uintptr_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}
bool concern_each_other(concerns a, concerns b) {
  return a != concerns::nobody && b != concerns::nobody && (a != concerns::reads || b != concerns::reads);
}
bool depend(const announced& a, const announced& b) {
  return (concern_each_other(a.what, b.what) && overlap(a.address, a.bytes, b.address, b.bytes)) ||
         concern_each_other(a.in_one_order, b.in_one_order);
}

// One size of access at one address: the last steps there, for the order of steps, and its values.
struct word_history {
  struct step {
    int index = -1;  // in the run
    std::uint32_t count = 0;
  };
  struct old_value {
    std::uint64_t value;
    knowledge carried;
  };
  std::uintptr_t address = 0;
  std::size_t bytes = 1;
  std::size_t number = 0;
  std::array<step, most_agents> writes{};
  std::array<step, most_agents> reads{};
  std::array<step, most_agents> acquires{};
  clock written{};
  clock read{};
  knowledge carried;  // by the last value
  bool is_held = false;
  std::vector<old_value> before;        // all values but the last one
  std::uint32_t oldest = 0;             // that can be read by anybody
  std::uint32_t last_in_one_order = 0;  // the last one that was stored seq_cst
  std::uint64_t run = 0;                // older ones count as empty

  std::uint32_t last() const { return static_cast<std::uint32_t>(before.size()); }
  void restart(std::uint64_t now) {
    const auto [where, size, own] = std::tuple(address, bytes, number);
    *this = {};
    address = where, bytes = size, number = own, run = now;
  }
};

// Who takes the next step, and what is left to try there; or something else that can go several ways.
struct choice {
  int ways = 0;  // 0: who takes the next step
  int taken = 0;
  agent_set enabled = 0;
  agent_set to_try = 0;
  agent_set tried = 0;
  agent_set asleep = 0;
  std::array<announced, most_agents> next{};
};

struct taken_step {
  int agent;
  std::uint32_t count;  // of the agent's
  clock order;          // of each agent, how many of its steps come before
  std::size_t choice;
};

struct look {
  std::uintptr_t address;
  std::size_t bytes;
  std::uint64_t value;
  bool operator==(const look&) const = default;
};

enum class waiting : std::uint8_t { not_at_all, for_lock, for_words, for_anybody, for_ring, finished };

struct agent {
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_bytes);
  announced next;
  waiting waits = waiting::not_at_all;
  std::uintptr_t bell = 0;
  bool has_limit = false;
  bool timed_out = false;
  std::uint32_t steps = 0;
  clock order{};  // of steps
  knowledge knows;
  knowledge released;              // at its last release fence
  knowledge read;                  // carried by what it has read since; an acquire fence takes it over
  std::vector<look> looks;         // since it last did anything else
  std::vector<look> awaited;       // for_words
  bool looks_in_vain = false;      // its next step is to look at what has not changed
  int looks_left = 0;              // of such a loop, one after the other
  std::uintptr_t old_address = 0;  // its last load found an old value there,
  std::uint32_t old_value = 0;     // this one
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

  void restart(int number) {
    next = {};
    waits = waiting::not_at_all;
    timed_out = looks_in_vain = false;
    looks_left = 0;
    steps = 0;
    order = {};
    knows = released = read = {};
    knows.releases[static_cast<std::size_t>(number)] = 1;
    looks.clear();
    old_address = 0;
  }
};

class runner {
 public:
  bool is_running() const { return current_ >= 0 && !inside_; }

  interleavings run_all(scenario& of, const exploration& how) {
    how_ = how;
    scenario_ = &of;
    count_ = of.agents();
    result_ = {};
    choices_.clear();
    for (int i = 0; i < of.agents(); ++i)
      if (agents_.size() <= static_cast<std::size_t>(i)) agents_.push_back(std::make_unique<agent>());
    do {
      run_once();
      if (!result_.fault.empty()) {
        for (std::size_t i = 0; i < depth_; ++i)
          result_.schedule.push_back(choices_[i].ways == 0 ? choices_[i].taken : -1 - choices_[i].taken);
        return result_;
      }
      if (result_.runs >= how_.most_runs) return result_;
    } while (next_schedule());
    result_.complete = true;
    return result_;
  }

  // ---- steps, called by the agent that takes them

  // `access` says whether it has changed something.
  template <class Access>
  void step(const announced& next, Access&& access) {
    inside_ = true;
    agent& mine = me();
    mine.next = next;
    if (!goes_on_looking(mine)) {
      give_up_turn();
      record(current_, next);
    }
    const int who = current_;
    inside_ = false;  // what `access` reports is checked
    const bool changed = access();
    inside_ = true;
    if (next.what != concerns::reads) mine.looks.clear();
    if (changed && next.what != concerns::reads) wake_lookers(who, next.address, next.bytes);
    inside_ = false;
  }

  bool reads_old_values() const { return how_.old_reads > 0; }

  std::uint64_t load(std::uintptr_t address, std::size_t bytes, std::memory_order order) {
    std::uint64_t value = 0;
    step({concerns::reads, address, bytes, in_one_order(order, concerns::reads)}, [&] {
      watch_atomic(reinterpret_cast<const void*>(address), bytes, false);
      inside_ = true;
      word_history& history = word(address, bytes);
      agent& mine = me();
      const std::uint32_t last = history.last();
      const std::uint32_t found = last - static_cast<std::uint32_t>(choose_age(history, order));
      value = found == last ? value_now(address, bytes) : history.before[found].value;
      if (found == last) {
        for_each_overlapping(address, bytes, [&](word_history& each) { take(mine, each.carried, order); });
      } else {
        --old_reads_left_;
        take(mine, history.before[found].carried, order);
      }
      if (reads_old_values()) raise(mine.knows.oldest, history.number, found);
      mine.old_address = found == last ? 0 : address;
      mine.old_value = found;
      if (mine.looks.size() == 2 * looks_kept) mine.looks.erase(mine.looks.begin(), mine.looks.begin() + looks_kept);
      mine.looks.push_back({address, bytes, value});
      return false;
    });
    return value;
  }

  void write(std::uintptr_t address, std::size_t bytes, bool changes, std::memory_order order, access_function access,
             void* argument) {
    step({concerns::writes, address, bytes, in_one_order(order, concerns::reads)}, [&] {
      watch_atomic(reinterpret_cast<const void*>(address), bytes, true);
      inside_ = true;
      const std::uint64_t before = reads_old_values() ? value_now(address, bytes) : 0;
      const bool done = access(argument);
      word_history& history = word(address, bytes);
      agent& mine = me();
      if (changes && done) {
        knowledge carried;
        for_each_overlapping(address, bytes, [&](word_history& each) { join(carried, each.carried); });
        take(mine, carried, order);
      }
      if (done) store(mine, history, before, changes, order);
      return done;
    });
  }

  void fence(std::memory_order order) {
    if (order == std::memory_order_relaxed) return;
    const auto takes_effect = [&] {
      inside_ = true;
      agent& mine = me();
      const bool in_order = order == std::memory_order_seq_cst;
      if (order != std::memory_order_release) join(mine.knows, mine.read);
      if (in_order) join(mine.knows.oldest, fenced_);
      if (in_order) join(mine.knows.oldest, stored_in_one_order_);
      if (in_order) join(fenced_, mine.knows.oldest);
      if (order != std::memory_order_acquire && order != std::memory_order_consume) {
        mine.released = mine.knows;
        ++mine.knows.releases[static_cast<std::size_t>(current_)];
      }
      return false;
    };
    if (order == std::memory_order_seq_cst && reads_old_values()) {
      step({concerns::nobody, 0, 0, concerns::writes}, takes_effect);
    } else {
      takes_effect();
      inside_ = false;
    }
  }

  // A plain access of the agent has replaced the values.
  void overwritten(std::uintptr_t address, std::size_t bytes) {
    if (!reads_old_values()) return;
    inside_ = true;
    for_each_overlapping(address, bytes, [](word_history& each) { each.oldest = each.last(); });
    inside_ = false;
  }

  const clock& known() { return me().knows.releases; }
  int current() const { return current_; }

  void yields() {
    inside_ = true;
    me().waits = waiting::for_anybody;
    me().looks.clear();
    me().next = {};
    give_up_turn();
    inside_ = false;
  }

  // The futex: false when the value was another.
  bool sleeps(std::uintptr_t address, const std::uint32_t* word, std::uint32_t expected, bool has_limit) {
    bool slept = false;
    const announced at_bell{concerns::writes, address, sizeof *word};
    step(at_bell, [&] {
      slept = *word == expected;
      return true;
    });
    if (!slept) return false;
    inside_ = true;
    agent& mine = me();
    mine.waits = waiting::for_ring;
    mine.bell = address;
    mine.has_limit = has_limit;
    mine.timed_out = false;
    mine.next = has_limit && how_.early_timeouts > 0 ? at_bell : announced{};
    give_up_turn();
    if (mine.timed_out) record(current_, at_bell);
    inside_ = false;
    return true;
  }
  void wakes(std::uintptr_t address, int most) {
    step({concerns::writes, address, sizeof(std::uint32_t)}, [&] {
      inside_ = true;
      std::vector<agent*> asleep;
      for (int i = 0; i < count(); ++i) {
        agent& other = *agents_[static_cast<std::size_t>(i)];
        if (other.waits != waiting::for_ring || other.bell != address) continue;
        asleep.push_back(&other);
        if (can_go(other)) choices_[taken_.back().choice].to_try |= only(i);  // its time may end just before
      }
      for (; most > 0 && !asleep.empty(); --most) {
        const bool all = static_cast<std::size_t>(most) >= asleep.size();
        const auto which = asleep.begin() + (all ? 0 : choose_way(static_cast<int>(asleep.size())));
        agent& other = **which;
        other.waits = waiting::not_at_all;
        other.next = {};
        join(other.order, me().order);
        asleep.erase(which);
      }
      return true;
    });
  }

  void acquire_lock(std::uintptr_t lock) {
    step({concerns::acquires, lock}, [&] { return take_lock(lock); });
  }
  bool try_lock(std::uintptr_t lock) {
    bool taken = false;
    step({concerns::writes, lock}, [&] { return taken = !word(lock, 1).is_held && take_lock(lock); });
    return taken;
  }
  void release_lock(std::uintptr_t lock) {
    step({concerns::writes, lock}, [&] {
      word_history& history = word(lock, 1);
      history.is_held = false;
      history.carried = me().knows;
      ++me().knows.releases[static_cast<std::size_t>(current_)];
      return true;
    });
  }

  [[noreturn]] void fail(const std::string& fault) {
    inside_ = true;
    if (result_.fault.empty())
      result_.fault = (current_ >= 0 ? "agent " + std::to_string(current_) + ": " : std::string()) + fault;
    if (current_ < 0) throw std::runtime_error(result_.fault);
    abandon();
  }

  static runner& the_one() {
    static runner one;
    return one;
  }
  static std::uint64_t value_now(std::uintptr_t address, std::size_t bytes) {
    switch (bytes) {
      case 1:
        return *reinterpret_cast<const std::uint8_t*>(address);
      case 2:
        return *reinterpret_cast<const std::uint16_t*>(address);
      case 4:
        return *reinterpret_cast<const std::uint32_t*>(address);
      default:
        return *reinterpret_cast<const std::uint64_t*>(address);
    }
  }

 private:
  static constexpr std::size_t most_steps_of_a_run = 5000;
  static constexpr int steps_of_a_turn = 200;       // at most, by itself, while others can go on
  static constexpr std::size_t longest_loop = 4;    // words that a loop looks at
  static constexpr std::size_t rounds_in_vain = 8;  // of a loop that looks at several words
  static constexpr std::size_t looks_kept = longest_loop * rounds_in_vain;
  int count() const { return count_; }
  agent& me() { return *agents_[static_cast<std::size_t>(current_)]; }

  static void entry() {
    runner& mine = the_one();
    mine.inside_ = false;
    mine.scenario_->run(mine.current_);
    mine.inside_ = true;
    mine.me().waits = waiting::finished;
    mine.me().next = {};
    mine.give_up_turn();
    std::abort();  // nobody gives a turn to one that has finished
  }

  void run_once() {
    ++run_;
    taken_.clear();
    depth_ = 0;
    turn_ = 0;
    old_reads_left_ = how_.old_reads;
    early_timeouts_left_ = how_.early_timeouts;
    fenced_.clear();
    stored_in_one_order_.clear();
    fences_.restart(run_);
    begin_watching();
    scenario_->begin();
    for (int i = 0; i < count(); ++i) {
      agent& each = *agents_[static_cast<std::size_t>(i)];
      each.restart(i);
      getcontext(&each.context);
      each.context.uc_stack.ss_sp = each.stack.get();
      each.context.uc_stack.ss_size = agent::stack_bytes;
      each.context.uc_link = nullptr;
      makecontext(&each.context, &runner::entry, 0);
    }
    ended_well_ = false;
    inside_ = true;
    if (const int first = choose(); first >= 0) {
      current_ = first;
      inside_ = false;
      swapcontext(&main_, &agents_[static_cast<std::size_t>(first)]->context);
    }
    current_ = -1;
    inside_ = false;
    result_.steps += depth_;
    if (!result_.fault.empty()) return;
    if (!ended_well_) {
      ++result_.cut;
      return;
    }
    ++result_.runs;
    try {
      scenario_->end();
    } catch (const std::runtime_error&) {  // fail() outside of the agents
    }
  }

  [[noreturn]] void abandon() {
    setcontext(&main_);
    std::abort();
  }

  // The caller has announced its next step, or waits. Comes back when it is its turn.
  void give_up_turn() {
    const int before = current_;
    const int next = choose();
    if (next < 0) abandon();
    current_ = next;
    if (next != before)
      swapcontext(&agents_[static_cast<std::size_t>(before)]->context,
                  &agents_[static_cast<std::size_t>(next)]->context);
  }

  // ---- looking in vain

  // How many words the agent has looked at again and again, and found unchanged; 0: none.
  static std::size_t words_of_loop(const std::vector<look>& looks) {
    for (std::size_t words = 1; words <= longest_loop; ++words) {
      const std::size_t needed = words * (words == 1 ? 2 : rounds_in_vain);
      if (looks.size() < needed) return 0;
      const auto begin = looks.end() - static_cast<std::ptrdiff_t>(needed);
      if (std::equal(begin + static_cast<std::ptrdiff_t>(words), looks.end(), begin)) return words;
    }
    return 0;
  }

  // True: the agent, whose turn it is, looks in vain once more and goes on at once.
  bool goes_on_looking(agent& mine) {
    const std::size_t words = mine.next.what == concerns::reads ? words_of_loop(mine.looks) : 0;
    const bool in_vain = words > 0 &&
                         (mine.looks.end() - static_cast<std::ptrdiff_t>(words))->address == mine.next.address &&
                         mine.old_address != mine.next.address;
    if (!in_vain) {
      mine.looks_left = 0;
      return false;
    }
    if (words == 1 && mine.looks_left == 0) {
      mine.looks_in_vain = true;
      return false;
    }
    if (words == 1 && --mine.looks_left > 0) return true;
    // It never gives up by itself. Where others were tried before, what follows is what they led to.
    const choice& here = choices_[taken_.back().choice];
    if (words == 1 && (here.tried & static_cast<agent_set>(~only(current_))) != 0) abandon();
    mine.waits = waiting::for_words;
    mine.awaited.assign(mine.looks.end() - static_cast<std::ptrdiff_t>(words), mine.looks.end());
    return false;
  }

  void wake_lookers(int who, std::uintptr_t address, std::size_t bytes) {
    for (int i = 0; i < count(); ++i) {
      if (i == who) continue;
      agent& other = *agents_[static_cast<std::size_t>(i)];
      if (other.waits == waiting::for_anybody) other.waits = waiting::not_at_all;
      if (other.looks_in_vain && overlap(other.next.address, other.next.bytes, address, bytes))
        other.looks_in_vain = false;
      if (other.waits == waiting::for_words && std::ranges::any_of(other.awaited, [&](const look& each) {
            return overlap(each.address, each.bytes, address, bytes);
          })) {
        other.waits = waiting::not_at_all;
        other.looks.clear();
      }
    }
  }

  // ---- values

  static bool acquires(std::memory_order order) {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
  }
  static bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
  }
  concerns in_one_order(std::memory_order order, concerns what) const {
    return order == std::memory_order_seq_cst && reads_old_values() ? what : concerns::nobody;
  }
  static void take(agent& mine, const knowledge& carried, std::memory_order order) {
    join(acquires(order) ? mine.knows : mine.read, carried);
  }

  // How many values back the load goes: all that it may find are tried.
  int choose_age(word_history& history, std::memory_order order) {
    if (old_reads_left_ == 0 || history.last() == 0) return 0;
    const agent& mine = me();
    std::uint32_t oldest = std::max(history.oldest, at(mine.knows.oldest, history.number));
    if (order == std::memory_order_seq_cst)
      oldest = std::max({oldest, history.last_in_one_order, at(fenced_, history.number)});
    // Nobody finds the same old value for ever.
    if (mine.old_address == history.address) oldest = std::max(oldest, mine.old_value + 1);
    bool alone = true;  // other sizes of access see the last value only
    for_each_overlapping(history.address, history.bytes, [&](word_history& each) {
      if (&each != &history && each.last() > 0) alone = false;
    });
    return alone && oldest < history.last() ? choose_way(static_cast<int>(history.last() - oldest) + 1) : 0;
  }

  void store(agent& mine, word_history& history, std::uint64_t before, bool changes, std::memory_order order) {
    if (reads_old_values()) {
      history.before.push_back({before, history.carried});
      raise(mine.knows.oldest, history.number, history.last());
      if (order == std::memory_order_seq_cst) {
        history.last_in_one_order = history.last();
        raise(stored_in_one_order_, history.number, history.last());
      }
    }
    const knowledge& given = releases(order) ? mine.knows : mine.released;
    if (changes)
      join(history.carried, given);
    else
      history.carried = given;
    if (releases(order)) ++mine.knows.releases[static_cast<std::size_t>(current_)];
  }

  bool take_lock(std::uintptr_t lock) {
    word_history& history = word(lock, 1);
    history.acquires[static_cast<std::size_t>(current_)] = {static_cast<int>(taken_.size()) - 1, me().steps};
    history.is_held = true;
    join(me().knows, history.carried);
    return true;
  }

  word_history& word(std::uintptr_t address, std::size_t bytes) {
    std::vector<std::size_t>& there = words_at_[address >> 3];
    for (const std::size_t number : there) {
      word_history& each = *words_[number];
      if (each.address != address || each.bytes != bytes) continue;
      if (each.run != run_) each.restart(run_);
      return each;
    }
    words_.push_back(std::make_unique<word_history>());
    word_history& added = *words_.back();
    added.address = address, added.bytes = bytes, added.number = words_.size() - 1, added.run = run_;
    for (std::uintptr_t part = address >> 3; part <= (address + bytes - 1) >> 3; ++part)
      words_at_[part].push_back(added.number);
    return added;
  }
  template <class Visit>
  void for_each_overlapping(std::uintptr_t address, std::size_t bytes, Visit&& visit) {
    for (std::uintptr_t part = address >> 3; part <= (address + bytes - 1) >> 3; ++part) {
      const auto there = words_at_.find(part);
      if (there == words_at_.end()) continue;
      for (const std::size_t number : there->second) {
        word_history& each = *words_[number];
        if (each.run == run_ && overlap(each.address, each.bytes, address, bytes)) visit(each);
      }
    }
  }

  // ---- schedules

  bool can_go(const agent& one) {
    if (one.waits == waiting::for_ring) return one.has_limit && early_timeouts_left_ > 0;
    return one.waits == waiting::not_at_all &&
           (one.next.what != concerns::acquires || !word(one.next.address, 1).is_held);
  }
  agent_set enabled_agents() {
    agent_set enabled = 0;
    for (int i = 0; i < count(); ++i)
      if (can_go(*agents_[static_cast<std::size_t>(i)])) enabled |= only(i);
    return enabled;
  }

  // Who goes next; -1 when nobody does.
  int choose() {
    agent_set enabled = enabled_agents();
    bool all_finished = true;
    for (int i = 0; i < count(); ++i)
      if (agents_[static_cast<std::size_t>(i)]->waits != waiting::finished) all_finished = false;
    if (enabled == 0 && !all_finished) enabled = let_time_pass();
    if (enabled == 0) {
      if (all_finished)
        ended_well_ = true;
      else
        report_deadlock();
      return -1;
    }
    if (taken_.size() >= most_steps_of_a_run) {
      result_.fault = "no end after " + std::to_string(taken_.size()) + " steps, although everybody has turns";
      return -1;
    }
    if (depth_ == choices_.size() && !add_choice(enabled)) return -1;
    const choice& here = choices_[depth_];
    if (here.ways != 0 || (here.enabled & only(here.taken)) == 0 || here.enabled != enabled) {
      result_.fault = "a schedule cannot be repeated: the scenario depends on something else";
      return -1;
    }
    agent& next = *agents_[static_cast<std::size_t>(here.taken)];
    next.order[static_cast<std::size_t>(here.taken)] = ++next.steps;
    turn_ = !taken_.empty() && taken_.back().agent == here.taken ? turn_ + 1 : 1;
    taken_.push_back({here.taken, next.steps, next.order, depth_});
    ++depth_;
    if (next.waits == waiting::for_ring) {
      next.waits = waiting::not_at_all;
      next.timed_out = true;
      --early_timeouts_left_;
      ++result_.timeouts;
    }
    if (std::exchange(next.looks_in_vain, false)) next.looks_left = most_looks;
    return here.taken;
  }

  // One of so many ways; all are tried.
  int choose_way(int ways) {
    if (depth_ == choices_.size()) {
      choices_.emplace_back();
      choices_.back().ways = ways;
    }
    return choices_[depth_++].taken;
  }

  // Nobody can go on by itself. Those that turn may turn once more; after that, sleeps end.
  agent_set let_time_pass() {
    for (const waiting kind : {waiting::for_anybody, waiting::for_ring}) {
      agent_set enabled = 0;
      for (int i = 0; i < count(); ++i) {
        agent& each = *agents_[static_cast<std::size_t>(i)];
        if (each.waits != kind || (kind == waiting::for_ring && !each.has_limit)) continue;
        each.waits = waiting::not_at_all;
        each.next = {};
        if (kind == waiting::for_ring) ++result_.timeouts;
        enabled |= only(i);
      }
      if (enabled != 0) return enabled;
    }
    return 0;
  }

  void report_deadlock() {
    for (int i = 0; i < count(); ++i) {
      const agent& each = *agents_[static_cast<std::size_t>(i)];
      if (each.waits == waiting::finished) continue;
      result_.fault += (result_.fault.empty() ? "agent " : ", agent ") + std::to_string(i) +
                       (each.waits == waiting::for_ring    ? " sleeps"
                        : each.waits != waiting::for_words ? " waits for a lock"
                        : each.awaited.size() == 1         ? " looks at a word"
                                                           : " looks at several words") +
                       " for ever";
    }
  }

  // Who goes next when nothing is known of that schedule: the one who had the last step, if it has not had many; not
  // one that would look in vain, or whose sleep would end early.
  int usual_next(agent_set of) const {
    const int before = current_ < 0 ? 0 : current_;
    for (const bool only_useful : {true, false}) {
      for (int i = turn_ >= steps_of_a_turn ? 1 : 0; i <= count(); ++i) {
        const int who = (before + i) % count();
        if ((of & only(who)) == 0) continue;
        const agent& one = *agents_[static_cast<std::size_t>(who)];
        if (only_useful && (one.looks_in_vain || one.waits == waiting::for_ring)) continue;
        return who;
      }
    }
    return __builtin_ctz(of);
  }

  bool add_choice(agent_set enabled) {
    choice made;
    made.enabled = enabled;
    for (int i = 0; i < count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      made.next[at] = agents_[at]->next;
      if (taken_.empty() || !how_.reduces) continue;
      const choice& before = choices_[taken_.back().choice];
      const bool was_tried = ((before.asleep | before.tried) & only(i)) != 0 && before.taken != i;
      if (was_tried && !depend(before.next[at], before.next[static_cast<std::size_t>(before.taken)]))
        made.asleep |= only(i);
    }
    const agent_set left = made.enabled & static_cast<agent_set>(~made.asleep);
    if (left == 0) return false;
    made.taken = usual_next(left);
    made.to_try = how_.reduces ? only(made.taken) : enabled;
    choices_.push_back(made);
    return true;
  }

  // False: everything was tried.
  bool next_schedule() {
    while (!choices_.empty()) {
      choice& last = choices_.back();
      if (last.ways != 0) {
        if (++last.taken < last.ways) return true;
        choices_.pop_back();
        continue;
      }
      last.tried |= only(last.taken);
      const auto left = static_cast<agent_set>(last.to_try & ~last.tried & ~last.asleep);
      if (left != 0) {
        last.taken = __builtin_ctz(left);
        return true;
      }
      choices_.pop_back();
    }
    return false;
  }

  bool comes_before(const word_history::step& earlier, int by, const clock& order) const {
    return order[static_cast<std::size_t>(by)] >= earlier.count;
  }

  // The last step depends on step `earlier` of agent `by`, and nothing says that it has to come behind it. So somebody
  // who can begin what leads to it without `earlier` must be tried there (source sets, Abdulla, Aronis, Jonsson and
  // Sagonas, POPL 2014).
  void try_without(const word_history::step& earlier, int by) {
    choice& there = choices_[taken_[static_cast<std::size_t>(earlier.index)].choice];
    agent_set beginners = 0;
    agent_set seen = 0;
    std::vector<const taken_step*>& independent = scratch_;
    independent.clear();
    for (std::size_t i = static_cast<std::size_t>(earlier.index) + 1; i < taken_.size(); ++i) {
      const taken_step& one = taken_[i];
      const bool is_last = i + 1 == taken_.size();
      if (!is_last && comes_before(earlier, by, one.order)) continue;
      const bool is_first = (seen & only(one.agent)) == 0;
      seen |= only(one.agent);
      if (is_first && std::none_of(independent.begin(), independent.end(), [&](const taken_step* before) {
            return one.order[static_cast<std::size_t>(before->agent)] >= before->count;
          }))
        beginners |= only(one.agent);
      independent.push_back(&one);
    }
    beginners &= there.enabled;
    if ((beginners & there.to_try) != 0) return;
    const int last = taken_.back().agent;
    if (beginners == 0)
      there.to_try |= there.enabled;
    else
      there.to_try |= (beginners & only(last)) != 0 ? only(last) : only(__builtin_ctz(beginners));
  }

  void record(int who, const announced& next) {
    agent& mine = *agents_[static_cast<std::size_t>(who)];
    std::vector<touch>& touched = touched_;
    touched.clear();
    if (next.what != concerns::nobody) {
      word(next.address, next.bytes);
      for_each_overlapping(next.address, next.bytes, [&](word_history& each) {
        touched.push_back({&each, next.what});
      });
    }
    if (next.in_one_order != concerns::nobody) touched.push_back({&fences_, next.in_one_order});
    if (touched.empty()) return;
    // What it depends on and is not ordered behind, without what comes before another of these.
    std::vector<dependence>& found = found_;
    found.clear();
    clock before = mine.order;
    for (const auto& [history, what] : touched) {
      for (int by = 0; by < count(); ++by) {
        if (by == who) continue;
        const auto at = static_cast<std::size_t>(by);
        for (const word_history::step& each : {what == concerns::acquires ? history->acquires[at] : history->writes[at],
                                               what == concerns::writes ? history->reads[at] : word_history::step{}})
          if (each.index >= 0 && !comes_before(each, by, mine.order)) found.push_back({each, by});
      }
      join(before, history->written);
      if (what != concerns::reads) join(before, history->read);
    }
    taken_.back().order = before;  // what leads to it may begin with what it now comes behind
    for (const dependence& one : found) {
      const bool is_covered = std::ranges::any_of(found, [&](const dependence& other) {
        return other.step.index > one.step.index &&
               comes_before(one.step, one.by, taken_[static_cast<std::size_t>(other.step.index)].order);
      });
      if (!is_covered) try_without(one.step, one.by);
    }
    mine.order = before;
    const word_history::step now{static_cast<int>(taken_.size()) - 1, mine.steps};
    if (next.what != concerns::nobody) note(word(next.address, next.bytes), who, next.what, now);
    if (next.in_one_order != concerns::nobody) note(fences_, who, next.in_one_order, now);
  }
  void note(word_history& history, int who, concerns what, const word_history::step& now) {
    const auto own = static_cast<std::size_t>(who);
    const clock& order = agents_[own]->order;
    if (what == concerns::reads) {
      history.reads[own] = now;
      join(history.read, order);
      return;
    }
    history.writes[own] = now;
    if (what == concerns::acquires) history.acquires[own] = now;
    join(history.written, order);
  }

  struct touch {
    word_history* history;
    concerns what;
  };
  struct dependence {
    word_history::step step;
    int by;
  };

  scenario* scenario_ = nullptr;
  int count_ = 0;
  exploration how_;
  interleavings result_;
  std::vector<choice> choices_;
  std::size_t depth_ = 0;
  std::uint64_t run_ = 0;
  std::vector<taken_step> taken_;
  std::vector<const taken_step*> scratch_;
  std::vector<touch> touched_;
  std::vector<dependence> found_;
  std::vector<std::unique_ptr<agent>> agents_;
  std::vector<std::unique_ptr<word_history>> words_;
  std::unordered_map<std::uintptr_t, std::vector<std::size_t>> words_at_;  // by eight bytes
  word_history fences_;                // of seq_cst: as a word that they write and other such steps read
  oldest_values fenced_;               // known to those that had such a fence
  oldest_values stored_in_one_order_;  // by seq_cst
  int old_reads_left_ = 0;
  int early_timeouts_left_ = 0;
  ucontext_t main_{};
  int current_ = -1;
  int turn_ = 0;         // steps that the one who had the last one has taken, one after the other
  bool inside_ = false;  // our own code: its accesses are not the agent's
  bool ended_well_ = false;
};

runner& the_runner() { return runner::the_one(); }
std::uintptr_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

std::string interleavings::text() const {
  std::string line = fault.empty() ? "no fault" : fault + "; schedule, agent x steps:";
  constexpr std::size_t longest_text = 4000;
  for (std::size_t first = 0; first < schedule.size() && line.size() < longest_text;) {
    std::size_t last = first;
    while (last < schedule.size() && schedule[last] == schedule[first]) ++last;
    line += ' ' + std::to_string(schedule[first]) + 'x' + std::to_string(last - first);
    first = last;
  }
  return line + "; " + std::to_string(runs) + " runs, " + std::to_string(cut) + " cut short, " + std::to_string(steps) +
         " steps";
}

interleavings run_all(scenario& of, const exploration& how) { return the_runner().run_all(of, how); }
void fail(const std::string& fault) { the_runner().fail(fault); }

void acquire(const void* lock) {
  if (the_runner().is_running()) the_runner().acquire_lock(number_of(lock));
}
bool try_acquire(const void* lock) { return !the_runner().is_running() || the_runner().try_lock(number_of(lock)); }
void release(const void* lock) {
  if (the_runner().is_running()) the_runner().release_lock(number_of(lock));
}

// ---- what the compiler's calls come to

bool agent_is_running() { return the_runner().is_running(); }
int agent_at_work() { return the_runner().current(); }
const std::uint32_t* agent_knows() { return the_runner().known().data(); }

namespace {
// What the compiler passes; the bits above are hints of its own.
std::memory_order order_of(int order) { return static_cast<std::memory_order>(order & 0xff); }
}  // namespace

void atomic_step(const void* address, std::size_t bytes, atomic_kind kind, int order, access_function access,
                 void* argument) {
  if (is_ignored(address))
    access(argument);
  else
    the_runner().write(number_of(address), bytes, kind == atomic_kind::change, order_of(order), access, argument);
}
std::uint64_t atomic_load(const void* address, std::size_t bytes, int order) {
  return is_ignored(address) ? runner::value_now(number_of(address), bytes)
                             : the_runner().load(number_of(address), bytes, order_of(order));
}
void atomic_fence(int order) { the_runner().fence(order_of(order)); }
void word_was_overwritten(const void* address, std::size_t bytes) {
  the_runner().overwritten(number_of(address), bytes);
}

void agent_yields() { the_runner().yields(); }
bool agent_sleeps(const std::uint32_t* word, std::uint32_t expected, bool has_limit) {
  return the_runner().sleeps(number_of(word), word, expected, has_limit);
}
void agent_wakes(const std::uint32_t* word, int most) { the_runner().wakes(number_of(word), most); }

}  // namespace tri::explore
