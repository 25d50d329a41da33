// The state machines behind virtual threads, driven through all interleavings of small regions: carriers that search,
// sleep and are rung awake, contexts that follow a script of barriers, locks and ordered turns. What is shown: every
// context runs to its end, on one carrier at a time; no context passes a barrier before all have come; a lock has one
// holder; turns come in order; no carrier sleeps beside work, and all carriers leave; a carrier that never comes is
// not waited for.
#include "omp/fibers/virtual_schedule.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "explore/explorer.hpp"
#include "explore/plain_word.hpp"
#include "omp/fibers/virtual_mutex.hpp"
#include "omp/fibers/virtual_turns.hpp"
#include "omp/spin_lock.hpp"

namespace tri::omp {
namespace {

struct plain_memory {
  template <class Value>
  using word = explore::plain_word<Value>;
  struct mutex {
    void lock() {}
    void unlock() {}
  };
};
using plain_schedule = context_schedule<plain_memory>;
using advice = plain_schedule::advice;

constexpr std::uint32_t most_carriers = 3;
constexpr std::uint32_t most_contexts = 5;

struct scope {
  std::uint32_t contexts = 3;
  std::uint32_t carriers = 2;
  bool moves = true;
  std::uint32_t patience = 0;
  std::uint32_t absent = ~0u;  // the carrier that never comes
  // What each context does: (b)arrier, (l)ock, (u)nlock, (m) lock and (n) unlock another, (o)rdered turn of the chunk
  // with its number, (p)ass it on, (w)ork, (t)ry the lock and yield until it is free, (a)sk again and again whether
  // all others have worked, without yielding. Context 0 may do something else.
  std::string_view script = "b";
  std::string_view first_script = script;
  bool sleeps_without_a_look = false;  // faults that must be found
  bool never_rings = false;
};

enum class doing : std::uint8_t {
  look,
  listen,
  announce,
  asleep,
  run,
  arrive,
  yield,
  put_elsewhere,
  wait_for_lock,
  wait_for_turn,
  take_back,
  find_waiter,
  make_ready,
  see_sleepers,
  ring,
  finish,
  left
};

struct carrier_driver {
  doing at = doing::look;
  doing after_ring = doing::look;
  std::uint8_t context = 0;
  std::uint8_t woken = 0;  // that make_ready is to be told of
  std::uint8_t released = 0;
  std::uint8_t heard = 0;
};
struct scripted_context {
  std::uint8_t at = 0;
  std::uint8_t waited = 0;  // for the lock, before
  std::uint8_t running = 0;
  std::uint8_t arrived = 0;  // barriers
};

struct region_model {
  scope limits;
  plain_schedule schedule;
  mutex_waiters<plain_memory::mutex> waiters;
  std::array<explore::plain_word<std::uint32_t>, 2> locks{};
  chunk_turns<plain_memory::mutex> turns;
  std::array<carrier_driver, most_carriers> carrier{};
  std::array<scripted_context, most_contexts> context{};
  std::uint8_t rings = 0;
  std::array<std::uint8_t, 2> holders{};
  std::uint8_t next_turn = 0;
  std::string broken;
  std::string_view last_script = limits.script;  // of the last context

  explicit region_model(const scope& given) : limits(given), turns(given.contexts) {
    schedule.begin({given.contexts, given.carriers, given.moves, given.patience});
    schedule.set_present(given.absent + 1 == given.carriers ? given.absent : given.carriers);
  }

  int agents() const { return static_cast<int>(limits.carriers); }
  bool enabled(int agent) const {
    const carrier_driver& me = carrier[static_cast<std::size_t>(agent)];
    if (static_cast<std::uint32_t>(agent) == limits.absent || me.at == doing::left) return false;
    if (me.at == doing::run && context[me.context].at < script_of(me.context).size() && letter(me) == 'a') {
      for (std::uint32_t other = 0; other < limits.contexts; ++other)
        if (other != me.context && context[other].at == 0) return false;
    }
    return me.at != doing::asleep || me.heard != rings;
  }

