#include "os/process_tree.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tri::host {
namespace {

std::string refusal(const std::string& name) {
  try {
    return find_program(name);
  } catch (const start_error& problem) {
    return problem.what();
  }
}

TEST(process_tree, programs_are_found_as_a_shell_would) {
  EXPECT_THAT(find_program("sh"), ::testing::EndsWith("/sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(refusal("/no/such/program"), "there is no program '/no/such/program' (No such file or directory)");
  EXPECT_EQ(refusal("/tmp"), "'/tmp' is a folder, not a program");
  EXPECT_EQ(refusal(""), "no program is given");
}

start_request request_for(const std::string& script) {
  start_request request;
  request.path = "/bin/sh";
  request.arguments = {"sh", "-c", script};
  request.environment = {"A=b"};
  sigemptyset(&request.signal_mask);
  return request;
}

TEST(process_tree, started_programs_get_environment_and_descriptors) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  start_request request = request_for("echo $A; exit 4");
  request.output = ends[1];
  const pid_t pid = start_program(request);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 4);
  char text[8];
  EXPECT_EQ(read(ends[0], text, sizeof text), 2);
  EXPECT_EQ(std::string(text, 2), "b\n");
  close(ends[0]);
  close(ends[1]);
}

TEST(process_tree, a_file_that_is_no_program_is_an_error_with_the_systems_reason) {
  const std::string path = std::filesystem::temp_directory_path() / ("trireme-no-program-" + std::to_string(getpid()));
  std::ofstream(path) << "no program\n";
  chmod(path.c_str(), 0755);
  start_request request = request_for("");
  request.path = path;
  try {
    start_program(request);
    FAIL();
  } catch (const start_error& problem) {
    EXPECT_EQ(std::string(problem.what()), "cannot start '" + path + "': Exec format error");
  }
  std::filesystem::remove(path);
}

TEST(process_tree, all_descendants_are_found_and_signalled) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  start_request request = request_for("(setsid sleep 1000 & setsid sleep 1000 & echo x); exec sleep 1000");
  request.output = ends[1];
  request.environment = {"PATH=/usr/bin:/bin"};
  const pid_t first = start_program(request);
  char text = 0;
  ASSERT_EQ(read(ends[0], &text, 1), 1);
  while (descendants().size() != 3) usleep(1000);  // setsid may fork
  EXPECT_EQ(signal_descendants(0, first), 2u);
  signal_descendants(SIGKILL, 0);
  for (int i = 0; i < 3; ++i) EXPECT_GT(wait(nullptr), 0);
  EXPECT_TRUE(descendants().empty());
  close(ends[0]);
  close(ends[1]);
}

TEST(process_tree, a_process_that_has_ended_and_is_not_reaped_is_exiting) {
  EXPECT_FALSE(is_exiting(getpid()));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(is_exiting(child));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_exiting(child)) << "there is no such process";
}

}  // namespace
}  // namespace tri::host
