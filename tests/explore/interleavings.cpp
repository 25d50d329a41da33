#include "explore/interleavings.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "explore/watched_accesses.hpp"

namespace tri::explore {
namespace {

using clock = std::array<std::uint32_t, most_agents>;
using agent_set = std::uint8_t;

void join(clock& to, const clock& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}
constexpr agent_set only(int agent) { return static_cast<agent_set>(1U << agent); }

// A step as others see it.
enum class concerns : std::uint8_t { nobody, reads, writes, acquires };
struct announced {
  concerns what = concerns::nobody;
  std::uintptr_t address = 0;
};
bool depend(const announced& a, const announced& b) {
  return a.what != concerns::nobody && b.what != concerns::nobody && a.address == b.address &&
         (a.what != concerns::reads || b.what != concerns::reads);
}

// The last steps on one word, for the order of steps and for the order that the memory orders promise.
struct word_history {
  struct step {
    int index = -1;  // in the run
    std::uint32_t count = 0;
  };
  std::array<step, most_agents> writes{};
  std::array<step, most_agents> reads{};
  std::array<step, most_agents> acquires{};
  clock written{};
  clock read{};
  clock released{};  // what the value carries
  bool is_held = false;
  std::uint64_t run = 0;  // older ones count as empty
};

// A choice, and what is left to try there.
struct choice {
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
};

enum class waiting : std::uint8_t { not_at_all, for_lock, for_word, for_anybody, for_ring, finished };

struct agent {
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_bytes);
  announced next;
  waiting waits = waiting::not_at_all;
  std::uintptr_t awaited = 0;
  bool has_limit = false;
  std::uint32_t steps = 0;
  clock order{};  // of steps
  clock knows{};  // what the memory orders let it see
  std::uintptr_t looked_at = 0;
  std::uint64_t saw = 0;
  bool looks_again = false;
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;
};

class runner {
 public:
  bool is_running() const { return current_ >= 0 && !inside_; }

  interleavings run_all(scenario& of, std::uint64_t most_runs, bool reduces) {
    reduces_ = reduces;
    scenario_ = &of;
    result_ = {};
    choices_.clear();
    for (int i = 0; i < of.agents(); ++i)
      if (agents_.size() <= static_cast<std::size_t>(i)) agents_.push_back(std::make_unique<agent>());
    do {
      run_once();
      if (!result_.fault.empty()) {
        for (std::size_t i = 0; i < depth_; ++i) result_.schedule.push_back(choices_[i].taken);
        return result_;
      }
      if (result_.runs >= most_runs) return result_;
    } while (next_schedule());
    result_.complete = true;
    return result_;
  }

  // ---- steps, called by the agent that takes them

  template <class Access>
  void step(const announced& next, Access&& access) {
    inside_ = true;
    agent& mine = me();
    mine.next = next;
    if (next.what == concerns::reads && mine.looked_at == next.address && mine.looks_again) {
      mine.waits = waiting::for_word;
      mine.awaited = next.address;
    }
    give_up_turn();
    const int who = current_;
    record(who, next);
    inside_ = false;  // what `access` reports is checked
    access();
    if (next.what != concerns::reads) {
      inside_ = true;
      wake_lookers(who, next.address);
      inside_ = false;
    }
  }

  template <class Value>
  void looked(std::uintptr_t address, Value value) {
    agent& mine = me();
    mine.looks_again = mine.looked_at == address && mine.saw == static_cast<std::uint64_t>(value);
    mine.looked_at = address;
    mine.saw = static_cast<std::uint64_t>(value);
  }
  void looks_elsewhere() { me().looked_at = 0; }

  void acquires_order(std::uintptr_t address) { join(me().knows, word(address).released); }
  void releases_order(std::uintptr_t address, bool goes_on) {
    clock& carried = word(address).released;
    if (goes_on)
      join(carried, me().knows);
    else
      carried = me().knows;
    ++me().knows[static_cast<std::size_t>(current_)];
  }
  void carries_nothing(std::uintptr_t address) { word(address).released = {}; }
  word_history& word(std::uintptr_t address) {
    word_history& found = words_[address];
    if (found.run != run_) {
      found = {};
      found.run = run_;
    }
    return found;
  }
  const clock& known() { return me().knows; }
  int current() const { return current_; }

  void yields() {
    inside_ = true;
    me().waits = waiting::for_anybody;
    me().looked_at = 0;
    me().next = {};
    give_up_turn();
    inside_ = false;
  }

  // The futex: false when the value was another.
  bool sleeps(std::uintptr_t address, const std::uint32_t* word, std::uint32_t expected, bool has_limit) {
    bool slept = false;
    step({concerns::writes, address}, [&] { slept = *word == expected; });
    looks_elsewhere();
    if (!slept) return false;
    inside_ = true;
    agent& mine = me();
    mine.waits = waiting::for_ring;
    mine.awaited = address;
    mine.has_limit = has_limit;
    mine.next = {};
    give_up_turn();
    inside_ = false;
    return true;
  }
  void wakes(std::uintptr_t address, int most) {
    step({concerns::writes, address}, [&] {
      for (int i = 0; i < count() && most > 0; ++i) {
        agent& other = *agents_[static_cast<std::size_t>(i)];
        if (other.waits != waiting::for_ring || other.awaited != address) continue;
        other.waits = waiting::not_at_all;
        join(other.order, me().order);
        --most;
      }
    });
    looks_elsewhere();
  }