  void step(int agent) {
    const auto number = static_cast<std::uint32_t>(agent);
    carrier_driver& me = carrier[number];
    scripted_context& current = context[me.context];
    switch (me.at) {
      case doing::look:
        return look(number, me);
      case doing::listen:
        me.heard = rings;
        me.at = limits.sleeps_without_a_look ? doing::asleep : doing::announce;
        return;
      case doing::announce:
        schedule.prepare_sleep(number);
        me.at = doing::look;
        return;
      case doing::asleep:
        if (!limits.sleeps_without_a_look) schedule.end_sleep(number);
        me.at = doing::look;
        return;
      case doing::run:
        return run(me, current);
      case doing::arrive:
        current.running = 0;
        schedule.arrive(number, me.context);
        me.at = doing::look;
        return;
      case doing::yield:
        current.running = 0;
        schedule.yield(number, me.context);
        me.at = doing::look;
        return;
      case doing::put_elsewhere:
        current.running = 0;
        schedule.put_elsewhere(number);
        me.at = wants_lock(me) ? doing::wait_for_lock : doing::wait_for_turn;
        return;
      case doing::wait_for_lock:
        current.waited = 1;
        me.at =
            waiters.take_or_wait(locks[lock_of(me)], &locks[lock_of(me)], me.context) ? doing::take_back : doing::look;
        if (me.at == doing::take_back) hold(lock_of(me));
        return;
      case doing::wait_for_turn:
        me.at = turns.has_turn_or_waits(me.context, me.context) ? doing::take_back : doing::look;
        return;
      case doing::take_back:
        schedule.take_back(number);
        if (wants_lock(me)) {
          ++current.at;
          current.waited = 0;
        }
        current.running = 1;
        me.at = doing::run;
        return;
      case doing::find_waiter: {
        const std::optional<std::uint32_t> next = waiters.next(&locks[me.released]);
        me.at = next ? doing::make_ready : doing::run;
        if (next) me.woken = static_cast<std::uint8_t>(*next);
        return;
      }
      case doing::make_ready:
        schedule.make_ready(me.woken);
        me.at = doing::see_sleepers;
        me.after_ring = doing::run;
        return;
      case doing::see_sleepers:
        me.at = schedule.has_sleepers() && !limits.never_rings ? doing::ring : me.after_ring;
        return;
      case doing::ring:
        ++rings;
        me.at = me.after_ring;
        return;
      case doing::finish:
        current.running = 0;
        schedule.finish(number);
        me.at = doing::look;
        return;
      case doing::left:
        return;
    }
  }

  void look(std::uint32_t number, carrier_driver& me) {
    const plain_schedule::step found = schedule.look(number);
    switch (found.what) {
      case advice::run:
        me.context = static_cast<std::uint8_t>(found.context);
        if (context[me.context].running++ != 0) broken = "a context runs twice";
        if (context[me.context].at > script_of(me.context).size()) broken = "a finished context runs";
        me.at = doing::run;
        break;
      case advice::look_on:
        me.after_ring = doing::look;
        me.at = found.rings ? doing::see_sleepers : doing::look;
        break;
      case advice::rest:
        me.at = doing::listen;
        break;
      case advice::sleep:
        me.at = doing::asleep;
        break;
      case advice::leave:
        me.at = doing::left;
        break;
    }
  }

  std::string_view script_of(std::uint32_t each) const {
    return each == 0 ? limits.first_script : each + 1 == limits.contexts ? last_script : limits.script;
  }
  char letter(const carrier_driver& me) const { return script_of(me.context)[context[me.context].at]; }
  bool wants_lock(const carrier_driver& me) const { return letter(me) == 'l' || letter(me) == 'm'; }
  std::uint8_t lock_of(const carrier_driver& me) const { return letter(me) == 'm' || letter(me) == 'n' ? 1 : 0; }
  void hold(std::size_t which) {
    if (++holders[which] > 1) broken = "two contexts hold the lock";
  }

