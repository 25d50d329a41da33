#include "tune/program_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/clock.hpp"
#include "os/process_tree.hpp"
#include "os/unique_fd.hpp"

namespace tri::tools {
namespace {

std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string entry = *each;
    if (!variables.contains(entry.substr(0, entry.find('=')))) all.push_back(entry);
  }
  for (const auto& [name, value] : variables) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

host::unique_fd opened(const char* path, int how) {
  host::unique_fd file(open(path, how | O_CLOEXEC));
  if (!file) throw program_failed(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  return file;
}

}  // namespace

double run_program_once(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables,
                        bool silent, const std::string& errors_into) {
  host::start_request request;
  request.arguments = command;
  request.environment = environment_with(variables);
  sigprocmask(SIG_SETMASK, nullptr, &request.signal_mask);
  host::unique_fd nowhere, errors;
  if (silent) {
    nowhere = opened("/dev/null", O_WRONLY);
    request.output = request.error = nowhere.get();
  }
  if (!errors_into.empty()) {
    errors = opened(errors_into.c_str(), O_WRONLY | O_TRUNC);
    request.error = errors.get();
  }
  const std::int64_t began_ns = host::now_ns();
  pid_t child = 0;
  try {
    request.path = host::find_program(command[0]);
    child = host::start_program(request);
  } catch (const host::start_error& problem) {
    throw program_failed(problem.what());
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const double seconds = static_cast<double>(host::now_ns() - began_ns) * 1e-9;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return seconds;
  const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                              : fmt::format("ended with status {}", WEXITSTATUS(status));
  std::string settings;
  for (const auto& [name, value] : variables)  // but for files of ours, which are gone then
    if (!value.starts_with("/proc/")) settings += fmt::format("{}='{}' ", name, value);
  throw program_failed(fmt::format("the program {}; to see why: {}{}", how, settings, fmt::join(command, " ")));
}

}  // namespace tri::tools
