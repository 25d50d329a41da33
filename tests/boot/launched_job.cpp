#include "launched_job.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <sstream>

#include "launch/exit_status.hpp"
#include "os/child_process.hpp"
#include "os/process_tree.hpp"

namespace tri::boot::testing {

launch::launch_options probe(int processes, std::vector<std::string> arguments) {
  launch::launch_options options;
  options.processes = processes;
  options.command = std::move(arguments);
  options.command.insert(options.command.begin(), JOB_PROBE);
  options.environment = {{"TRIREME_PES", "1"}};
  return options;
}

launched_job::launched_job(const launch::launch_options& options, int standard_output, int standard_error)
    : output_(memfd_create("output", MFD_CLOEXEC)) {
  prepare();
  launcher_ = os::start_function([&] {
    setpgid(0, 0);
    dup2(standard_output < 0 ? output_.get() : standard_output, STDOUT_FILENO);
    dup2(standard_error < 0 ? output_.get() : standard_error, STDERR_FILENO);
    try {
      return launch::launch(options);
    } catch (const std::exception& problem) {
      dprintf(STDERR_FILENO, "launch: %s\n", problem.what());
      return 126;
    }
  });
  setpgid(launcher_, launcher_);
}

launched_job::launched_job(const std::vector<std::string>& command) : output_(memfd_create("output", MFD_CLOEXEC)) {
  prepare();
  launcher_ =
      os::start_program({.arguments = command, .output = output_.get(), .error = output_.get(), .own_group = true});
}

void launched_job::prepare() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of a killed launcher come to us, so that we can reap them
  fcntl(output_.get(), F_SETFL, O_APPEND);
  others_ = os::descendants();
}

launched_job::~launched_job() {
  if (waited_ && !anything_left()) return;
  kill(-launcher_, SIGKILL);
  for (const pid_t each : left()) kill(each, SIGKILL);
  wait_until_nothing_is_left();
}

int launched_job::wait() {
  const int status = os::wait_for(launcher_);
  waited_ = true;
  return launch::shell_status(status);
}

std::string launched_job::output() const {
  std::string text;
  char buffer[4096];
  for (ssize_t length = 0;
       (length = pread(output_.get(), buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(length));
  }
  return text;
}

void launched_job::wait_for_lines(const std::string& line, int count) const {
  while (true) {
    std::istringstream lines(output());
    int found = 0;
    for (std::string each; std::getline(lines, each);) found += each == line ? 1 : 0;
    if (found >= count) return;
    usleep(1000);
  }
}

std::vector<pid_t> launched_job::left() const {
  std::vector<pid_t> ours = os::descendants();
  std::erase_if(ours, [&](pid_t each) { return std::find(others_.begin(), others_.end(), each) != others_.end(); });
  return ours;
}

bool launched_job::anything_left() const { return kill(-launcher_, 0) == 0 || !left().empty(); }

void launched_job::wait_until_nothing_is_left() const {
  while (anything_left()) {
    waitpid(-1, nullptr, WNOHANG);
    usleep(1000);
  }
}

}  // namespace tri::boot::testing
