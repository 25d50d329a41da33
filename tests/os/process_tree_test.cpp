// Finding and signalling all descendants of a process.
#include "os/process_tree.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "os/child_process.hpp"

namespace tri::os {
namespace {

TEST(process_tree, all_descendants_are_found_and_signalled) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pipe_ends pipe = open_pipe();
  const std::string script = "(setsid sleep 1000 & setsid sleep 1000 & echo x); exec sleep 1000";
  const pid_t first = start_program({.arguments = {"sh", "-c", script}, .output = pipe.write.get()});
  char text = 0;
  ASSERT_EQ(read(pipe.read.get(), &text, 1), 1);
  while (descendants().size() != 3) usleep(1000);  // setsid may fork
  EXPECT_EQ(signal_descendants(0, first), 2u);
  signal_descendants(SIGKILL, 0);
  int reaped = 0;  // the inner shell may have ended without having been reaped by the outer one: then it is ours, too
  while (wait(nullptr) > 0) ++reaped;
  EXPECT_GE(reaped, 3);
  EXPECT_TRUE(descendants().empty());
}

TEST(process_tree, a_process_that_has_ended_and_is_not_reaped_is_exiting) {
  EXPECT_FALSE(is_exiting(getpid()));
  const pid_t child = start_function([] { return 0; });
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(is_exiting(child));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_exiting(child)) << "there is no such process";
}

}  // namespace
}  // namespace tri::os
