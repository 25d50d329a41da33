#include "os/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>

#include "os/clock.hpp"
#include "os/unique_fd.hpp"

namespace tri::host {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

bool is_folder(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> made;
  for (const std::string& each : strings)
    made.push_back(const_cast<char*>(each.c_str()));  // exec does not write to them
  made.push_back(nullptr);
  return made;
}

// Between fork and exec: only calls that are safe there. Returns only when something failed, with errno.
void become(const start_request& request, pid_t launcher, char* const* arguments, char* const* environment) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
  if (getppid() != launcher) _exit(127);  // the launcher died before the line above
  if (request.own_group && setpgid(0, 0) != 0) return;
  const int wanted[3] = {request.input, request.output, request.error};
  for (int i = 0; i < 3; ++i)
    if (wanted[i] >= 0 && dup2(wanted[i], i) < 0) return;
  struct rlimit files {};
  if (request.open_files != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = request.open_files;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  signal(SIGPIPE, SIG_DFL);  // the launcher ignores it
  if (sigprocmask(SIG_SETMASK, &request.signal_mask, nullptr) != 0) return;
  execve(request.path.c_str(), arguments, environment);
}

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
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return children;
  for (const dirent* entry = nullptr; (entry = readdir(folder.get())) != nullptr;) {
    const std::string_view name = entry->d_name;
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

std::string find_program(const std::string& name) {
  if (name.empty()) throw start_error("no program is given");
  const bool is_path = name.find('/') != std::string::npos;
  std::string unusable;
  const char* const path = std::getenv("PATH");
  std::string folders = is_path ? "" : path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string folder = folders.substr(begin, end - begin);
    std::string candidate = is_path ? name : (folder.empty() ? "." : folder) + "/" + name;
    if (is_folder(candidate)) {
      unusable = fmt::format("'{}' is a folder, not a program", candidate);
    } else if (access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    } else if (access(candidate.c_str(), F_OK) == 0) {
      unusable =
          fmt::format("'{}' is not executable ({}); chmod +x it, or start its interpreter", candidate, reason(EACCES));
    }
    begin = end + 1;
  }
  if (!unusable.empty()) throw start_error(unusable);
  if (!is_path && access(name.c_str(), X_OK) == 0 && !is_folder(name)) {
    throw start_error(fmt::format("there is no program '{}' in PATH, but one in this folder: write ./{}", name, name));
  }
  throw start_error(is_path ? fmt::format("there is no program '{}' ({})", name, reason(ENOENT))
                            : fmt::format("there is no program '{}' in PATH", name));
}

pid_t start_program(const start_request& request) {
  const std::vector<char*> arguments = pointers(request.arguments);
  const std::vector<char*> environment = pointers(request.environment);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw start_error(fmt::format("cannot start '{}': {}", request.path, reason(errno)));
  unique_fd read_end(ends[0]);
  unique_fd write_end(ends[1]);
  const pid_t launcher = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw start_error(fmt::format("cannot start '{}': {}", request.path, reason(errno)));
  if (pid == 0) {
    become(request, launcher, arguments.data(), environment.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t told = write(write_end.get(), &error, sizeof error);
    _exit(127);
  }
  // The exec closes the pipe; what comes out of it before is the error of a failed one.
  write_end.reset();
  int error = 0;
  ssize_t length = 0;
  do length = read(read_end.get(), &error, sizeof error);
  while (length < 0 && errno == EINTR);
  if (length == sizeof error) {
    waitpid(pid, nullptr, 0);
    throw start_error(fmt::format("cannot start '{}': {}", request.path, reason(error)));
  }
  return pid;
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

}  // namespace tri::host
