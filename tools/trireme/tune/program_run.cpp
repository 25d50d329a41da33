#include "tune/program_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/unique_fd.hpp"

namespace tri::tools {
namespace {

os::unique_fd opened(const char* path, int how) {
  os::unique_fd file(open(path, how | O_CLOEXEC));
  if (!file) throw program_failed(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  return file;
}

}  // namespace

double run_program_once(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables,
                        bool silent, const std::string& errors_into) {
  os::start_request request;
  request.arguments = command;
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(fmt::format("{}={}", name, value));
  request.environment = os::environment_with(std::move(entries));
  os::unique_fd nowhere, errors;
  if (silent) {
    nowhere = opened("/dev/null", O_WRONLY);
    request.output = request.error = nowhere.get();
  }
  if (!errors_into.empty()) {
    errors = opened(errors_into.c_str(), O_WRONLY | O_TRUNC);
    request.error = errors.get();
  }
  const std::int64_t began_ns = os::now_ns();
  pid_t child = 0;
  try {
    child = os::start_program(request);
  } catch (const os::start_error& problem) {
    throw program_failed(problem.what());
  }
  const int status = os::wait_for(child);
  const double seconds = static_cast<double>(os::now_ns() - began_ns) * 1e-9;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return seconds;
  const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                              : fmt::format("ended with status {}", WEXITSTATUS(status));
  std::string settings;
  for (const auto& [name, value] : variables)  // but for files of ours, which are gone then
    if (!value.starts_with("/proc/")) settings += fmt::format("{}='{}' ", name, value);
  throw program_failed(fmt::format("the program {}; to see why: {}{}", how, settings, fmt::join(command, " ")));
}

}  // namespace tri::tools
