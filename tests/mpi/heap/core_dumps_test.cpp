// Crashes of a program whose heap is mostly holes: the core dump holds what the program wrote, and writing it takes no
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/command_runner.hpp"

namespace {

using testing::HasSubstr;

std::string why_no_core_dump() {
  const std::string pattern = tri::testing::contents_of("/proc/sys/kernel/core_pattern");
  if (pattern.empty() || pattern.find_first_of("|/") != std::string::npos)
    return "core dumps do not go to the folder of the program (kernel.core_pattern is " + pattern + ")";
  rlimit limit{};
  if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max != RLIM_INFINITY) return "core dumps have a hard limit";
  return "";
}

struct crash {
  int status = 0;
  std::string output;
  unsigned long blocks_before = 0;  // of 512 bytes, of the heap's memory file
  unsigned long blocks_after = 0;
  std::string core;
};

// `cat` waits for the shell that watches the file.
crash crash_by(const std::string& verb) {
  static int number = 0;
  const tri::testing::temporary_folder folder;
  const auto ended = tri::testing::run_command(
      folder.path(),
      "ulimit -c unlimited; unset TRIREME_MPI TRIREME_MPI_HEAP PMIX_NAMESPACE PMI_FD; { TRIREME_MPI_JOB=" +
          std::to_string(getpid()) + ".crash." + std::to_string(++number) +
          " LD_PRELOAD=" PRELOAD_LIBRARY " " CRASH_PROGRAM " " + verb +
          "; echo $? > status; } | cat; exit $(cat status)");
  crash result;
  result.status = ended.status;
  result.output = ended.output;
  result.blocks_before = std::strtoul(ended.output.c_str(), nullptr, 10);
  const std::size_t last_line = ended.output.rfind('\n', ended.output.size() - 2) + 1;
  if (ended.output.size() > 1) result.blocks_after = std::strtoul(ended.output.c_str() + last_line, nullptr, 10);
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    if (file.path().filename().string().starts_with("core")) result.core = tri::testing::contents_of(file.path());
  return result;
}

class core_dumps : public testing::TestWithParam<const char*> {};

TEST_P(core_dumps, hold_what_was_used_and_take_no_memory) {
  if (const std::string why = why_no_core_dump(); !why.empty()) GTEST_SKIP() << why;
  const crash found = crash_by(GetParam());
  EXPECT_GE(found.status, 128) << found.output;
  EXPECT_GT(found.blocks_before, 0U) << found.output;
  // Holes below 64 KiB beside what is in use are filled.
  EXPECT_GE(found.blocks_after, found.blocks_before) << found.output;
  EXPECT_LT(found.blocks_after, found.blocks_before + (8U << 20) / 512) << found.output;
  for (const char* which : {"the second block", "the middle of the large block", "the small block", "the static array"})
    EXPECT_NE(found.core.find(std::string(which) + " is in the core dump"), std::string::npos) << which;
  EXPECT_LT(found.core.size(), std::size_t{200} << 20);
}
INSTANTIATE_TEST_SUITE_P(by, core_dumps, testing::Values("abort", "quit", "fault"),
                         [](const testing::TestParamInfo<const char*>& which) { return std::string(which.param); });

TEST(core_dumps_beside_handlers, come_after_the_programs_own_handler) {
  if (const std::string why = why_no_core_dump(); !why.empty()) GTEST_SKIP() << why;
  const crash found = crash_by("handler");
  EXPECT_EQ(found.status, 128 + SIGSEGV);
  EXPECT_THAT(found.output, HasSubstr("the program's own handler\n"));
  EXPECT_GE(found.blocks_after, found.blocks_before) << found.output;
  EXPECT_LT(found.blocks_after, found.blocks_before + (8U << 20) / 512) << found.output;
  EXPECT_NE(found.core.find("the small block is in the core dump"), std::string::npos);
}

}  // namespace