  void run(carrier_driver& me, scripted_context& current) {
    if (current.arrived > 0) {
      for (std::uint32_t other = 0; other < limits.contexts; ++other) {
        if (context[other].arrived < current.arrived) broken = "somebody passed a barrier that others have not reached";
      }
    }
    if (current.at == script_of(me.context).size()) {
      ++current.at;
      me.at = doing::finish;
      return;
    }
    switch (letter(me)) {
      case 'w':
      case 'a':
        ++current.at;
        return;
      case 'b':
        ++current.at;
        ++current.arrived;
        me.at = doing::arrive;
        return;
      case 'l':
      case 'm': {
        auto& lock = locks[lock_of(me)];
        if (current.waited != 0 ? take_mutex_again(lock) : take_mutex(lock)) {
          hold(lock_of(me));
          ++current.at;
          current.waited = 0;
        } else {
          me.at = doing::put_elsewhere;
        }
        return;
      }
      case 't':
        if (take_mutex(locks[0])) {
          hold(0);
          ++current.at;
        } else {
          me.at = doing::yield;
        }
        return;
      case 'u':
      case 'n':
        me.released = lock_of(me);
        ++current.at;
        --holders[me.released];
        if (release_mutex(locks[me.released])) me.at = doing::find_waiter;
        return;
      case 'o':
        if (!turns.has_turn(me.context)) {
          me.at = doing::put_elsewhere;
          return;
        }
        if (me.context != next_turn) broken = "turns out of order";
        ++current.at;
        return;
      case 'p': {
        ++current.at;
        ++next_turn;
        if (const std::optional<std::uint32_t> next = turns.pass()) {
          me.woken = static_cast<std::uint8_t>(*next);
          me.at = doing::make_ready;
        }
        return;
      }
      default:
        broken = "no such letter in the script";
    }
  }

