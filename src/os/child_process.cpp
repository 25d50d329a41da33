#include "os/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace tri::os {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// Throws failure(errno) when there is none.
template <class Failure>
pipe_ends new_pipe(const Failure& failure) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failure(errno);
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

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

// In a child, first of all. False, with errno: the system refuses.
bool end_with(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  if (getppid() == parent) return true;
  errno = ESRCH;  // it died before, or is in another namespace of process numbers
  return false;
}

// Where dup2() to 0, 1 and 2 leaves it open, and exec closes it.
int above_standard_streams(int fd) { return fd > STDERR_FILENO ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); }

// Between fork and exec: only calls that are safe there. Returns only when something failed, with errno.
void become(const start_request& request, pid_t parent, const char* path, char* const* arguments,
            char* const* environment) {
  if (!end_with(parent)) return;
  if (request.own_group && setpgid(0, 0) != 0) return;
  int wanted[3] = {request.input, request.output, request.error};
  for (int& each : wanted) {
    if (each < 0) continue;
    each = above_standard_streams(each);
    if (each < 0) return;
  }
  for (int i = 0; i < 3; ++i)
    if (wanted[i] >= 0 && dup2(wanted[i], i) < 0) return;
  struct rlimit files {};
  if (request.open_files != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = request.open_files;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  signal(SIGPIPE, SIG_DFL);  // a launcher ignores it
  if (request.signal_mask && sigprocmask(SIG_SETMASK, &*request.signal_mask, nullptr) != 0) return;
  execve(path, arguments, environment);
}

}  // namespace

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

bool has_program(const std::string& name) {
  try {
    find_program(name);
    return true;
  } catch (const start_error&) {
    return false;
  }
}

std::string shell_quoted(std::string_view text) {
  std::string made = "'";
  for (const char each : text) {
    if (each == '\'')
      made += "'\\''";
    else
      made += each;
  }
  return made + "'";
}

// Entries of the same name must not be there twice: the loader would take the last of two, the C library the first.
std::vector<std::string> environment_with(std::vector<std::string> entries) {
  const auto given = static_cast<std::ptrdiff_t>(entries.size());
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view own(*each);
    const auto names_the_same = [&](std::string_view one) {
      return one.substr(0, one.find('=')) == own.substr(0, own.find('='));
    };
    if (std::none_of(entries.begin(), entries.begin() + given, names_the_same)) entries.emplace_back(own);
  }
  return entries;
}

pid_t start_program(const start_request& request) {
  const std::string path = request.path.empty() ? find_program(request.arguments.at(0)) : request.path;
  const auto failure = [&](int error) {
    return start_error(fmt::format("cannot start '{}': {}", path, reason(error)));
  };
  const std::vector<char*> arguments = pointers(request.arguments);
  const std::vector<char*> environment = pointers(request.environment);
  pipe_ends error_pipe = new_pipe(failure);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw failure(errno);
  if (pid == 0) {
    const int to_parent = above_standard_streams(error_pipe.write.get());
    become(request, parent, path.c_str(), arguments.data(), environment.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t told = write(to_parent, &error, sizeof error);
    _exit(127);
  }
  // The exec closes the pipe; what comes out of it before is the error of a failed one.
  error_pipe.write.reset();
  int error = 0;
  ssize_t length = 0;
  do length = read(error_pipe.read.get(), &error, sizeof error);
  while (length < 0 && errno == EINTR);
  if (length == sizeof error) {
    wait_for(pid);
    throw failure(error);
  }
  return pid;
}

pid_t start_function(const std::function<int()>& body) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "cannot fork");
  // What it throws must not come into the copy of the caller.
  if (pid == 0) [&]() noexcept { _exit(end_with(parent) ? body() : 127); }();
  return pid;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int kill_and_wait(pid_t child) {
  if (child <= 0) return 0;  // kill() would take it for a group
  kill(child, SIGKILL);
  return wait_for(child);
}

program_end run_program(start_request request) {
  pipe_ends pipe = open_pipe();
  request.output = pipe.write.get();
  const pid_t child = start_program(request);
  pipe.write.reset();
  program_end end;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = read(pipe.read.get(), part.data(), part.size())) != 0;) {
    if (size > 0) end.output.append(part.data(), static_cast<std::size_t>(size));
    if (size < 0 && errno != EINTR) break;
  }
  end.status = wait_for(child);
  return end;
}

pipe_ends open_pipe() {
  return new_pipe([](int error) { return std::system_error(error, std::generic_category(), "cannot open a pipe"); });
}

}  // namespace tri::os
