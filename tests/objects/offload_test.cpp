// What offloaded work costs in memory, and errors of work that nobody waits for.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <stdexcept>

#include "allocations.hpp"
#include "arena/arena.hpp"
#include "support/run_on_pes.hpp"

namespace tri::testing {
namespace {

TEST(offload, takes_no_memory_once_it_is_warm) {
  constexpr int count = 100'000, at_once = 1000, warm_up = 2 * at_once;
  std::atomic<int> done{0};
  std::int64_t allocated = -1;
  std::size_t grown = 1;
  const int status = run_on_pes(2, [&](int, char**) {
    sched::pe& here = sched::this_pe();
    std::int64_t before = 0;
    std::size_t used_before = 0;
    for (int handed = 0; handed < warm_up + count;) {
      if (handed == warm_up) {
        before = allocations();
        used_before = arena::current()->heap().bytes_in_use();
      }
      for (int i = 0; i < at_once; ++i, ++handed) offload_detached([&done] { ++done; });
      here.run_until([&] { return here.counters().processed.read() >= here.counters().sent.read(); });
    }
    allocated = allocations() - before;
    grown = arena::current()->heap().bytes_in_use() - used_before;
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(done, warm_up + count);
  EXPECT_EQ(allocated, 0);
  EXPECT_EQ(grown, 0u);
}

struct file_writer {
  int written = 0;
  int write(int bytes) { return written += bytes; }
};

TEST(offload, takes_pointers_to_members_as_std_async_does) {
  file_writer writer;
  int result = 0;
  run_on_pes(1, [&](int, char**) {
    result = offload(&file_writer::write, &writer, 5).get();
    return 0;
  });
  EXPECT_EQ(result, 5);
  EXPECT_EQ(writer.written, 5);
}

TEST(offload, starts_a_thread_only_when_it_is_used) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  std::ptrdiff_t before = 0, between = 0, after = 0;
  run_on_pes(2, [&](int, char**) {
    before = threads();
    static_cast<void>(tri::this_pe());
    between = threads();
    offload([] {}).get();
    after = threads();
    return 0;
  });
  EXPECT_EQ(between, before);
  EXPECT_EQ(after, before + 1);
}

TEST(offload, an_exception_that_nobody_waits_for_ends_the_job) {
  EXPECT_EXIT(std::exit(run_on_pes(1,
                                   [](int, char**) {
                                     offload_detached([] { throw std::runtime_error("the disk is full"); });
                                     quiescence().get();
                                     return 0;
                                   })),
              ::testing::ExitedWithCode(1), "an exception left a function: offloaded work on PE 0: the disk is full");
}

}  // namespace
}  // namespace tri::testing
