// Noise on purpose: the events by themselves, threads in virtual time, cores by counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "os/cpu/pinning.hpp"
#include "trireme/loops.hpp"
#include "trireme/noise.hpp"

namespace tri::noise {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(noise_sequence, strictly_periodic_without_jitter) {
  const sequence events({.period = 10us, .duration = 3us, .together = true}, 5);
  EXPECT_EQ(events.at(0), (event{0us, 3us}));
  EXPECT_EQ(events.at(1), (event{10us, 3us}));
  EXPECT_EQ(events.at(1'000'000), (event{10s, 3us}));
}

TEST(noise_sequence, events_stay_in_their_period_and_vary_within_it) {
  const plan wanted{.period = 1000ns, .duration = 100ns, .longest = 400ns, .jitter = 1.0, .together = true, .seed = 7};
  const sequence events(wanted, 2);
  std::set<std::int64_t> begins;
  nanoseconds shortest = 400ns, longest = 100ns;
  for (std::uint64_t number = 0; number < 2000; ++number) {
    const event each = events.at(number);
    const nanoseconds period_begin = 1000ns * static_cast<std::int64_t>(number);
    ASSERT_GE(each.begin, period_begin);
    ASSERT_LE(each.begin + each.duration, period_begin + 1000ns) << "they never overlap";
    ASSERT_GE(each.duration, 100ns);
    ASSERT_LE(each.duration, 400ns);
    shortest = std::min(shortest, each.duration);
    longest = std::max(longest, each.duration);
    begins.insert((each.begin - period_begin).count());
  }
  EXPECT_LT(shortest, 110ns);
  EXPECT_GT(longest, 390ns);
  EXPECT_GT(begins.size(), 400u);
  EXPECT_LT(*begins.begin(), 20);
  EXPECT_GT(*begins.rbegin(), 800);
}

TEST(noise_sequence, less_jitter_keeps_closer_to_the_period) {
  const sequence events({.period = 1000ns, .duration = 200ns, .jitter = 0.25, .together = true}, 0);
  for (std::uint64_t number = 0; number < 500; ++number)
    ASSERT_LE(events.at(number).begin - 1000ns * static_cast<std::int64_t>(number), 200ns);
}

TEST(noise_sequence, follows_from_seed_and_victim_alone) {
  const plan wanted{.period = 1ms, .duration = 1us, .longest = 90us, .jitter = 0.5, .seed = 11};
  plan other_seed = wanted;
  other_seed.seed = 12;
  const sequence events(wanted, 3), again(wanted, 3), neighbour(wanted, 4), seeded(other_seed, 3);
  int same_as_neighbour = 0, same_as_seeded = 0;
  for (std::uint64_t number = 200; number-- > 0;) {  // in any order
    EXPECT_EQ(events.at(number), again.at(number));
    same_as_neighbour += events.at(number) == neighbour.at(number);
    same_as_seeded += events.at(number) == seeded.at(number);
  }
  EXPECT_EQ(same_as_neighbour, 0);
  EXPECT_EQ(same_as_seeded, 0);
}

TEST(noise_sequence, bad_plans_say_what_would_be_right) {
  const auto refuses = [](const plan& wanted, const char* text) {
    EXPECT_THAT([&] { check(wanted); }, ThrowsMessage<std::invalid_argument>(HasSubstr(text)));
    EXPECT_THROW(sequence(wanted, 0), std::invalid_argument);
    EXPECT_THROW(thread_injector(wanted, 1), std::invalid_argument);
    EXPECT_THROW(core_injector{wanted}, std::invalid_argument);
  };
  refuses({.period = 0ns}, "the period is 0 ns; it must be above 0");
  refuses({.duration = -5ns}, "events last -5 ns; the duration must not be negative");
  refuses({.duration = 50us, .longest = 20us}, "the longest event (20000 ns) is shorter than the duration (50000 ns)");
  refuses({.period = 1ms, .duration = 1ms}, "would take everything");
  refuses({.period = 1ms, .duration = 1us, .longest = 2ms}, "would take everything");
  refuses({.jitter = 1.5}, "the jitter is 1.5; it must lie between 0 and 1");
  refuses({.jitter = std::numeric_limits<double>::quiet_NaN()}, "the jitter is nan");
  EXPECT_THAT([] { thread_injector({}, 0); }, ThrowsMessage<std::invalid_argument>(HasSubstr("0 victims")));
}

// A machine whose time passes only when it is told, or when somebody looks at the clock or sleeps.
struct virtual_time {
  nanoseconds now{1h};
  nanoseconds per_look{0};
  std::vector<nanoseconds> slept;
  thread_injector::clock clock() {
    return {[this] { return now += per_look; },
            [this](nanoseconds length) {
              slept.push_back(length);
              now += length;
            }};
  }
};

TEST(thread_injector, delays_a_victim_that_asks_after_an_event_has_begun) {
  virtual_time time;
  thread_injector noise({.kind = kind::sleeping, .period = 100us, .duration = 7us, .together = true}, 2, time.clock());
  noise.delay(0);  // event 0 begins at once
  EXPECT_THAT(time.slept, ElementsAre(7us));
  noise.delay(0);
  time.now = 1h + 99'999ns;
  noise.delay(0);
  EXPECT_THAT(time.slept, ElementsAre(7us)) << "nothing has begun";
  time.now = 1h + 100us;
  noise.delay(0);
  EXPECT_THAT(time.slept, ElementsAre(7us, 7us));
  noise.delay(1);
  EXPECT_THAT(time.slept, ElementsAre(7us, 7us, 7us)) << "each victim has its own";
  const counts sum = noise.so_far();
  EXPECT_EQ(sum.events, 3u);
  EXPECT_EQ(sum.delayed, 21us);
  EXPECT_EQ(sum.missed, 1u) << "event 0 of victim 1";
}

TEST(thread_injector, a_victim_that_was_elsewhere_for_long_is_delayed_once) {
  virtual_time time;
  thread_injector noise({.kind = kind::sleeping, .period = 100us, .duration = 7us, .together = true}, 1, time.clock());
  time.now += 1050us;  // events 0 to 10 have begun
  noise.delay(0);
  EXPECT_THAT(time.slept, ElementsAre(7us));
  EXPECT_EQ(noise.so_far().missed, 10u);
  noise.delay(0);
  EXPECT_THAT(time.slept, ElementsAre(7us));
}

TEST(thread_injector, computing_passes_the_time_without_sleeping) {
  virtual_time time;
  thread_injector noise({.period = 100us, .duration = 7us, .together = true}, 1, time.clock());
  time.per_look = 1us;
  noise.delay(0);
  EXPECT_THAT(time.slept, ElementsAre());
  EXPECT_EQ(time.now, 1h + 9us) << "one look to find the event, one at its beginning, then seven";
  EXPECT_EQ(noise.so_far().delayed, 7us);
}

TEST(thread_injector, no_victim_is_delayed_after_stop) {
  virtual_time time;
  thread_injector noise({.kind = kind::sleeping, .period = 100us, .duration = 7us, .together = true}, 1, time.clock());
  noise.stop();
  noise.delay(0);
  EXPECT_THAT(time.slept, ElementsAre());
  EXPECT_EQ(noise.so_far().events, 0u);
}

TEST(thread_injector, numbers_of_victims_are_checked) {
  virtual_time time;
  thread_injector noise({}, 3, time.clock());
  for (const int wrong : {-1, 3})
    EXPECT_THAT([&] { noise.delay(wrong); }, ThrowsMessage<std::out_of_range>(HasSubstr("numbered 0 to 2")));
}

TEST(thread_injector, the_time_lost_over_many_calls_is_that_of_the_events) {
  virtual_time time;
  const plan wanted{.kind = kind::sleeping, .period = 1ms, .duration = 20us, .longest = 90us, .jitter = 1.0, .seed = 3};
  thread_injector noise(wanted, 1, time.clock());
  const sequence events(wanted, 0);
  while (time.now < 1h + 200ms) {
    noise.delay(0);
    time.now += 1us;  // of work
  }
  nanoseconds expected{0};
  std::uint64_t count = 0;
  for (; events.at(count).begin < 200ms; ++count) expected += events.at(count).duration;
  EXPECT_EQ(noise.so_far().events, count);
  EXPECT_EQ(noise.so_far().delayed, expected);
  EXPECT_EQ(noise.so_far().missed, 0u);
}

TEST(thread_injector, participants_of_a_loop_use_it_at_the_same_time) {
  thread_injector noise({.kind = kind::sleeping, .period = 20us, .duration = 1us}, loop_participants());
  std::vector<int> runs(20000);
  parallel_for(static_cast<int>(runs.size()), [&](int i, int participant) {
    noise.delay(participant);
    ++runs[static_cast<std::size_t>(i)];
  });
  EXPECT_THAT(runs, ::testing::Each(1));
}

TEST(core_injector, takes_processor_time_from_its_cores_until_it_is_stopped) {
  const int core = os::cpus_of_this_thread().front();
  core_injector noise({.period = 500us, .duration = 50us}, {core});
  while (noise.so_far().events < 5) std::this_thread::yield();
  noise.stop();
  const counts stopped = noise.so_far();
  EXPECT_GE(stopped.events, 5u);
  EXPECT_EQ(stopped.delayed, 50us * static_cast<std::int64_t>(stopped.events));
  EXPECT_THAT(noise.priority(), ::testing::AnyOf("SCHED_FIFO", "ordinary"));
  noise.stop();
  EXPECT_EQ(noise.so_far().events, stopped.events);
}

TEST(core_injector, ends_with_the_object_even_far_from_the_next_event) {
  const core_injector noise({.period = 1h * 24, .duration = 1us});
  EXPECT_LE(noise.so_far().events, os::cpus_of_this_thread().size());
}

TEST(core_injector, cores_and_kind_are_checked) {
  const int core = os::cpus_of_this_thread().front();
  EXPECT_THAT([] { core_injector({.kind = kind::sleeping}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("sleeping takes nothing from a core")));
  EXPECT_THAT(
      [&] {
        core_injector({}, {core, core});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("is named twice")));
  EXPECT_THROW(core_injector({}, {core, 1000}), std::system_error);
}

}  // namespace
}  // namespace tri::noise
