// Options of `trireme exec` that no program needs to be started for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string exec = TRIREME_COMMAND " exec ";

TEST(exec_command, refuses_to_intercept_and_not_to_intercept) {
  for (const char* both : {"--mpi --no-mpi", "--no-mpi --mpi"}) {
    const command_result done = run_command(exec + both + " echo started");
    EXPECT_EQ(done.status, 2) << both;
    EXPECT_THAT(done.output, IsEmpty());
    EXPECT_THAT(done.errors, HasSubstr("--mpi and --no-mpi exclude each other"));
  }
}

}  // namespace
}  // namespace tri::testing
