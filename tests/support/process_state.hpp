// What /proc says of processes and threads, for tests that wait until one has stopped, sleeps or has ended.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tri::testing {

/// Of the folder of a process or of one of its threads: R runs or wants to, S sleeps, T is stopped, Z has ended, as in
/// "pid (name) state ..."; X when it is gone.
inline char state_in(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto behind_name = text.rfind(") ");
  return behind_name == std::string::npos ? 'X' : text[behind_name + 2];
}

inline char state_of_process(pid_t process) { return state_in("/proc/" + std::to_string(process)); }

/// How often its first thread has gone to sleep; empty when it is gone.
inline std::string waits_of(pid_t process) {
  std::ifstream lines("/proc/" + std::to_string(process) + "/status");
  std::string line;
  while (std::getline(lines, line) && !line.starts_with("voluntary_ctxt_switches:")) line.clear();
  return line;
}

/// All threads of this process but the one that asks.
inline bool other_threads_sleep() {
  const std::string own = std::to_string(gettid());
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::all_of(begin(threads), end(threads),
                     [&](const auto& each) { return each.path().filename() == own || state_in(each.path()) == 'S'; });
}

}  // namespace tri::testing
