#include "sweep/measured_run.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/process_tree.hpp"
#include "tune/program_run.hpp"

namespace tri::tools {
namespace {

// The kernel walks through the memory of a process to account for it, so not more often; the first look is early, for
// short jobs.
constexpr int first_look_ms = 5;
constexpr int most_between_looks_ms = 100;

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Follows what the job writes, line by line.
class output_reader {
 public:
  explicit output_reader(const run_request& request) : request_(request) {}

  void take(std::string_view bytes) {
    if (request_.show_output) std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    if (request_.figure == nullptr) return;
    unfinished_ += bytes;
    for (std::size_t end = 0; (end = unfinished_.find('\n')) != std::string::npos; unfinished_.erase(0, end + 1))
      look_at(unfinished_.substr(0, end));
  }

  /// At the end of all output.
  std::optional<double> figure() {
    if (!unfinished_.empty()) look_at(unfinished_);
    return figure_;
  }

 private:
  void look_at(const std::string& line) {
    const std::optional<std::string> text = request_.figure->first_group(line);
    if (!text) return;
    const std::optional<double> number = number_in(*text);
    if (!number) throw program_failed(fmt::format("--figure: '{}' in the line '{}' is not a number", *text, line));
    figure_ = number;
  }

  const run_request& request_;
  std::string unfinished_;
  std::optional<double> figure_;
};

void look_at_memory(pid_t launcher, run_figures& into) {
  std::vector<pid_t> job = os::descendants();
  std::erase(job, launcher);
  const process_memory now = memory_of_all(job);
  if (now.resident_bytes == 0) return;  // not started yet, or ended
  ++into.samples;
  into.peak.resident_bytes = std::max(into.peak.resident_bytes, now.resident_bytes);
  if (now.proportional_bytes)
    into.peak.proportional_bytes = std::max(into.peak.proportional_bytes.value_or(0), *now.proportional_bytes);
}

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                             : fmt::format("ended with status {}", WEXITSTATUS(status));
}

// Until no process of the job can write any more.
void follow(int output, pid_t launcher, output_reader& reader, run_figures& into) {
  int wait_ms = first_look_ms;
  std::array<char, 65536> buffer{};
  std::int64_t next_look_ns = os::now_ns() + std::int64_t{wait_ms} * 1'000'000;
  for (;;) {
    const std::int64_t left_ns = next_look_ns - os::now_ns();
    if (left_ns <= 0) {
      look_at_memory(launcher, into);
      wait_ms = std::min(2 * wait_ms, most_between_looks_ms);
      next_look_ns = os::now_ns() + std::int64_t{wait_ms} * 1'000'000;
      continue;
    }
    pollfd what{.fd = output, .events = POLLIN, .revents = 0};
    if (poll(&what, 1, static_cast<int>(left_ns / 1'000'000) + 1) <= 0) continue;
    const ssize_t bytes = read(output, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return;
    reader.take({buffer.data(), static_cast<std::size_t>(bytes)});
  }
}

}  // namespace

run_figures run_measured(const run_request& request) {
  os::pipe_ends output = os::open_pipe();
  os::start_request start;
  start.arguments = request.command;
  start.output = output.write.get();
  run_figures found;
  output_reader reader(request);
  const std::int64_t began_ns = os::now_ns();
  pid_t launcher = 0;
  try {
    launcher = os::start_program(start);
  } catch (const os::start_error& problem) {
    throw program_failed(problem.what());
  }
  output.write.reset();
  try {
    follow(output.read.get(), launcher, reader, found);
    found.figure = reader.figure();
  } catch (...) {
    os::kill_and_wait(launcher);  // its processes end with it
    throw;
  }
  const int status = os::wait_for(launcher);
  found.seconds = static_cast<double>(os::now_ns() - began_ns) * 1e-9;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw program_failed(fmt::format("'{}' {}", fmt::join(request.command, " "), how_it_ended(status)));
  if (request.figure != nullptr && !found.figure)
    throw program_failed(fmt::format("--figure: no line of the output of '{}' matches; --show-output shows them",
                                     fmt::join(request.command, " ")));
  return found;
}

}  // namespace tri::tools
