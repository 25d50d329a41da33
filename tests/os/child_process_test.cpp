// Starting programs and functions in child processes: search path, environment, descriptors, output.
#include "os/child_process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "support/command_runner.hpp"

namespace tri::os {
namespace {

using ::testing::Not;
using tri::testing::temporary_folder;
using tri::testing::write_file;

std::string refusal(const std::string& name) {
  try {
    return find_program(name);
  } catch (const start_error& problem) {
    return problem.what();
  }
}

start_request shell(const std::string& script) { return {.arguments = {"sh", "-c", script}}; }

bool exits_with(int status, int expected) { return WIFEXITED(status) && WEXITSTATUS(status) == expected; }
bool is_killed_by(int status, int expected) { return WIFSIGNALED(status) && WTERMSIG(status) == expected; }

TEST(find_program, finds_programs_as_a_shell_would) {
  EXPECT_THAT(find_program("sh"), ::testing::EndsWith("/sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_TRUE(has_program("sh"));
}

TEST(find_program, says_why_there_is_none) {
  const temporary_folder folder;
  const std::string text = folder.path() / "text";
  write_file(text, "no program\n");
  EXPECT_EQ(refusal("/no/such/program"), "there is no program '/no/such/program' (No such file or directory)");
  EXPECT_EQ(refusal("no-such-program"), "there is no program 'no-such-program' in PATH");
  EXPECT_EQ(refusal("/tmp"), "'/tmp' is a folder, not a program");
  EXPECT_EQ(refusal(text),
            "'" + text + "' is not executable (Permission denied); chmod +x it, or start its interpreter");
  EXPECT_EQ(refusal(""), "no program is given");
  EXPECT_FALSE(has_program("no-such-program"));
}

TEST(shell_quoted, is_one_word_for_a_shell) {
  EXPECT_EQ(shell_quoted("plain"), "'plain'");
  EXPECT_EQ(shell_quoted(""), "''");
  for (const std::string text : {"", "two words", "it's '' here", "$HOME `ls` \\ \" * ? ~ ; & | # !", "two\nlines"})
    EXPECT_EQ(run_program(shell("printf '<%s>' " + shell_quoted(text))).output, "<" + text + ">");
}

TEST(environment, of_ours_gives_way_to_what_is_named) {
  setenv("TRIREME_TEST_A", "ours", 1);
  setenv("TRIREME_TEST_AB", "ours", 1);
  const std::vector<std::string> made = environment_with({"TRIREME_TEST_A=theirs", "TRIREME_TEST_NEW=x=y"});
  EXPECT_THAT(made, ::testing::IsSupersetOf({"TRIREME_TEST_A=theirs", "TRIREME_TEST_NEW=x=y", "TRIREME_TEST_AB=ours"}));
  EXPECT_THAT(made, Not(::testing::Contains("TRIREME_TEST_A=ours")));
  EXPECT_EQ(made.size(), environment_with({}).size() + 1);
  start_request request = shell("echo $TRIREME_TEST_A $TRIREME_TEST_AB");
  EXPECT_EQ(run_program(request).output, "ours ours\n");
  request.environment = made;
  EXPECT_EQ(run_program(request).output, "theirs ours\n");
  request.environment = {"TRIREME_TEST_A=alone"};
  EXPECT_EQ(run_program(request).output, "alone\n");
}

TEST(start_program, refuses_what_the_system_cannot_execute_with_its_reason) {
  const temporary_folder folder;
  const std::string text = folder.path() / "text";
  write_file(text, "no program\n");
  std::filesystem::permissions(text, std::filesystem::perms(0755));
  EXPECT_THAT([&] { start_program({.arguments = {text}}); },
              ::testing::ThrowsMessage<start_error>("cannot start '" + text + "': Exec format error"));
  EXPECT_THAT([&] { start_program({.arguments = {"a name"}, .path = "/tmp"}); },
              ::testing::ThrowsMessage<start_error>("cannot start '/tmp': Permission denied"));
  EXPECT_THAT([&] { run_program({.arguments = {"no-such-program"}}); },
              ::testing::ThrowsMessage<start_error>("there is no program 'no-such-program' in PATH"));
  EXPECT_LT(waitpid(-1, nullptr, 0), 0) << "no child is left";
}

TEST(start_program, gives_descriptors_and_a_limit_of_open_files) {
  const pipe_ends in = open_pipe(), out = open_pipe(), errors = open_pipe();
  start_request request = shell("read word; echo out $word; echo err $(ulimit -S -n) >&2; exit 4");
  request.input = in.read.get();
  request.output = out.write.get();
  request.error = errors.write.get();
  request.open_files = 77;
  ASSERT_EQ(write(in.write.get(), "a word\n", 7), 7);
  EXPECT_TRUE(exits_with(wait_for(start_program(request)), 4));
  char text[32];
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(read(out.read.get(), text, sizeof text))), "out a word\n");
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(read(errors.read.get(), text, sizeof text))), "err 77\n");
}

