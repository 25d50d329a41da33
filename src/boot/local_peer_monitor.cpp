#include "boot/local_peer_monitor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <system_error>

#include "boot/bootstrap_messages.hpp"
#include "boot/peer_table.hpp"

namespace tri::boot {
namespace {

// Nothing when the process no longer exists.
os::unique_fd open_pidfd(pid_t pid) {
  os::unique_fd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!fd && errno != ESRCH)
    throw std::system_error(errno, std::generic_category(), fmt::format("cannot watch process {} (pidfd_open)", pid));
  return fd;
}

}  // namespace

local_peer_monitor::local_peer_monitor(const std::vector<local_peer>& local_peers, int launcher_fd, int timeout_ms,
                                       std::function<void(int process, bool ended)> report)
    : launcher_fd_(launcher_fd),
      timeout_ms_(timeout_ms),
      report_(std::move(report)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw std::system_error(errno, std::generic_category(), "cannot open an eventfd");
  if (const pid_t parent = getppid(); parent > 0) parent_ = open_pidfd(parent);
  for (const local_peer& each : local_peers) {
    watched_.push_back(std::make_unique<watched>());
    watched_.back()->who = each;
    watched_.back()->pidfd = open_pidfd(each.pid);
  }
  // Signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

local_peer_monitor::~local_peer_monitor() { stop(); }

void local_peer_monitor::stop() {
  {
    const std::lock_guard locked(lock_);
    stop_ = true;
  }
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

void local_peer_monitor::connect(int process, os::packet_socket socket) {
  const std::lock_guard locked(lock_);
  const auto found = std::ranges::find_if(watched_, [&](const auto& each) { return each->who.process == process; });
  if (found != watched_.end()) (*found)->socket = std::move(socket);
  eventfd_write(wake_.get(), 1);
}

void local_peer_monitor::say_left(int exit_status) { say(left_message{exit_status}); }

void local_peer_monitor::say_failed() { say(failed_message{}); }

void local_peer_monitor::say(const bootstrap_message& message) {
  const std::lock_guard locked(lock_);
  for (const auto& each : watched_) {
    if (!each->socket) continue;
    try {
      each->socket.send(encode(message), {}, false);
    } catch (const std::system_error&) {  // it is gone, which the thread sees
    }
  }
}

// With lock_ held.
void local_peer_monitor::hear(watched& from) {
  try {
    while (from.socket) {
      const os::packet received = from.socket.receive(false);
      if (received.what == os::packet::state::nothing_yet) return;
      if (received.what == os::packet::state::closed) break;
      const bootstrap_message message = decode(received.bytes);
      failed_ = failed_ || std::holds_alternative<failed_message>(message);
      if (!std::holds_alternative<failed_message>(message)) expect<left_message>(message);
      from.left = true;
    }
  } catch (const std::exception&) {  // nonsense: of no use any more
  }
  from.closed = from.closed || from.socket;
  from.socket.close();
}

// With lock_ held. Messages sent before its end are processed first.
bool local_peer_monitor::has_ended(watched& which) {
  pollfd end{which.pidfd.get(), POLLIN, 0};
  const bool ended = !which.pidfd || poll(&end, 1, 0) > 0;
  hear(which);
  return ended;
}

bool local_peer_monitor::stopped_within(int milliseconds) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (true) {
    {
      const std::lock_guard locked(lock_);
      if (stop_) return true;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd woken{wake_.get(), POLLIN, 0};
    std::uint64_t count = 0;
    if (poll(&woken, 1, static_cast<int>(left)) > 0) eventfd_read(wake_.get(), &count);  // perhaps of a new connection
  }
}

void local_peer_monitor::run() {
  while (true) {
    std::vector<pollfd> waiting{{wake_.get(), POLLIN, 0}};
    if (parent_) waiting.push_back({parent_.get(), POLLIN, 0});
    if (launcher_fd_ >= 0) waiting.push_back({launcher_fd_, POLLRDHUP, 0});
    const std::size_t local_peers_from = waiting.size();
    watched* lost = nullptr;
    bool failed = false;
    {
      const std::lock_guard locked(lock_);
      if (stop_) return;
      for (const auto& each : watched_) {
        if (each->done) continue;
        if (has_ended(*each) || each->closed) {
          each->done = true;
          if (!each->left && lost == nullptr) lost = each.get();
          continue;
        }
        if (each->pidfd) waiting.push_back({each->pidfd.get(), POLLIN, 0});
        if (each->socket) waiting.push_back({each->socket.fd(), POLLIN, 0});
      }
      failed = failed_;
    }
    if (failed) {
      say_failed();  // the first of the machine passes it on
      if (stopped_within(timeout_ms_)) return;
      _exit(1);
    }
    if (lost != nullptr) {
      if (stopped_within(timeout_ms_)) return;
      std::unique_lock locked(lock_);
      const bool ended = has_ended(*lost);
      locked.unlock();
      return report_(lost->who.process, ended);
    }
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    for (std::size_t i = 1; i < local_peers_from; ++i) {
      if (waiting[i].revents == 0) continue;
      std::fputs("trireme: the launcher is gone; this process ends\n", stderr);
      _exit(1);
    }
    std::uint64_t count = 0;
    eventfd_read(wake_.get(), &count);
  }
}

}  // namespace tri::boot
