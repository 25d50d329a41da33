#include "launch/host_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <utility>

#include "checkpoint/survival_files.hpp"
#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/folder.hpp"
#include "os/packet_socket.hpp"

namespace tri::launch {
namespace {

constexpr std::string_view place = "/dev/shm/", prefix = "trireme-memory-";

// Between two starts of a job nothing holds the lock, but that takes seconds.
void remove_left() {
  constexpr std::time_t oldest_s = 3600;
  for (const std::string& name : os::names_in(std::string(place))) {
    if (!name.starts_with(prefix)) continue;
    const std::string path = fmt::format("{}{}", place, name);
    const os::unique_fd folder = os::open_own_folder(path);
    struct stat found {};
    if (!folder || fstat(folder.get(), &found) != 0 || std::time(nullptr) - found.st_mtime < oldest_s) continue;
    if (flock(folder.get(), LOCK_EX | LOCK_NB) == 0) os::remove_tree(path);
  }
}

}  // namespace

std::string new_host_memory() { return fmt::format("{}{}{}-{}", place, prefix, getpid(), os::random_text()); }

bool host_memory::is_one(const std::string& path) {
  const std::string_view text = path;
  return text.starts_with(place) && text.substr(place.size()).starts_with(prefix) &&
         text.find('/', place.size()) == std::string_view::npos;
}

host_memory::host_memory(std::string path) : path_(std::move(path)) {
  remove_left();
  if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
    throw std::runtime_error(fmt::format("{}: cannot be made: {}", path_, std::strerror(errno)));
  lock_ = os::open_own_folder(path_);
  if (!lock_) throw std::runtime_error(fmt::format("{}: is not a folder of this user", path_));
  flock(lock_.get(), LOCK_SH | LOCK_NB);
  futimens(lock_.get(), nullptr);  // in use now
}

std::uint64_t host_memory::last_checkpoint() const {
  const auto found = checkpoint_files::find_checkpoint(path_);
  return found ? found->token : 0;
}

void host_memory::is_left() const { futimens(lock_.get(), nullptr); }

void host_memory::remove() { os::remove_tree(path_); }

void forget_host_memory(const std::string& path) {
  if (host_memory::is_one(path) && os::open_own_folder(path)) os::remove_tree(path);
}

void forget_on_hosts(const std::vector<std::string>& remote_shell, const std::string& agent,
                     const std::vector<std::string>& hosts, const std::string& path, const sigset_t& signal_mask) {
  constexpr std::int64_t timeout_ns = 5'000'000'000;
  const os::unique_fd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  std::vector<pid_t> shells;
  for (const std::string& host : hosts) {
    os::start_request request;
    request.arguments = remote_shell;
    request.arguments.push_back(host);
    request.arguments.push_back(
        fmt::format("exec {} agent --forget {}", os::shell_quoted(agent), os::shell_quoted(path)));
    request.input = request.output = request.error = nothing.get();
    request.signal_mask = signal_mask;
    try {
      shells.push_back(start_program(request));
    } catch (const std::exception&) {  // the host's memory stays until a later agent comes
    }
  }
  const std::int64_t until_ns = os::now_ns() + timeout_ns;
  for (const pid_t shell : shells) {
    int status = 0;
    while (waitpid(shell, &status, WNOHANG) == 0) {
      if (os::now_ns() < until_ns) {
        poll(nullptr, 0, 5);
        continue;
      }
      os::kill_and_wait(shell);
      break;
    }
  }
}

}  // namespace tri::launch
