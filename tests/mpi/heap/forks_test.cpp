// Forks of a program with a large heap: where there is memory for a copy, where there is none, and where the kernel
// refuses large private mappings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "support/command_runner.hpp"
#include "support/memory_group.hpp"

namespace {

using testing::HasSubstr;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr const char* warning =
    "and the child has not called exec: pages that it has not written may change from now on. Begin "
    "programs by posix_spawn or system, raise the memory limit, or set TRIREME_MPI_HEAP=off\n";

tri::testing::command_result forks(const std::string& verb, const std::string& before = "",
                                   const std::string& wrapper = "") {
  static int number = 0;
  return tri::testing::run_command(
      before + "unset TRIREME_MPI TRIREME_MPI_HEAP PMIX_NAMESPACE PMI_FD; TRIREME_MPI_JOB=" + std::to_string(getpid()) +
      ".forks." + std::to_string(++number) + " " + wrapper + " env LD_PRELOAD=" PRELOAD_LIBRARY " " FORK_PROGRAM " " +
      verb);
}

void expect(const tri::testing::command_result& ended, const std::string& output) {
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(ended.output, output);
  EXPECT_EQ(ended.errors, "");
}

TEST(forks, get_a_copy) {
  expect(forks("begin_programs 4"), "4 copies, 0 views\n");
  expect(forks("live_on"), "1 copies, 0 views\n");
}

TEST(forks, without_room_for_a_copy_begin_programs_all_the_same) {
  expect(forks("begin_programs no_room"), "0 copies, 20 views\n");
}

TEST(forks, without_room_for_a_copy_live_on_with_a_line) {
  const auto ended = forks("live_on no_room");
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(ended.output, "0 copies, 1 views\n");
  EXPECT_THAT(ended.errors,
              testing::MatchesRegex("trireme: fork: the memory that is left is too small for a copy of the heap of "
                                    "process [0-9]+ \\(3[0-9][0-9] MiB, [0-9]+ MiB left\\), [^\n]*\n"));
  EXPECT_THAT(ended.errors, HasSubstr(warning));
}

TEST(forks, need_nothing_when_the_child_shares_its_parents_memory) {
  expect(forks("begin_programs_otherwise"), "0 copies, 0 views\n");
  expect(forks("begin_programs_otherwise no_room"), "0 copies, 0 views\n");
}

// The copy would have the kernel end the rank.
TEST(forks, keep_within_the_memory_of_a_control_group) {
  const tri::testing::memory_group group(500 * mib);
  if (!group.reason().empty()) GTEST_SKIP() << group.reason();
  expect(forks("begin_programs", group.enter()), "0 copies, 20 views\n");
  const auto ended = forks("live_on view", group.enter());
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(ended.output, "0 copies, 1 views\n");
  EXPECT_THAT(ended.errors, HasSubstr(warning));
}

TEST(forks, copy_in_a_control_group_that_has_room) {
  const tri::testing::memory_group group(900 * mib);
  if (!group.reason().empty()) GTEST_SKIP() << group.reason();
  // More copies than there is room for at the same time.
  expect(forks("begin_programs 4", group.enter()), "4 copies, 0 views\n");
  expect(forks("live_on", group.enter()), "1 copies, 0 views\n");
}

TEST(forks, need_no_large_private_mapping) {
  const std::string filter = REFUSE_PRIVATE_MEMORY;
  if (tri::testing::run_command(filter + " true").status == 77) GTEST_SKIP() << "no filter of system calls here";
  expect(forks("begin_programs 4", "", filter), "4 copies, 0 views\n");
  expect(forks("live_on", "", filter), "1 copies, 0 views\n");
  expect(forks("begin_programs no_room", "", filter), "0 copies, 20 views\n");
  EXPECT_EQ(forks("live_on no_room", "", filter).output, "0 copies, 1 views\n");
}

}  // namespace
