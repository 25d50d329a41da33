#include "launch/exit_status.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace tri::host {
namespace {

template <class Function>
int status_of_child(Function function) {
  const pid_t child = fork();
  if (child == 0) {
    function();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(exit_status, exits_and_signals) {
  const int three = status_of_child([] { _exit(3); });
  EXPECT_EQ(describe_exit(three), "exited with status 3");
  EXPECT_EQ(shell_status(three), 3);
  const int killed = status_of_child([] { kill(getpid(), SIGKILL); });
  EXPECT_EQ(describe_exit(killed), "ended by signal 9 (Killed)");
  EXPECT_EQ(shell_status(killed), 137);
}

}  // namespace
}  // namespace tri::host
