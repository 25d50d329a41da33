#include "launch/watchers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "boot/bootstrap_messages.hpp"
#include "launch/remote_host.hpp"

namespace tri::launch {
namespace {

constexpr std::size_t most_watchers = 16;

struct abstract_name {
  sockaddr_un address{};
  socklen_t bytes = 0;
};
abstract_name name_of(pid_t launcher) {
  abstract_name made;
  made.address.sun_family = AF_UNIX;
  const std::string text = watch_socket_name(launcher);
  std::memcpy(made.address.sun_path + 1, text.data(), text.size());  // behind a zero: abstract
  made.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return made;
}

std::optional<uid_t> user_at_other_end(int socket) {
  ucred other{};
  socklen_t bytes = sizeof other;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &bytes) != 0) return std::nullopt;
  return other.uid;
}

host_link link_over(os::unique_fd socket) {
  os::unique_fd second(fcntl(socket.get(), F_DUPFD_CLOEXEC, 3));
  return {std::move(socket), std::move(second)};
}

// -1: lost. Before its agent has spoken the first time nothing is known.
std::int64_t silence_ms(const remote_host& host, std::int64_t now_ns) {
  if (host.ended()) return -1;
  return host.heard_ns() == 0 ? 0 : std::max<std::int64_t>(0, (now_ns - host.heard_ns()) / 1'000'000);
}

}  // namespace

std::string watch_socket_name(pid_t launcher) { return fmt::format("trireme-watch-{}", launcher); }

std::optional<host_link> connect_to_launcher(pid_t launcher) {
  os::unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const abstract_name name = name_of(launcher);
  if (!socket || connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) != 0)
    return std::nullopt;
  // Anybody may take such a name; and only the user of a job may watch it.
  if (user_at_other_end(socket.get()) != geteuid())
    throw std::runtime_error(
        fmt::format("the launcher {} belongs to another user, and only that one may watch its job", launcher));
  return link_over(std::move(socket));
}

watchers::watchers(std::vector<remote_host*> hosts) : hosts_(std::move(hosts)) {
  os::unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const abstract_name name = name_of(getpid());
  if (socket && bind(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) == 0 &&
      listen(socket.get(), most_watchers) == 0)
    listener_ = std::move(socket);
}

void watchers::watch(std::vector<pollfd>& watched) const {
  if (listener_) watched.push_back({listener_.get(), POLLIN, 0});
  for (const watcher& each : watchers_) each.link.watch(watched);
}

void watchers::serve(std::int64_t now_ns) {
  if (listener_) accept_all();
  for (watcher& each : watchers_) {
    each.link.flush();
    if (!each.link.receive()) each.has_ended = true;
    take_questions(each, now_ns);
    each.link.flush();
  }
  watchers_.remove_if([](const watcher& each) { return each.has_ended; });
}

void watchers::accept_all() {
  while (true) {
    os::unique_fd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (user_at_other_end(socket.get()) != geteuid() || watchers_.size() >= most_watchers) continue;  // it is closed
    watchers_.push_back({next_number_++, link_over(std::move(socket))});
  }
}

void watchers::take_questions(watcher& of, std::int64_t now_ns) {
  try {
    while (const std::optional<link_message> question = take_frame(of.link.received())) {
      if (question->kind != link_kind::figures || of.link.waiting()) {  // it asks, and does not read
        of.has_ended = true;
        return;
      }
      for (std::size_t i = 0; i < hosts_.size(); ++i) {
        remote_host& host = *hosts_[i];
        const auto [first, count] = host.processes();
        of.link.send({.kind = link_kind::host_state,
                      .process = static_cast<int>(i),
                      .number = silence_ms(host, now_ns),
                      .text = host.name(),
                      .words = {std::to_string(first), std::to_string(count)}});
        host.ask_figures(of.number, question->number, question->text);
      }
    }
  } catch (const boot::protocol_error&) {
    of.has_ended = true;
  }
}

void watchers::answered(int host, const link_message& answer) {
  for (watcher& each : watchers_)
    if (each.number == answer.process && !each.has_ended) {
      each.link.send({.kind = link_kind::figures, .process = host, .number = answer.number, .text = answer.text});
      each.link.flush();
    }
}

}  // namespace tri::launch
