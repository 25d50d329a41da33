// Loops that follow each other use the same slots and records again: nothing is allocated for a loop (M33).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "framework/allocation_counter.hpp"
#include "trireme/loops.hpp"

namespace tri {
namespace {

// What the threads of the team have allocated so far, by participant. Each meets all others in its item, so that every
// participant runs exactly one.
std::vector<std::uint64_t> allocations_by_participant() {
  const int participants = loop_participants();
  std::vector<std::uint64_t> found(static_cast<std::size_t>(participants));
  std::atomic<int> inside{0};
  parallel_for(
      participants,
      [&](int, int participant) {
        ++inside;  // seq_cst: a test
        while (inside < participants) {
        }
        found[static_cast<std::size_t>(participant)] = bench::allocations_of_this_thread();
      },
      "dynamic,1");
  return found;
}

class schedules : public testing::TestWithParam<const char*> {};

TEST_P(schedules, allocate_nothing_for_a_loop_that_has_run_before) {
  constexpr int before = 200, loops = 100'000;
  std::atomic<std::uint64_t> runs{0};
  const auto loop = [&] {
    parallel_for(
        8, [&](int) { runs.fetch_add(1, std::memory_order_relaxed); }, GetParam());
  };
  for (int i = 0; i < before; ++i) loop();
  static_cast<void>(allocations_by_participant());
  const std::vector<std::uint64_t> first = allocations_by_participant();
  for (int i = 0; i < loops; ++i) loop();
  const std::vector<std::uint64_t> last = allocations_by_participant();
  EXPECT_EQ(runs, std::uint64_t{8} * (before + loops));
  ASSERT_EQ(first.size(), last.size());
  // Two of them for what allocations_by_participant itself keeps on the caller.
  EXPECT_LE(last[0] - first[0], 16u) << "the caller, in " << loops << " loops";
  for (std::size_t participant = 1; participant < first.size(); ++participant)
    EXPECT_LE(last[participant] - first[participant], 16u) << "participant " << participant;
}
INSTANTIATE_TEST_SUITE_P(fixed, schedules, testing::Values("static", "dynamic,1", "guided", "hybrid,0.5", "staggered"));

}  // namespace
}  // namespace tri
