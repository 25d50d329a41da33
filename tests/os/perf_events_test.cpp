// Counters of events: those of the system, which every machine has, and those of the processor where there are some.
#include "os/perf_events.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tri::os {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::size_t pages = 100;

void touch_fresh_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const address = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(address, MAP_FAILED);
  madvise(address, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(address)[i * page] = 1;
  munmap(address, pages * page);
}

// Nothing where the machine, or the container, has no such events.
std::unique_ptr<perf_counters> counters_of(const std::vector<std::string>& names, std::string& why) {
  try {
    return std::make_unique<perf_counters>(names);
  } catch (const perf_error& error) {
    why = error.what();
    return nullptr;
  }
}

TEST(perf_events, of_the_system_are_counted_together) {
  std::string why;
  const auto counters = counters_of({"page-faults", "context-switches", "minor-faults"}, why);
  if (counters == nullptr) GTEST_SKIP() << why;
  ASSERT_EQ(counters->size(), 3u);
  std::array<std::uint64_t, 3> before{}, after{};
  counters->read(before);
  touch_fresh_pages();
  usleep(1000);
  counters->read(after);
  EXPECT_GE(after[0] - before[0], pages);
  EXPECT_LT(after[0] - before[0], 3 * pages);
  EXPECT_GE(after[1] - before[1], 1u) << "it slept";
  EXPECT_GE(after[2] - before[2], pages);
}

TEST(perf_events, of_the_processor_are_counted_or_the_reason_is_given) {
  std::string why;
  const auto counters = counters_of({"instructions", "page-faults", "cycles"}, why);
  if (counters == nullptr) {
    EXPECT_THAT(why, HasSubstr("'instructions' cannot be counted: "));
    return;
  }
  std::array<std::uint64_t, 3> before{}, after{};
  counters->read(before);
  volatile int sum = 0;
  for (int i = 0; i < 100'000; ++i) sum = sum + i;
  counters->read(after);
  EXPECT_GT(after[0] - before[0], 200'000u);
  EXPECT_GT(after[2], before[2]);
}

TEST(perf_events, of_programs_that_were_started) {
  const std::string names[] = {"page-faults", "context-switches"};
  std::optional<child_perf_counters> counters;
  try {
    counters.emplace(names);
  } catch (const perf_error& error) {
    GTEST_SKIP() << error.what();
  }
  const double before = counters->take()[0];
  touch_fresh_pages();
  const double own = counters->take()[0];
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (int i = 0; i < 10; ++i) touch_fresh_pages();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_GE(before, 0.0);
  EXPECT_GE(own, static_cast<double>(pages));
  EXPECT_GE(counters->take()[0], 10.0 * pages);
  EXPECT_LT(counters->take()[0], static_cast<double>(pages)) << "since the last call";
  const std::string unknown[] = {"cash-misses"};
  EXPECT_THROW(child_perf_counters{unknown}, perf_error);
}

TEST(perf_events, unknown_names_are_errors) {
  std::string why;
  EXPECT_EQ(counters_of({"page-faults", "cash-misses"}, why), nullptr);
  EXPECT_THAT(why, HasSubstr("there is no event 'cash-misses'; there are cycles, instructions"));
  EXPECT_EQ(counters_of({"r"}, why), nullptr);
  EXPECT_EQ(counters_of({"r12xy"}, why), nullptr);
  EXPECT_THAT(perf_event_names(), Contains("LLC-load-misses"));
}

}  // namespace
}  // namespace tri::os
