// An agent alone, with the test as a launcher that ends the job and does not read what its processes printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "launch/host_link.hpp"
#include "launch/host_memory.hpp"
#include "os/child_process.hpp"

namespace tri::launch {
namespace {

using ::testing::HasSubstr;

// Its one process has printed more than the connection holds, and has ended when the constructor returns.
class deaf_launcher {
 public:
  explicit deaf_launcher(int peer_timeout_ms) {
    os::unique_fd(mkstemp(marker_));
    agent_ = os::start_program({.arguments = {AGENT},
                                .input = to_agent_.read.get(),
                                .output = from_agent_.write.get(),
                                .error = errors_.write.get()});
    to_agent_.read.reset();
    from_agent_.write.reset();
    errors_.write.reset();
    write_all(greeting_of_launcher("0123"));
    send({.kind = link_kind::place, .process = 0, .number = 1, .words = {"1", "1", std::to_string(peer_timeout_ms)}});
    send({.kind = link_kind::folder, .text = "/"});
    send({.kind = link_kind::environment, .words = {"TRIREME_SURVIVE=" + memory_}});
    const std::string command = "head -c 400000 /dev/zero; echo done > " + std::string(marker_) + "; exec sleep 1000";
    send({.kind = link_kind::start, .words = {"/bin/sh", "-c", command}});
    const pid_t process = wait_for_process();
    while (std::filesystem::file_size(marker_) == 0) {  // then the agent has taken all but a pipe's content
      send({.kind = link_kind::heartbeat});
      usleep(10'000);
    }
    using file_clock = std::filesystem::file_time_type::clock;  // the job has run for long
    std::filesystem::last_write_time(memory_, file_clock::now() - std::chrono::hours(2));
    send({.kind = link_kind::end});
    while (kill(process, 0) == 0) usleep(1000);
  }
  ~deaf_launcher() {
    if (agent_ > 0) kill(agent_, SIGKILL);
    unlink(marker_);
    std::filesystem::remove_all(memory_);
  }

  // That of the host, in which other starts of the job find their states.
  bool has_memory() const { return std::filesystem::exists(memory_); }
  void close() { to_agent_.write.reset(); }
  void signal(int number) { kill(agent_, number); }

  // The agent's wait status once it has ended, and what it said itself.
  int wait(std::string& said) {
    const int status = os::wait_for(std::exchange(agent_, -1));
    char buffer[4096];
    for (ssize_t length; (length = read(errors_.read.get(), buffer, sizeof buffer)) > 0;)
      said.append(buffer, static_cast<std::size_t>(length));
    return status;
  }

 private:
  void send(const link_message& message) { write_all(encode_frame(message)); }
  void write_all(const std::string& bytes) {
    ASSERT_EQ(write(to_agent_.write.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  // Reads only as far as the report that the process has started, and returns its pid.
  pid_t wait_for_process() {
    std::string received;
    while (received.find('\n') == std::string::npos) read_some(received);
    received.erase(0, received.find('\n') + 1);
    while (true) {
      while (const auto message = take_frame(received))
        if (message->kind == link_kind::started) return static_cast<pid_t>(message->number);
      read_some(received);
    }
  }

  void read_some(std::string& received) {
    char each;
    if (read(from_agent_.read.get(), &each, 1) != 1) std::abort();  // the agent has ended
    received += each;
  }

  os::pipe_ends to_agent_ = os::open_pipe(), from_agent_ = os::open_pipe(), errors_ = os::open_pipe();
  pid_t agent_ = -1;
  char marker_[32] = "/tmp/trireme-agent-test-XXXXXX";
  const std::string memory_ = new_host_memory();
};

TEST(agent, hears_a_signal_while_nothing_reads_the_last_output) {
  deaf_launcher launcher(3'600'000);
  launcher.signal(SIGTERM);
  std::string said;
  const int status = launcher.wait(said);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_THAT(said, HasSubstr("trireme agent: the agent was ended by a signal"));
  EXPECT_TRUE(launcher.has_memory());
}

TEST(agent, sees_that_the_launcher_is_gone_while_nothing_reads_the_last_output) {
  deaf_launcher launcher(3'600'000);
  launcher.close();
  std::string said;
  const int status = launcher.wait(said);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_THAT(said, HasSubstr("trireme agent: the launcher is gone"));
  EXPECT_TRUE(launcher.has_memory());
}

// The launcher starts the job again soon: what agents of other jobs find meanwhile is not what a killed one has left.
TEST(agent, leaves_memory_that_looks_used) {
  deaf_launcher launcher(3'600'000);
  launcher.close();
  std::string said;
  launcher.wait(said);
  host_memory(new_host_memory()).remove();
  EXPECT_TRUE(launcher.has_memory());
}

TEST(agent, gives_up_a_launcher_that_does_not_read_the_last_output) {
  deaf_launcher launcher(3000);
  std::string said;
  const int status = launcher.wait(said);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_THAT(said, HasSubstr("trireme agent: the launcher does not read"));
  EXPECT_TRUE(launcher.has_memory());
}

}  // namespace
}  // namespace tri::launch
