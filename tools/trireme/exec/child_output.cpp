#include "exec/child_output.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

extern char** environ;

namespace tri::tools {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& each : words) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Without our own entries of the same names: the loader would take the last of two, the C library the first.
std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry(*each);
    const std::string_view name = entry.substr(0, entry.find('=') + 1);
    if (std::none_of(variables.begin(), variables.end(), [&](const std::string& one) { return one.starts_with(name); }))
      all.emplace_back(entry);
  }
  return all;
}

}  // namespace

std::string output_of(const std::string& program, const std::vector<std::string>& arguments,
                      const std::vector<std::string>& variables) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = environment_with(variables);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, pointers_to(words).data(),
                                pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> piece{};
  while (error == 0) {
    const ssize_t got = read(ends[0], piece.data(), piece.size());
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  close(ends[0]);
  while (error == 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text;
}

std::string loader_list(const std::string& program, const std::string& preload) {
  std::vector<std::string> variables{"LD_TRACE_LOADED_OBJECTS=1"};
  if (!preload.empty()) variables.push_back("LD_PRELOAD=" + preload);
  return output_of(program, {}, variables);
}

}  // namespace tri::tools
