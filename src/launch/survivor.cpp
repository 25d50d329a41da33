#include "launch/survivor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "checkpoint/memory_folder.hpp"
#include "checkpoint/survival_files.hpp"
#include "launch/host_memory.hpp"
#include "launch/survival.hpp"
#include "os/clock.hpp"
#include "os/folder.hpp"
#include "os/text_file.hpp"
#include "os/unique_fd.hpp"

namespace tri::launch {
namespace {

constexpr const char* memory = "/dev/shm";

/// Folders of launchers, in memory: "trireme-survive-<user>-<process>". A link "elsewhere" in one leads to the folder
/// that the user has named.
std::string prefix_of_user() { return fmt::format("trireme-survive-{}-", geteuid()); }
std::string path_for(int launcher) { return fmt::format("{}/{}{}", memory, prefix_of_user(), launcher); }

/// Jobs to whose hosts no request comes.
std::string path_of_mark(const std::string& own_folder) { return own_folder + "/without-resize"; }
void mark_without_resize(const std::string& own_folder) {
  const os::unique_fd made(open(path_of_mark(own_folder).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

// What launchers of this user have left that were killed. The kernel has given up their locks.
void remove_left() {
  const std::string prefix = prefix_of_user();
  for (const std::string& name : os::names_in(memory)) {
    if (!name.starts_with(prefix)) continue;
    const std::string path = fmt::format("{}/{}", memory, name);
    const os::unique_fd folder = os::open_own_folder(path);
    if (folder && flock(folder.get(), LOCK_EX | LOCK_NB) == 0) os::remove_tree(path);
  }
}

// Another launcher may take the folder for one that was left, before it has its lock.
os::unique_fd make_locked(const std::string& path) {
  constexpr int most_attempts = 10;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (mkdir(path.c_str(), 0700) != 0) break;
    os::unique_fd folder = os::open_own_folder(path);
    struct stat locked {};
    struct stat there {};
    if (folder && flock(folder.get(), LOCK_EX | LOCK_NB) == 0 && fstat(folder.get(), &locked) == 0 &&
        lstat(path.c_str(), &there) == 0 && locked.st_ino == there.st_ino)
      return folder;
  }
  throw std::runtime_error(fmt::format("{}: cannot be made: {}", path, std::strerror(errno)));
}

/// The folder of this launcher, with its lock, as long as the job lives.
class own_folder {
 public:
  explicit own_folder(const std::string& elsewhere) : path_(path_for(getpid())), shared_(path_) {
    remove_left();
    lock_ = make_locked(path_);
    if (elsewhere.empty()) return;
    shared_ = fmt::format("{}/trireme-survive-{}", std::filesystem::absolute(elsewhere).string(), getpid());
    std::error_code error;
    std::filesystem::create_directories(shared_, error);
    if (!error) std::filesystem::create_directory_symlink(shared_, path_ + "/elsewhere", error);
    if (error) {
      const std::string why = fmt::format("{}: cannot be made: {}", shared_, error.message());
      os::remove_tree(path_);
      throw std::runtime_error(why);
    }
  }
  ~own_folder() {
    os::remove_tree(shared_);
    os::remove_tree(path_);
  }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  /// What the processes are given.
  const std::string& path() const { return shared_; }

 private:
  const std::string path_;
  std::string shared_;
  os::unique_fd lock_;
};

std::uint64_t token_of_last(const std::string& folder) {
  const auto found = checkpoint_files::find_checkpoint(folder);
  return found ? found->token : 0;
}

/// Signals that wait, as long as this lives, for who takes them: the launcher_mode of the next life. Otherwise one that
/// comes between two lives would end the launcher, and leave its folder.
class blocked_signals {
 public:
  explicit blocked_signals(std::initializer_list<int> signals) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int each : signals) sigaddset(&blocked, each);
    sigprocmask(SIG_BLOCK, &blocked, &before_);
  }
  ~blocked_signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

// What is wrong with the file does not end the job.
void request_from_file(const std::string& survival_folder, const std::string& path) {
  std::string line;
  const bool is_there = os::text_file(path).next_line(line);
  int processes = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), processes);
  if (error != std::errc() || end != line.data() + line.size() || processes < 1 ||
      processes > most_launched_processes) {
    fmt::print(stderr, "trireme: SIGUSR1: {}: {}; the job stays as it is\n", path,
               is_there ? fmt::format("'{}' in its first line is not a number of processes, 1 .. {}", line,
                                      most_launched_processes)
                        : "has no first line with a number of processes");
    return;
  }
  try {
    checkpoint_files::request_processes(survival_folder, processes);
    fmt::print(stderr, "trireme: SIGUSR1: from its next checkpoint on, the job has {} process{}\n", processes,
               processes == 1 ? "" : "es");
  } catch (const std::exception& problem) {
    fmt::print(stderr, "trireme: SIGUSR1: {}\n", problem.what());
  }
}

/// They go with the job. The shells that remove them have the signal mask of the job's processes: ours
/// would stay blocked in them.
class memories_of_hosts {
 public:
  memories_of_hosts(const launch_options& options, std::string path, const sigset_t& signal_mask)
      : shell_(options.remote_shell),
        agent_(options.agent),
        hosts_(options.hosts),
        path_(std::move(path)),
        signal_mask_(signal_mask) {}
  ~memories_of_hosts() { forget_on_hosts(shell_, agent_, hosts_, path_, signal_mask_); }
  memories_of_hosts(const memories_of_hosts&) = delete;
  memories_of_hosts& operator=(const memories_of_hosts&) = delete;