  std::string fault() const { return broken; }
  std::string fault_at_end() const {
    for (std::uint32_t each = 0; each < limits.contexts; ++each) {
      if (context[each].at <= script_of(each).size()) return "a context has not finished";
    }
    for (std::uint32_t each = 0; each < limits.carriers; ++each) {
      if (each != limits.absent && carrier[each].at != doing::left) return "a carrier has not left";
    }
    if (schedule.has_sleepers()) return "sleepers are counted wrongly";
    return "";
  }
  void append_key(std::string& key) const {
    const auto append = [&key](const auto& value) { explore::append_value(key, value); };
    schedule.describe(append);
    waiters.describe(append);
    append(std::uint8_t{0xff});
    turns.describe(append);
    for (const auto& lock : locks) append(lock.value);
    for (const carrier_driver& each : carrier) append(each);
    for (const scripted_context& each : context) append(each);
    append(rings);
  }
};

void expect_sound(const scope& limits) {
  SCOPED_TRACE(std::string(limits.script) + ", contexts " + std::to_string(limits.contexts) + ", carriers " +
               std::to_string(limits.carriers) + (limits.moves ? "" : ", pinned"));
  const explore::model_outcome result = explore::explore_all(region_model(limits));
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete) << result.states;
  EXPECT_GT(result.ends, 0u);
}

TEST(virtual_schedule, every_interleaving_of_small_regions_is_sound) {
  for (const bool moves : {true, false}) {
    for (const char* script : {"w", "b", "wb", "bb", "lu", "op"}) {
      expect_sound({.contexts = 2, .carriers = 2, .moves = moves, .script = script});
      expect_sound({.contexts = 3, .carriers = 2, .moves = moves, .script = script});
    }
    expect_sound({.contexts = 5, .carriers = 1, .moves = moves, .script = "lubopb"});
    expect_sound({.contexts = 2, .carriers = 2, .moves = moves, .script = "lwub"});
    expect_sound({.contexts = 2, .carriers = 2, .moves = moves, .script = "oplu"});
    expect_sound({.contexts = 3, .carriers = 3, .moves = moves, .script = "w"});
    expect_sound({.contexts = 3, .carriers = 2, .moves = moves, .patience = 1, .script = "b"});
  }
}

// Its carrier never looks again until others have taken what it has.
TEST(virtual_schedule, a_context_may_wait_for_those_that_its_carrier_has_not_begun) {
  for (const bool moves : {true, false}) {
    for (const std::uint32_t patience : {0u, 1u}) {
      expect_sound(
          {.contexts = 3, .carriers = 2, .moves = moves, .patience = patience, .script = "w", .first_script = "a"});
      expect_sound(
          {.contexts = 4, .carriers = 2, .moves = moves, .patience = patience, .script = "wb", .first_script = "ab"});
      expect_sound(
          {.contexts = 2, .carriers = 2, .moves = moves, .patience = patience, .script = "wb", .first_script = "ab"});
      expect_sound(
          {.contexts = 4, .carriers = 3, .moves = moves, .patience = patience, .script = "w", .first_script = "a"});
    }
  }
}

TEST(virtual_schedule, a_context_may_be_suspended_while_it_holds_a_lock) {
  for (const bool moves : {true, false}) {
    expect_sound({.contexts = 2, .carriers = 1, .moves = moves, .script = "lmnu", .first_script = "mwn"});
    expect_sound({.contexts = 2, .carriers = 2, .moves = moves, .script = "lmnu", .first_script = "mwn"});
    expect_sound({.contexts = 3, .carriers = 2, .moves = moves, .script = "lmnu", .first_script = "mn"});
  }
}

// The lock is taken before the region and given back by the context that is the last to begin.
TEST(virtual_schedule, a_yielding_context_lets_all_others_go_first) {
  for (const bool moves : {true, false}) {
    for (const std::uint32_t absent : {~0u, 1u}) {
      scope limits{.contexts = 4, .carriers = 2, .moves = moves, .patience = 1, .absent = absent, .script = "tu"};
      region_model model(limits);
      model.last_script = "u";
      model.locks[0].value = mutex_held;
      model.holders[0] = 1;
      const explore::model_outcome result = explore::explore_all(model);
      EXPECT_EQ(result.fault, "") << result.text();
      EXPECT_TRUE(result.complete);
      EXPECT_GT(result.ends, 0u);
    }
    expect_sound({.contexts = 3, .carriers = 2, .moves = moves, .script = "tub"});
    expect_sound({.contexts = 2, .carriers = 2, .moves = moves, .script = "tulu"});
  }
}

TEST(virtual_schedule, a_carrier_that_never_comes_is_not_missed) {
  for (const std::uint32_t patience : {0u, 1u, 2u}) {
    for (const char* script : {"w", "b", "lub", "opb"}) {
      expect_sound({.contexts = 4, .carriers = 2, .patience = patience, .absent = 1, .script = script});
      expect_sound({.contexts = 4, .carriers = 2, .patience = patience, .absent = 0, .script = script});
    }
    expect_sound({.contexts = 3, .carriers = 3, .patience = patience, .absent = 1, .script = "b"});
  }
}

TEST(virtual_schedule, random_interleavings_of_larger_regions_are_sound) {
  std::uint64_t seed = 1;
  for (const bool moves : {true, false}) {
    for (const char* script : {"bwb", "lulub", "opblub", "wlwuopb"}) {
      const explore::model_outcome result = explore::explore_random(
          region_model({.contexts = 5, .carriers = 3, .moves = moves, .script = script}), seed++, 3000, 100'000);
      EXPECT_EQ(result.fault, "") << script << ": " << result.text();
      EXPECT_EQ(result.ends, 3000u);
    }
  }
}

TEST(virtual_schedule, faults_would_be_found) {
  EXPECT_NE(explore::explore_all(region_model({.script = "b", .sleeps_without_a_look = true})).fault, "");
  EXPECT_NE(explore::explore_all(region_model({.script = "b", .never_rings = true})).fault, "");
}

// Contexts in the order in which one carrier meets them.
TEST(virtual_schedule, carriers_go_through_their_own_in_order_and_take_from_the_far_end_of_the_next) {
  plain_schedule schedule;
  schedule.begin({8, 3, true, 0});  // 0 5 6 | 1 4 7 | 2 3
  const auto next = [&](std::uint32_t carrier) {
    for (;;) {
      const plain_schedule::step found = schedule.look(carrier);
      if (found.what == advice::run) return static_cast<int>(found.context);
      if (found.what != advice::look_on) return -1;
    }
  };
  std::vector<int> order;
  for (int count = 0; count < 9; ++count) order.push_back(next(0));
  EXPECT_THAT(order, ::testing::ElementsAre(0, 5, 6, 7, 4, 1, 3, 2, -1));
  EXPECT_EQ(schedule.counts().stolen, 5u);

  schedule.begin({6, 3, true, 0});  // 0 5 | 1 4 | 2 3
  EXPECT_EQ(next(2), 2);
  EXPECT_EQ(next(2), 3);
  EXPECT_EQ(next(2), 5);  // the next carrier of the last is the first
  EXPECT_EQ(next(1), 1);
  EXPECT_EQ(next(1), 4);
  EXPECT_EQ(next(1), 0);
}

// The virtual threads of a static split of n iterations: the first n % threads have one more. And loops whose
// iterations cost the more the later they are.
TEST(virtual_schedule, carriers_have_equal_shares_of_any_static_split) {
  for (const std::uint32_t carriers : {2u, 3u, 4u, 7u}) {
    for (const std::uint32_t contexts : {carriers, 2 * carriers, 8 * carriers, 8 * carriers + 1}) {
      plain_schedule schedule;
      schedule.begin({contexts, carriers, true, 1000});  // patient: none takes from others
      std::vector<std::vector<std::uint32_t>> of_carrier(carriers);
      std::size_t all = 0;
      for (std::uint32_t carrier = 0; carrier < carriers; ++carrier) {
        for (;;) {
          const plain_schedule::step found = schedule.look(carrier);
          if (found.what == advice::run) of_carrier[carrier].push_back(found.context);
          if (found.what != advice::run && found.what != advice::look_on) break;
        }
        all += of_carrier[carrier].size();
      }
      EXPECT_EQ(all, contexts);
      for (std::uint32_t iterations = 1; iterations <= contexts; ++iterations) {
        std::uint32_t least = contexts;
        std::uint32_t most = 0;
        for (const std::vector<std::uint32_t>& own : of_carrier) {
          const auto more = static_cast<std::uint32_t>(
              std::count_if(own.begin(), own.end(), [&](std::uint32_t context) { return context < iterations; }));
          least = std::min(least, more);
          most = std::max(most, more);
        }
        EXPECT_LE(most - least, 1u) << carriers << " carriers, " << contexts << " contexts, " << iterations
                                    << " iterations";
      }
      if (contexts != 8 * carriers) continue;
      for (const std::vector<std::uint32_t>& own : of_carrier) {
        EXPECT_EQ(std::accumulate(own.begin(), own.end(), 0u), contexts * (contexts - 1) / 2 / carriers);
      }
    }
  }
}

// A program may rely on a thread for each of its threads, when it asks for no more than there are.
TEST(virtual_schedule, contexts_that_cannot_come_back_are_not_taken_from_a_carrier_that_is_late) {
  const auto next = [](plain_schedule& schedule, std::uint32_t carrier) {
    for (;;) {
      const plain_schedule::step found = schedule.look(carrier);
      if (found.what == advice::run) return static_cast<int>(found.context);
      if (found.what != advice::look_on) return -1;
    }
  };
  for (const bool comes : {true, false}) {
    plain_schedule schedule;
    schedule.begin({2, 2, false, 0});
    schedule.set_present(comes ? 2 : 1);
    EXPECT_EQ(next(schedule, 0), 0);
    schedule.arrive(0, 0);
    EXPECT_EQ(next(schedule, 0), comes ? -1 : 1);
    if (comes) {
      EXPECT_EQ(next(schedule, 1), 1);
    }
  }
  plain_schedule schedule;
  schedule.begin({6, 2, false, 0});  // 0 3 4 | 1 2 5
  schedule.set_present(2);
  for (const std::uint32_t context : {0u, 3u, 4u}) {
    EXPECT_EQ(next(schedule, 0), static_cast<int>(context));
    schedule.arrive(0, context);
  }
  EXPECT_EQ(next(schedule, 0), -1) << "carrier 1 has not come";
  EXPECT_EQ(next(schedule, 1), 1);
  EXPECT_EQ(next(schedule, 0), 5) << "it is busy now";
}

TEST(virtual_schedule, after_a_barrier_contexts_go_on_in_order_where_they_were_or_with_thieves) {
  for (const bool moves : {true, false}) {
    plain_schedule schedule;
    schedule.begin({4, 2, moves, 0});
    const auto next = [&](std::uint32_t carrier) {
      for (;;) {
        const plain_schedule::step found = schedule.look(carrier);
        if (found.what == advice::run) return static_cast<int>(found.context);
        if (found.what != advice::look_on) return -1;
      }
    };
    const std::uint32_t own[2][2] = {{0, 3}, {1, 2}};
    for (const std::uint32_t context : {0u, 1u}) {
      for (const std::uint32_t carrier : {0u, 1u}) {
        EXPECT_EQ(next(carrier), static_cast<int>(own[carrier][context]));
        schedule.arrive(carrier, own[carrier][context]);
      }
    }
    EXPECT_EQ(next(0), -1);
    EXPECT_EQ(next(1), 1);  // the last to report goes on at once
    EXPECT_EQ(next(1), 2);
    EXPECT_EQ(next(1), moves ? 3 : -1);  // carrier 0 has not looked, and yet is no obstacle
    EXPECT_EQ(next(0), 0);
    EXPECT_EQ(next(0), moves ? -1 : 3);
    EXPECT_EQ(schedule.counts().stolen, moves ? 1u : 0u);
    EXPECT_EQ(schedule.counts().suspended, 4u);
  }
}

// The same machine with real words, and threads that follow the script.
struct real_memory {
  template <class Value>
  using word = std::atomic<Value>;
  using mutex = spin_lock;
};
TEST(virtual_schedule, threads_run_every_context_between_all_barriers) {
  constexpr std::uint32_t contexts = 13;
  constexpr std::uint32_t carriers = 4;
  constexpr std::uint32_t barriers = 20;
  context_schedule<real_memory> schedule;
  for (int region = 0; region < 50; ++region) {
    schedule.begin({contexts, carriers, region % 2 == 0, 1});
    schedule.set_present(carriers);
    std::vector<std::uint32_t> passed(contexts, 0);  // written by whoever runs the context
    std::atomic<std::uint32_t> arrivals{0};
    std::atomic<bool> early{false};
    std::vector<std::thread> threads;
    for (std::uint32_t carrier = 0; carrier < carriers; ++carrier) {
      threads.emplace_back([&, carrier] {
        for (;;) {
          const auto found = schedule.look(carrier);
          if (found.what == context_schedule<real_memory>::advice::leave) return;
          if (found.what == context_schedule<real_memory>::advice::rest) std::this_thread::yield();
          if (found.what != context_schedule<real_memory>::advice::run) continue;
          // relaxed: the barriers of the schedule order it
          if (arrivals.load(std::memory_order_relaxed) < contexts * passed[found.context]) {
            early.store(true, std::memory_order_relaxed);  // relaxed: read after the join
          }
          if (passed[found.context]++ == barriers) {
            schedule.finish(carrier);
          } else {
            arrivals.fetch_add(1, std::memory_order_relaxed);  // relaxed: as above
            schedule.arrive(carrier, found.context);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(early);
    EXPECT_EQ(passed, std::vector<std::uint32_t>(contexts, barriers + 1));
    EXPECT_EQ(schedule.counts().run, contexts * (static_cast<std::uint64_t>(region) + 1));
  }
}

}  // namespace
}  // namespace tri::omp