TEST(start_program, gives_a_signal_mask_a_group_and_the_default_for_broken_pipes) {
  const auto old_action = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_TRUE(is_killed_by(run_program(shell("kill -PIPE $$; echo alive")).status, SIGPIPE));
  std::signal(SIGPIPE, old_action);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  const std::vector<std::string> show_mask = {"grep", "SigBlk", "/proc/self/status"};
  EXPECT_EQ(run_program({.arguments = show_mask, .signal_mask = mask}).output, "SigBlk:\t0000000000000200\n");
  const pid_t child = start_program({.arguments = {"sleep", "1000"}, .own_group = true});
  EXPECT_EQ(getpgid(child), child);
  EXPECT_TRUE(is_killed_by(kill_and_wait(child), SIGKILL));
}

// A pipe takes the place of a standard stream that is closed.
TEST(start_program, works_where_our_own_standard_streams_are_closed) {
  const pid_t child = start_function([] {
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    if (run_program(shell("echo x")).output != "x\n") return 1;
    try {
      start_program({.arguments = {"a name"}, .path = "/tmp", .output = STDERR_FILENO});
      return 2;
    } catch (const start_error&) {
      return 0;
    }
  });
  EXPECT_EQ(wait_for(child), 0);
}

TEST(run_program, keeps_more_output_than_a_pipe_holds) {
  const program_end end = run_program(shell("head -c 1000000 /dev/zero; exit 3"));
  EXPECT_EQ(end.output, std::string(1'000'000, '\0'));
  EXPECT_TRUE(exits_with(end.status, 3));
}

TEST(run_program, tells_of_the_end_by_a_signal) {
  const program_end end = run_program(shell("echo before; kill -TERM $$"));
  EXPECT_EQ(end.output, "before\n");
  EXPECT_TRUE(is_killed_by(end.status, SIGTERM));
}

TEST(start_function, ends_with_the_result) {
  const int before = 41;
  EXPECT_TRUE(exits_with(wait_for(start_function([&] { return before + 1; })), 42));
  EXPECT_TRUE(is_killed_by(kill_and_wait(start_function([]() -> int {
                             while (true) pause();
                           })),
                           SIGKILL));
}

TEST(start_function, lets_nothing_out_that_the_function_throws) {
  const int status = wait_for(start_function([]() -> int {
    const rlimit no_core_file{};
    setrlimit(RLIMIT_CORE, &no_core_file);
    close(STDERR_FILENO);  // what the end says
    throw std::runtime_error("it throws");
  }));
  EXPECT_TRUE(is_killed_by(status, SIGABRT)) << status;
}

// The program at the end of the chain closes the pipe when it dies.
TEST(children, die_with_the_process_that_started_them) {
  pipe_ends pipe = open_pipe();
  const pid_t middle = start_function([&] {
    start_program({.arguments = {"sleep", "1000"}, .output = pipe.write.get()});
    return 0;
  });
  pipe.write.reset();
  EXPECT_EQ(wait_for(middle), 0);
  char nothing = 0;
  EXPECT_EQ(read(pipe.read.get(), &nothing, 1), 0);
}

}  // namespace
}  // namespace tri::os
