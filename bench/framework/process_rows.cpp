#include "framework/process_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "os/child_process.hpp"
#include "os/clock.hpp"

namespace tri::bench {
namespace {

// A running command with its standard output in a pipe. It stays in our process group, so that an interrupt from the
// terminal reaches it too. The destructor ends what still runs: politely first, because a launcher ends its own job
// then.
class child_process {
 public:
  explicit child_process(const std::vector<std::string>& command) {
    os::pipe_ends pipe = os::open_pipe();
    try {
      pid_ = os::start_program({.arguments = command, .output = pipe.write.get()});
    } catch (const os::start_error& failure) {
      throw std::runtime_error(fmt::format("cannot start it: {}", failure.what()));
    }
    output_ = std::move(pipe.read);
  }
  ~child_process() {
    output_.reset();
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    for (int wait_ms = 0; wait_ms < 2000; wait_ms += 10) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
      usleep(10'000);
    }
    os::kill_and_wait(pid_);
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  // Calls `on_line` for each line of the standard output until its end, or until the last line: true.
  bool read_lines(const std::function<void(const std::string&)>& on_line, double output_timeout_s,
                  const std::string& last_line) {
    std::string text;
    std::array<char, 4096> part{};
    std::int64_t deadline_ns = 0;
    for (bool heard = true;;) {
      if (std::exchange(heard, false)) deadline_ns = os::now_ns() + static_cast<std::int64_t>(output_timeout_s * 1e9);
      const std::int64_t left_ms = (deadline_ns - os::now_ns()) / 1'000'000;
      pollfd ready{output_.get(), POLLIN, 0};
      const int count = left_ms > 0 ? poll(&ready, 1, static_cast<int>(left_ms)) : 0;
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw std::runtime_error(fmt::format("nothing for {} s; killed", output_timeout_s));
      const ssize_t size = read(output_.get(), part.data(), part.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      heard = true;
      text.append(part.data(), static_cast<std::size_t>(size));
      for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
        const std::string line = text.substr(0, end);
        if (!last_line.empty() && line == last_line) return true;
        on_line(line);
      }
    }
    if (!text.empty()) on_line(text);
    return false;
  }

  // Whether it has come to its end within that time.
  bool ends_within(int limit_ms) const {
    siginfo_t how = {};
    for (int waited_ms = 0; waited_ms < limit_ms; waited_ms += 10) {
      if (waitid(P_PID, static_cast<id_t>(pid_), &how, WEXITED | WNOHANG | WNOWAIT) == 0 && how.si_pid == pid_)
        return true;
      usleep(10'000);
    }
    return false;
  }

  // Throws unless the command ended with status 0.
  void expect_success() {
    const int status = os::wait_for(std::exchange(pid_, 0));
    if (WIFSIGNALED(status)) throw std::runtime_error(fmt::format("ended by signal {}", WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0) throw std::runtime_error(fmt::format("exit status {}", WEXITSTATUS(status)));
  }

 private:
  pid_t pid_ = 0;
  os::unique_fd output_;
};

row row_in(const std::string& line) {
  try {
    return nlohmann::json::parse(line).get<row>();
  } catch (const std::exception& failure) {
    throw std::runtime_error(fmt::format("it printed a line that is not a row: {}: {}", line, failure.what()));
  }
}

}  // namespace

void process_lines(const std::vector<std::string>& command, const std::function<void(const std::string&)>& on_line,
                   double output_timeout_s, const std::string& last_line) {
  if (command.empty()) throw std::invalid_argument("process_lines needs a command");
  try {
    child_process child(command);
    constexpr int time_to_end_ms = 5000;
    if (child.read_lines(on_line, output_timeout_s, last_line) && !child.ends_within(time_to_end_ms)) return;
    child.expect_success();
  } catch (const std::exception& failure) {
    throw std::runtime_error(fmt::format("'{}': {}", fmt::join(command, " "), failure.what()));
  }
}

void process_rows(const std::vector<std::string>& command, const std::function<void(row)>& on_row,
                  double output_timeout_s) {
  process_lines(
      command,
      [&](const std::string& line) {
        if (line.starts_with('{')) {
          on_row(row_in(line));
        } else if (!line.empty()) {
          fmt::print(stderr, "{}\n", line);
        }
      },
      output_timeout_s);
}

}  // namespace tri::bench