 private:
  const std::vector<std::string> shell_;
  const std::string agent_;
  const std::vector<std::string> hosts_;
  const std::string path_;
  const sigset_t signal_mask_;
};

// Each emulated host needs a process.
void emulate_at_most(int processes, std::vector<std::pair<std::string, std::string>>& environment) {
  for (auto& [name, value] : environment)
    if (name == "TRIREME_HOSTS" && std::atoi(value.c_str()) > processes) value = std::to_string(processes);
}

}  // namespace

int launch_surviving(launch_options options, const survival_options& how) {
  const blocked_signals between_lives(how.resize_file.empty()
                                          ? std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP, SIGQUIT}
                                          : std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1});
  options.mask_of_processes = &between_lives.before();
  const own_folder own(how.folder);
  if (!how.folder.empty()) checkpoint_files::mark_as_shared(own.path());
  if (!how.resize_file.empty()) {
    options.further_signal = SIGUSR1;
    options.on_further_signal = [&] { request_from_file(own.path(), how.resize_file); };
  }
  const bool has_memories = !options.hosts.empty() && how.folder.empty();
  const std::string states = has_memories ? new_host_memory() : own.path();
  const memories_of_hosts memories(has_memories ? options : launch_options{}, states, between_lives.before());
  if (has_memories) mark_without_resize(own.path());
  options.environment.emplace_back("TRIREME_SURVIVE", states);
  survival fate(options.processes, static_cast<int>(options.hosts.size()), how.after_loss);
  const std::vector<std::string> all_hosts = options.hosts;
  const std::int64_t begin_ns = os::now_ns();
  const double timeout_s = options.timeout_s;
  std::set<std::uint64_t> known;  // checkpoints in memories of hosts
  for (;;) {
    const std::uint64_t before = token_of_last(own.path());
    const launch_outcome outcome = launch_once(options);
    ended_processes life;
    life.status = outcome.status;
    life.requested_status = outcome.requested_status;
    life.lost = outcome.lost_process;
    life.lost_processes = static_cast<int>(outcome.lost_processes.size());
    for (const int process : outcome.lost_processes) checkpoint_files::lose_memory_of(own.path(), process);
    for (const int host : outcome.lost_machines) {
      const std::string& name = options.hosts[static_cast<std::size_t>(host)];
      life.lost_hosts.push_back(static_cast<int>(std::ranges::find(all_hosts, name) - all_hosts.begin()));
    }
    life.has_new_checkpoint = token_of_last(own.path()) != before;
    for (const std::uint64_t each : outcome.last_checkpoints)
      life.has_new_checkpoint = known.insert(each).second || life.has_new_checkpoint;
    if (outcome.status == checkpoint_files::resize_status)
      life.wanted_processes = checkpoint_files::requested_processes(own.path());
    if (life.wanted_processes) checkpoint_files::forget_request(own.path());  // after a loss it still waits
    const survival::decision next = fate.after(life);
    if (!next.text.empty()) fmt::print(stderr, "trireme: {}\n", next.text);
    if (next.ends_with) return *next.ends_with;
    options.processes = next.processes;
    options.hosts_may_be_lost = true;  // the first start has found all of them
    emulate_at_most(options.processes, options.environment);
    options.hosts.clear();
    for (const int host : next.hosts) options.hosts.push_back(all_hosts[static_cast<std::size_t>(host)]);
    if (options.hosts.size() > static_cast<std::size_t>(options.processes))
      options.hosts.resize(static_cast<std::size_t>(options.processes));
    if (timeout_s > 0)  // of all lives together
      options.timeout_s = std::max(0.001, timeout_s - static_cast<double>(os::now_ns() - begin_ns) * 1e-9);
  }
}

void resize_job(int launcher, int processes) {
  const std::string path = path_for(launcher);
  const os::unique_fd folder = os::open_own_folder(path);
  // Who gets the lock has found what a killed launcher has left.
  if (!folder || flock(folder.get(), LOCK_SH | LOCK_NB) == 0)
    throw std::runtime_error(fmt::format(
        "process {} of this machine is not a 'trireme run --survive' of yours; the number is that of trireme run",
        launcher));
  if (access(path_of_mark(path).c_str(), F_OK) == 0)
    throw std::runtime_error(fmt::format(
        "job {} has its checkpoints in the memories of its hosts, which the request does not reach; it can be resized "
        "when it is started with --survive-folder",
        launcher));
  std::error_code none;
  const std::string elsewhere = std::filesystem::read_symlink(path + "/elsewhere", none).string();
  checkpoint_files::request_processes(none ? path : elsewhere, processes);
}

}  // namespace tri::launch