  [[noreturn]] void fail(const std::string& fault) {
    inside_ = true;
    if (result_.fault.empty())
      result_.fault = (current_ >= 0 ? "agent " + std::to_string(current_) + ": " : std::string()) + fault;
    if (current_ < 0) throw std::runtime_error(result_.fault);
    abandon();
  }

 private:
  static constexpr std::size_t most_steps_of_a_run = 5000;
  int count() const { return scenario_->agents(); }
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
    begin_watching();
    scenario_->begin();
    for (int i = 0; i < count(); ++i) {
      agent& each = *agents_[static_cast<std::size_t>(i)];
      each.next = {};
      each.waits = waiting::not_at_all;
      each.looked_at = 0;
      each.steps = 0;
      each.order = each.knows = {};
      each.knows[static_cast<std::size_t>(i)] = 1;
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

  bool can_go(const agent& one) {
    if (one.waits == waiting::not_at_all) return one.next.what != concerns::acquires || !word(one.next.address).is_held;
    return false;
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
    if (depth_ >= most_steps_of_a_run) {
      result_.fault = "no end after " + std::to_string(depth_) + " steps";
      return -1;
    }
    if (depth_ == choices_.size() && !add_choice(enabled)) return -1;
    const choice& here = choices_[depth_];
    if ((here.enabled & only(here.taken)) == 0 || here.enabled != enabled) {
      result_.fault = "a schedule cannot be repeated: the scenario depends on something else";
      return -1;
    }
    ++depth_;
    agent& next = *agents_[static_cast<std::size_t>(here.taken)];
    next.order[static_cast<std::size_t>(here.taken)] = ++next.steps;
    taken_.push_back({here.taken, next.steps, next.order});
    return here.taken;
  }

  // Nobody can go on by itself. Those that turn may turn once more; after that, sleeps end.
  agent_set let_time_pass() {
    for (const waiting kind : {waiting::for_anybody, waiting::for_ring}) {
      agent_set enabled = 0;
      for (int i = 0; i < count(); ++i) {
        agent& each = *agents_[static_cast<std::size_t>(i)];
        if (each.waits != kind || (kind == waiting::for_ring && !each.has_limit)) continue;
        each.waits = waiting::not_at_all;
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
                       (each.waits == waiting::for_ring   ? " sleeps"
                        : each.waits == waiting::for_word ? " looks at a word"
                                                          : " waits for a lock") +
                       " for ever";
    }
  }

  bool add_choice(agent_set enabled) {
    choice made;
    made.enabled = enabled;
    for (int i = 0; i < count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      made.next[at] = agents_[at]->next;
      if (depth_ == 0 || !reduces_) continue;
      const choice& before = choices_[depth_ - 1];
      const bool was_tried = ((before.asleep | before.tried) & only(i)) != 0 && before.taken != i;
      if (was_tried && !depend(before.next[at], before.next[static_cast<std::size_t>(before.taken)]))
        made.asleep |= only(i);
    }
    const agent_set left = made.enabled & static_cast<agent_set>(~made.asleep);
    if (left == 0) return false;
    const bool stay = current_ >= 0 && (left & only(current_)) != 0;
    made.taken = stay ? current_ : __builtin_ctz(left);
    made.to_try = reduces_ ? only(made.taken) : enabled;
    choices_.push_back(made);
    return true;
  }

  // False: everything was tried.
  bool next_schedule() {
    while (!choices_.empty()) {
      choice& last = choices_.back();
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
    choice& there = choices_[static_cast<std::size_t>(earlier.index)];
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
    if (next.what == concerns::nobody) return;
    word_history& history = word(next.address);
    // What it depends on and is not ordered behind, without what comes before another of these.
    struct dependence {
      word_history::step step;
      int by;
    };
    std::array<dependence, std::size_t{2} * most_agents> found;
    std::size_t count_found = 0;
    for (int by = 0; by < count(); ++by) {
      if (by == who) continue;
      const auto at = static_cast<std::size_t>(by);
      for (const word_history::step& each :
           {next.what == concerns::acquires ? history.acquires[at] : history.writes[at],
            next.what == concerns::writes ? history.reads[at] : word_history::step{}})
        if (each.index >= 0 && !comes_before(each, by, mine.order)) found[count_found++] = {each, by};
    }
    clock before = mine.order;
    join(before, history.written);
    if (next.what != concerns::reads) join(before, history.read);
    taken_.back().order = before;  // what leads to it may begin with what it now comes behind
    for (std::size_t i = 0; i < count_found; ++i) {
      const bool is_covered = std::any_of(found.begin(), found.begin() + count_found, [&](const dependence& other) {
        return other.step.index > found[i].step.index &&
               comes_before(found[i].step, found[i].by, taken_[static_cast<std::size_t>(other.step.index)].order);
      });
      if (!is_covered) try_without(found[i].step, found[i].by);
    }
    mine.order = before;
    const auto own = static_cast<std::size_t>(who);
    const word_history::step now{static_cast<int>(depth_) - 1, mine.steps};
    if (next.what == concerns::reads) {
      history.reads[own] = now;
      join(history.read, mine.order);
    } else {
      history.writes[own] = now;
      if (next.what == concerns::acquires) history.acquires[own] = now;
      join(history.written, mine.order);
    }
  }

 public:
  void note_acquire(std::uintptr_t lock) {
    word_history& history = word(lock);
    const auto own = static_cast<std::size_t>(current_);
    history.acquires[own] = {static_cast<int>(depth_) - 1, me().steps};
    history.is_held = true;
    acquires_order(lock);
  }

  static runner& the_one() {
    static runner one;
    return one;
  }

 private:
  void wake_lookers(int who, std::uintptr_t address) {
    for (int i = 0; i < count(); ++i) {
      agent& other = *agents_[static_cast<std::size_t>(i)];
      const bool looks = other.waits == waiting::for_word && other.awaited == address;
      if (i != who && (looks || other.waits == waiting::for_anybody)) other.waits = waiting::not_at_all;
    }
  }

  scenario* scenario_ = nullptr;
  interleavings result_;
  std::vector<choice> choices_;
  std::size_t depth_ = 0;
  std::uint64_t run_ = 0;
  std::vector<taken_step> taken_;
  std::vector<const taken_step*> scratch_;
  std::vector<std::unique_ptr<agent>> agents_;
  std::unordered_map<std::uintptr_t, word_history> words_;
  ucontext_t main_{};
  int current_ = -1;
  bool inside_ = false;  // our own code: its accesses are not the agent's
  bool ended_well_ = false;
  bool reduces_ = true;
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

interleavings run_all(scenario& of, std::uint64_t most_runs) { return the_runner().run_all(of, most_runs, true); }
interleavings run_all_unreduced(scenario& of, std::uint64_t most_runs) {
  return the_runner().run_all(of, most_runs, false);
}
void fail(const std::string& fault) { the_runner().fail(fault); }

void acquire(const void* lock) {
  runner& the = the_runner();
  if (!the.is_running()) return;
  the.step({concerns::acquires, number_of(lock)}, [&] { the.note_acquire(number_of(lock)); });
  the.looks_elsewhere();
}
bool try_acquire(const void* lock) {
  runner& the = the_runner();
  if (!the.is_running()) return true;
  bool taken = false;
  the.step({concerns::writes, number_of(lock)}, [&] {
    taken = !the.word(number_of(lock)).is_held;
    if (taken) the.note_acquire(number_of(lock));
  });
  the.looks_elsewhere();
  return taken;
}
void release(const void* lock) {
  runner& the = the_runner();
  if (!the.is_running()) return;
  the.step({concerns::writes, number_of(lock)}, [&] {
    the.word(number_of(lock)).is_held = false;
    the.releases_order(number_of(lock), false);
  });
  the.looks_elsewhere();
}

// ---- what the compiler's calls come to

bool agent_is_running() { return the_runner().is_running(); }
int agent_at_work() { return the_runner().current(); }
const std::uint32_t* agent_knows() { return the_runner().known().data(); }

void atomic_step(const void* address, std::size_t bytes, atomic_kind kind, int order, access_function access,
                 void* argument) {
  runner& the = the_runner();
  if (is_ignored(address)) {
    access(argument);
    return;
  }
  const bool loads = kind == atomic_kind::load;
  const std::uintptr_t number = number_of(address);
  the.step({loads ? concerns::reads : concerns::writes, number}, [&] {
    const auto c_order = static_cast<std::memory_order>(order & 0xff);
    const bool acquires = c_order != std::memory_order_relaxed && c_order != std::memory_order_release;
    const bool releases = c_order == std::memory_order_release || c_order == std::memory_order_acq_rel ||
                          c_order == std::memory_order_seq_cst;
    watch_atomic(address, bytes, !loads);
    const access_result did = access(argument);
    if (acquires && kind != atomic_kind::store && did.succeeded) the.acquires_order(number);
    if (loads) {
      the.looked(number, did.value);
      return;
    }
    the.looks_elsewhere();
    if (!did.succeeded) return;
    if (releases)
      the.releases_order(number, kind == atomic_kind::change);
    else if (kind == atomic_kind::store)
      the.carries_nothing(number);
  });
}

void agent_yields() { the_runner().yields(); }
bool agent_sleeps(const std::uint32_t* word, std::uint32_t expected, bool has_limit) {
  return the_runner().sleeps(number_of(word), word, expected, has_limit);
}
void agent_wakes(const std::uint32_t* word, int most) { the_runner().wakes(number_of(word), most); }

}  // namespace tri::explore
