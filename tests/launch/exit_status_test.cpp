// Wait statuses as text, and the exit status of the launcher for each.
#include "launch/exit_status.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "os/child_process.hpp"

namespace tri::launch {
namespace {

TEST(exit_status, exits_and_signals) {
  const int three = os::wait_for(os::start_function([] { return 3; }));
  EXPECT_EQ(describe_exit(three), "exited with status 3");
  EXPECT_EQ(shell_status(three), 3);
  const int killed = os::wait_for(os::start_function([] { return kill(getpid(), SIGKILL); }));
  EXPECT_EQ(describe_exit(killed), "ended by signal 9 (Killed)");
  EXPECT_EQ(shell_status(killed), 137);
}

}  // namespace
}  // namespace tri::launch
