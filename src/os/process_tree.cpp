#include "os/process_tree.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "os/clock.hpp"
#include "os/folder.hpp"

namespace tri::os {
namespace {

struct parent_and_state {
  pid_t parent;
  char state;
  unsigned long flags;  // PF_... of the kernel's sched.h
};

// From /proc/<pid>/stat: "pid (name) state parent ..."; the name may hold blanks and parentheses.
bool read_stat(pid_t pid, parent_and_state& into) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return false;
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= line.size()) return false;
  into.state = line[name_end + 2];
  into.parent = static_cast<pid_t>(std::strtol(line.c_str() + name_end + 3, nullptr, 10));
  // Behind it: group, session, terminal, group of the terminal, flags.
  std::istringstream rest(line.substr(name_end + 3));
  std::string skipped;
  for (int field = 0; field < 5; ++field) rest >> skipped;
  into.flags = 0;
  rest >> into.flags;
  return true;
}

std::map<pid_t, std::vector<pid_t>> living_children() {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const std::string& name : names_in("/proc")) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    parent_and_state found{};
    if (error != std::errc() || end != name.data() + name.size() || !read_stat(pid, found)) continue;
    if (found.state != 'Z' && found.state != 'X') children[found.parent].push_back(pid);
  }
  return children;
}

std::vector<pid_t> descendants_without(pid_t spared) {
  const auto children = living_children();
  std::vector<pid_t> found{getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto below = children.find(found[i]);
    if (below == children.end()) continue;
    for (pid_t child : below->second)
      if (child != spared) found.push_back(child);
  }
  found.erase(found.begin());
  return found;
}

}  // namespace

bool is_exiting(pid_t process) {
  constexpr unsigned long exiting = 0x4;  // PF_EXITING
  parent_and_state found{};
  return read_stat(process, found) && (found.state == 'Z' || found.state == 'X' || (found.flags & exiting) != 0);
}

pid_t parent_of(pid_t process) {
  parent_and_state found{};
  return read_stat(process, found) ? found.parent : 0;
}

std::vector<pid_t> descendants() { return descendants_without(0); }

std::size_t signal_descendants(int signal, pid_t spared) {
  const std::vector<pid_t> all = descendants_without(spared);
  for (pid_t each : all) kill(each, signal);
  return all.size();
}

void end_descendants(const std::function<void()>& meanwhile) {
  constexpr std::int64_t grace_ns = 300'000'000;
  const std::int64_t kill_from = now_ns() + grace_ns;
  for (int signal = SIGTERM; true; signal = now_ns() < kill_from ? 0 : SIGKILL) {
    const bool all_ended = signal_descendants(signal, 0) == 0;  // before they are reaped: no zombie is left behind
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (all_ended) return;
    meanwhile();
    poll(nullptr, 0, 2);
  }
}

}  // namespace tri::os
