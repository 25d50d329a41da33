// Binding of threads to CPUs, and the probe that counts migrations.
#include "os/cpu/pinning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <system_error>
#include <thread>

namespace tri::os {
namespace {

TEST(pinning, a_pinned_thread_runs_where_it_was_put) {
  for (const int cpu : cpus_of_this_thread()) {
    std::thread([=] {
      pin_this_thread(cpu);
      EXPECT_EQ(cpus_of_this_thread(), std::vector<int>{cpu});
      migration_probe probe;
      for (int i = 0; i < 10000; ++i) probe.sample();
      EXPECT_EQ(probe.samples(), 10000u);
      EXPECT_EQ(probe.changes(), 0u);
      EXPECT_EQ(probe.last_cpu(), cpu);
    }).join();
  }
}

TEST(pinning, the_probe_sees_every_change) {
  const std::vector<int> cpus = cpus_of_this_thread();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU: a thread cannot change it";
  std::thread([&] {
    migration_probe probe;
    for (int i = 0; i < 10; ++i) {
      pin_this_thread(cpus[static_cast<std::size_t>(i) % 2]);
      EXPECT_EQ(probe.sample(), i > 0);
      EXPECT_FALSE(probe.sample());
    }
    EXPECT_EQ(probe.changes(), 9u);
  }).join();
}

TEST(pinning, a_cpu_that_does_not_exist_is_refused_by_number) {
  try {
    pin_this_thread(60000);
    FAIL();
  } catch (const std::system_error& problem) {
    EXPECT_THAT(problem.what(), ::testing::HasSubstr("cannot bind a thread to CPU 60000"));
  }
  EXPECT_THROW(pin_this_thread(std::vector<int>{}), std::system_error);
}

}  // namespace
}  // namespace tri::os
