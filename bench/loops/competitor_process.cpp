#include "loops/competitor_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "os/child_process.hpp"

namespace tri::bench {
namespace {

// The environment with every runtime set to two threads on the two cores.
std::vector<std::string> environment_of(const std::string& which, const comparison_setup& setup,
                                        const std::string& preload) {
  std::vector<std::string> settings = {"TRIREME_PES=2",
                                       fmt::format("TRIREME_AFFINITY={},{}", setup.first_cpu, setup.second_cpu),
                                       "OMP_NUM_THREADS=2", "OMP_DYNAMIC=false"};
  if (which != "openmp") {
    // The library of OpenMP binds the main thread as soon as it is there, used or not.
  } else if (preload.empty()) {
    settings.emplace_back("OMP_PROC_BIND=true");
    settings.push_back(fmt::format("OMP_PLACES={{{}}},{{{}}}", setup.first_cpu, setup.second_cpu));
  } else {
    // The runtime that was linked is there as well and must not bind anything; the other heeds a variable of its own.
    settings.push_back("LD_PRELOAD=" + preload);
    settings.push_back(
        fmt::format("KMP_AFFINITY=granularity=fine,proclist=[{},{}],explicit", setup.first_cpu, setup.second_cpu));
  }
  const auto is_of_a_runtime = [](const std::string& entry) {
    return entry.starts_with("TRIREME_") || entry.starts_with("OMP_") || entry.starts_with("GOMP_") ||
           entry.starts_with("KMP_");
  };
  std::vector<std::string> all = os::environment_with(settings);
  const auto inherited = all.begin() + static_cast<std::ptrdiff_t>(settings.size());
  all.erase(std::remove_if(inherited, all.end(), is_of_a_runtime), all.end());
  return all;
}

}  // namespace

competitor_process::competitor_process(const std::string& program, const std::string& which,
                                       const comparison_setup& setup, const std::string& preload)
    : which_(which) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error(fmt::format("socketpair: {}", std::strerror(errno)));
  connection_.reset(ends[0]);
  {
    const os::unique_fd of_child(ends[1]);
    pid_ = os::start_program({.arguments = {program, "bench", "--loop-competitor", which},
                              .path = program,
                              .environment = environment_of(which, setup, preload),
                              .input = of_child.get(),
                              .output = of_child.get()});
  }
  try {
    name_ = ask(fmt::format("setup {} {} {}", setup.steps_per_us, setup.first_cpu, setup.second_cpu));
    while (true) {
      std::string line = read_line();
      if (line.empty()) break;
      schedules_.push_back(std::move(line));
    }
    stop();
  } catch (...) {
    os::kill_and_wait(pid_);
    throw;
  }
}

competitor_process::~competitor_process() { os::kill_and_wait(pid_); }

// Returns when every thread of the process has stopped.
void competitor_process::stop() {
  int status = 0;
  if (kill(pid_, SIGSTOP) != 0 || waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status))
    throw std::runtime_error(fmt::format("the loop competitor '{}' has ended", which_));
}

void competitor_process::go_on() { kill(pid_, SIGCONT); }

std::string competitor_process::read_line() {
  constexpr int patience_ms = 60'000;
  for (;;) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    pollfd ready{connection_.get(), POLLIN, 0};
    const int count = poll(&ready, 1, patience_ms);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) throw std::runtime_error(fmt::format("the loop competitor '{}' does not answer", which_));
    std::array<char, 1024> part{};
    const ssize_t size = read(connection_.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) throw std::runtime_error(fmt::format("the loop competitor '{}' has ended", which_));
    received_.append(part.data(), static_cast<std::size_t>(size));
  }
}

std::string competitor_process::ask(const std::string& line) {
  const std::string text = line + '\n';
  if (send(connection_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error(fmt::format("the loop competitor '{}' has ended", which_));
  return read_line();
}

batch_reply competitor_process::run(const batch_request& request) {
  go_on();
  std::istringstream words(ask(fmt::format("run {} {} {} {} {:d}", static_cast<std::uint32_t>(request.which),
                                           request.schedule, request.warm_up, request.loops, request.first)));
  stop();
  batch_reply reply;
  if (!(words >> reply.loop_ns >> reply.disturbed >> reply.difference >> reply.wrong) || !(reply.loop_ns > 0))
    throw std::runtime_error(fmt::format("the loop competitor '{}' answered '{}'", which_, words.str()));
  if (reply.wrong)
    throw std::runtime_error(fmt::format("{}/{}: the result of the loops is not that of one thread", name_,
                                         schedules_.at(request.schedule)));
  return reply;
}

double competitor_process::shared_part(std::size_t schedule) {
  go_on();
  const std::string answer = ask(fmt::format("shared {}", schedule));
  stop();
  return std::stod(answer);
}

}  // namespace tri::bench
