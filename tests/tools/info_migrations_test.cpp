// `trireme info --migrations` (M24): sees threads that change their CPU, and none that are pinned.
#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/cpu/pinning.hpp"
#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (const auto& each : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", gone))
    threads.push_back(std::stoi(each.path().filename().string()));
  return threads;
}

void move_to(pid_t thread, const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  sched_setaffinity(thread, sizeof set, &set);
}

// The command watches its busy threads for two seconds without pinning, then for two with. In the first of these, they
// are moved from outside, as a scheduler may do.
TEST(migration_probe_of_the_command, sees_what_the_system_does_and_nothing_else) {
  const std::vector<int> cpus = os::cpus_of_this_thread();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU: a thread cannot change it";
  os::pipe_ends output = os::open_pipe();
  os::start_request request;
  request.arguments = {TRIREME_COMMAND, "info", "--migrations", "2"};
  request.output = output.write.get();
  const pid_t child = os::start_program(request);
  output.write.reset();
  std::vector<pid_t> threads;
  while ((threads = threads_of(child)).size() < 1 + cpus.size()) usleep(1000);
  const std::int64_t end_ns = os::now_ns() + 500'000'000;
  for (std::size_t turn = 0; os::now_ns() < end_ns; ++turn) {
    for (const pid_t thread : threads)
      if (thread != child) move_to(thread, {cpus[turn % 2]});
    usleep(20'000);
  }
  for (const pid_t thread : threads)
    if (thread != child) move_to(thread, cpus);
  std::string text;
  char buffer[4096];
  for (ssize_t bytes = 0; (bytes = read(output.read.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(bytes));
  EXPECT_EQ(os::wait_for(child), 0);
  EXPECT_THAT(text, ContainsRegex("busy threads not pinned: [1-9][0-9]* changes of CPU in 2 s\n"));
  EXPECT_THAT(text, ContainsRegex("busy threads pinned: 0 changes of CPU in 2 s\n"));
}

}  // namespace
}  // namespace tri::testing
