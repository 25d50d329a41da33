#include "tune/program_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/clock.hpp"
#include "host/unique_fd.hpp"

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

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

double run_program_once(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables,
                        bool silent, const std::string& errors_into) {
  std::vector<std::string> words = command;
  std::vector<std::string> environment = environment_with(variables);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> entries = pointers_to(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (silent) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  if (!errors_into.empty())
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors_into.c_str(), O_WRONLY | O_TRUNC, 0);
  pid_t child = 0;
  const std::int64_t began_ns = host::now_ns();
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), entries.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw program_failed(fmt::format("cannot start {}: {}", command[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const double seconds = static_cast<double>(host::now_ns() - began_ns) * 1e-9;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return seconds;
  const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                              : fmt::format("ended with status {}", WEXITSTATUS(status));
  std::string settings;
  for (const auto& [name, value] : variables) settings += fmt::format("{}='{}' ", name, value);
  throw program_failed(fmt::format("the program {}; to see why: {}{}", how, settings, fmt::join(command, " ")));
}

}  // namespace tri::tools
