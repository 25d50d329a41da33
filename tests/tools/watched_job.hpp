// A job in the background for tests of `trireme top`, in a folder of its own; it ends when this does.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "support/command_runner.hpp"
#include "support/process_state.hpp"

namespace tri::testing {

/// A command that runs beside the test, with its output in a file.
class background_command {
 public:
  background_command(const std::string& command, const std::filesystem::path& output) : output_(output) {
    const std::string whole = "exec " + command + " >" + output.string() + " 2>&1";
    pid_ = fork();
    if (pid_ == 0) {
      execl("/bin/sh", "sh", "-c", whole.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
  }
  ~background_command() {
    if (pid_ > 0) kill();
  }
  background_command(const background_command&) = delete;
  background_command& operator=(const background_command&) = delete;

  pid_t pid() const { return pid_; }
  std::string output() const { return contents_of(output_); }
  bool has_ended() const { return state_of_process(pid_) == 'Z'; }
  /// Its status, as from waitpid.
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  /// Until its output has that, or it has ended.
  void wait_for(const std::string& text) const {
    while (output().find(text) == std::string::npos && !has_ended())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

 private:
  std::filesystem::path output_;
  pid_t pid_ = 0;
};

class watched_job {
 public:
  /// `start`: the command, to which the program's words are added.
  explicit watched_job(const std::string& start, const std::string& what = "rest")
      : job_(start + " " + what + " " + folder_.path().string(), folder_.path() / "out") {
    while (!std::filesystem::exists(folder_.path() / "ready") && !job_.has_ended())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "ready")) << job_.output();
  }
  ~watched_job() {
    if (job_.pid() > 0) end();
  }
  watched_job(const watched_job&) = delete;
  watched_job& operator=(const watched_job&) = delete;

  pid_t pid() const { return job_.pid(); }
  /// Does not wait for its end.
  void let_it_end() const { const std::ofstream go(folder_.path() / "go"); }
  void end() {
    let_it_end();
    const int status = job_.wait();
    EXPECT_EQ(status, 0) << job_.output();
  }
  void kill() { job_.kill(); }
  /// What the program wrote of its own counters.
  std::map<int, std::map<std::string, std::uint64_t>> counters() const {
    std::map<int, std::map<std::string, std::uint64_t>> read;
    std::ifstream lines(folder_.path() / "ready");
    int pe = 0;
    std::string name;
    for (std::uint64_t value = 0; lines >> pe >> name >> value;) read[pe][name] = value;
    return read;
  }

 private:
  temporary_folder folder_;
  background_command job_;
};

inline std::string objects_job(int processes, int pes, const std::string& options = "") {
  return TRIREME_COMMAND " run -n " + std::to_string(processes) + " --pes " + std::to_string(pes) + " -- " +
         WATCHED_PROGRAM + (options.empty() ? "" : " " + options);
}

}  // namespace tri::testing
