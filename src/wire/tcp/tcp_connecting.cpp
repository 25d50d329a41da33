#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "os/clock.hpp"
#include "wire/tcp/tcp_engine.hpp"
#include "wire/tcp/tcp_sockets.hpp"

namespace tri::wire {
namespace {

// Unauthenticated connections: how many at once, and for how long.
constexpr std::size_t most_unproven = 64;
constexpr std::int64_t time_to_greet_ns = 10'000 * ns_of_ms;

// Timeout of an address when the peer has others. The last one gets the system's timeout.
constexpr std::int64_t time_to_answer_ns = 3'000 * ns_of_ms;

// A peer turns a connection away when untrusted peers crowd it out. About 20 s in all, because the pauses grow to a
// second.
constexpr unsigned most_attempts = 30;

// A shortage of this process or host, not of the peer: it passes when others close descriptors.
bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM || error == ENOSPC;
}

}  // namespace

// ---- incoming connections

void tcp_conduit::engine::accept_some(source& listener) {
  constexpr int most_at_once = 16;
  for (int i = 0; i < most_at_once; ++i) {
    const int accepted = accept4(listener.descriptor.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) {
      const int error = errno;
      if (error == ECONNABORTED) continue;
      if (is_shortage(error)) pause_listening(error);
      return;  // no more, or one that has gone again
    }
    auto made = std::make_unique<connection>(os::unique_fd(accepted), stage::unproven, options_.longest_packet);
    made->deadline_ns = os::now_ns() + time_to_greet_ns;
    prepare_accepted(accepted);
    if (const int error = try_watch(*made, EPOLLIN, EPOLL_CTL_ADD); error != 0) return pause_listening(error);
    set_timer(made->deadline_ns);
    unproven_.push_back(std::move(made));
    // Before one is rejected for it: most have sent their greeting by now.
    read_greeting(*unproven_.back());
    if (unproven_.size() > most_unproven) turn_away(*unproven_.front());
  }
}

// Those that wait do so in the kernel, and their peers wait with them.
void tcp_conduit::engine::pause_listening(int error) {
  report_shortage(error);
  for (const auto& each : listeners_) watch(*each, 0, EPOLL_CTL_MOD);
  listen_again_ns_ = os::now_ns() + options_.pause_in_shortage_ns;
  set_timer(listen_again_ns_);
}

void tcp_conduit::engine::report_shortage(int error) {
  if (std::exchange(shortage_reported_, true)) return;
  fmt::print(stderr,
             "trireme: process {} can open no further connection to another process and tries again every {} s: {}; "
             "`ulimit -n` sets the limit of open files\n",
             self_, static_cast<double>(options_.pause_in_shortage_ns) * 1e-9, std::strerror(error));
}

void tcp_conduit::engine::turn_away(connection& of, bool is_foreign) {
  const auto found =
      std::find_if(unproven_.begin(), unproven_.end(), [&](const auto& each) { return each.get() == &of; });
  std::unique_ptr<connection> away = std::move(*found);
  unproven_.erase(found);
  discard(away);
  if (is_foreign) events_->turned_away();
}

// Never more than the greeting is read.
void tcp_conduit::engine::read_greeting(connection& of) {
  const ssize_t count =
      recv(of.descriptor.get(), of.greeting.data() + of.have, of.greeting.size() - of.have, MSG_DONTWAIT);
  if (count < 0 && would_block(errno)) return;
  if (count <= 0) return turn_away(of);
  of.have += static_cast<std::size_t>(count);
  if (of.have < of.greeting.size()) return;
  peer_number from = 0;
  if (!is_greeting(of.greeting, token_, self_, links_.size(), from)) return turn_away(of);
  link& peer = link_of(from);
  if (peer.theirs != nullptr || peer.state == peer_state::failed) {  // one of each peer, once
    const bool is_repeated = peer.theirs == nullptr || peer.theirs->greeting == of.greeting;
    return turn_away(of, is_repeated);
  }
  const welcome_bytes welcome = make_welcome(token_, of.greeting);
  // Nothing was written before, so there is room.
  if (::send(of.descriptor.get(), welcome.data(), welcome.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(welcome.size()))
    return turn_away(of);
  of.peer = from;
  of.now = stage::open;
  const auto found =
      std::find_if(unproven_.begin(), unproven_.end(), [&](const auto& each) { return each.get() == &of; });
  peer.theirs = std::move(*found);
  unproven_.erase(found);
}

// ---- outgoing connections

void tcp_conduit::engine::connect(peer_number peer, std::span<const std::byte> of_peer) {
  if (links_[peer] != nullptr && links_[peer]->state != peer_state::unknown) return;
  tcp_address theirs = decode_tcp_address(peer, of_peer);
  link& of = link_of(peer);
  of.token = theirs.token;
  of.endpoints = std::move(theirs.endpoints);
  if (of.endpoints.size() > 1) sort_by_nearness(of.endpoints, interfaces_);
  of.state = peer_state::connected;
  start_attempt(peer);
}

// The next one from of.endpoint on at which no connection waits for its welcome.
bool tcp_conduit::engine::choose_endpoint(link& of) const {
  for (std::size_t tried = 0; tried < of.endpoints.size(); ++tried) {
    const std::size_t index = (of.endpoint + tried) % of.endpoints.size();
    if (std::any_of(of.unanswered.begin(), of.unanswered.end(),
                    [&](const auto& each) { return each->endpoint == of.endpoints[index]; }))
      continue;
    of.endpoint = index;
    return true;
  }
  return false;
}

void tcp_conduit::engine::start_attempt(peer_number peer) {
  link& of = link_of(peer);
  if (!choose_endpoint(of)) return;  // those that wait may still be welcomed
  started_connection started = start_connecting(of.endpoints[of.endpoint]);
  if (started.descriptor) {
    of.ours = std::make_unique<connection>(std::move(started.descriptor), stage::connecting, options_.longest_packet);
    of.ours->peer = peer;
    of.ours->endpoint = of.endpoints[of.endpoint];
    of.ours->waits_to_write = true;
    started.error = try_watch(*of.ours, EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD);
  }
  if (is_shortage(started.error)) {
    report_shortage(started.error);
    discard(of.ours);
    return set_deadline(peer, options_.pause_in_shortage_ns);
  }
  // All local ports are taken, or this host has no such network: only the first passes.
  if (started.error == EADDRNOTAVAIL || started.error == EAGAIN) return try_again(peer, std::strerror(started.error));
  if (started.error != 0) return leave_endpoint(peer, std::strerror(started.error));
  if (of.slow_attempts + 1 < of.endpoints.size()) {
    set_deadline(peer, time_to_answer_ns);
  }
}

void tcp_conduit::engine::finish_connecting(connection& of) {
  const int error = error_of(of.descriptor.get());
  if (error == 0) return greet(of);
  if (error == ECONNRESET) return try_again(of.peer);
  leave_endpoint(of.peer, std::strerror(error));
}

void tcp_conduit::engine::greet(connection& of) {
  link& peer = link_of(of.peer);
  of.greeting = make_greeting(peer.token, make_token(),
                              {.from = self_, .to = of.peer, .peers = static_cast<std::uint32_t>(links_.size())});
  const ssize_t count =
      ::send(of.descriptor.get(), of.greeting.data(), of.greeting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0 && would_block(errno)) return;  // not connected yet, a spurious event of epoll
  if (count != static_cast<ssize_t>(of.greeting.size())) return try_again(of.peer);
  of.now = stage::greeted;
  peer.deadline_ns = 0;
  want_to_write(of, false);
  // At its last address there is no deadline: the peer may be computing.
  if (peer.unanswered.size() + 1 < peer.endpoints.size()) set_deadline(of.peer, options_.time_to_welcome_ns);
}

void tcp_conduit::engine::read_welcome(connection& of) {
  const ssize_t count =
      recv(of.descriptor.get(), of.welcome.data() + of.have, of.welcome.size() - of.have, MSG_DONTWAIT);
  if (count < 0 && would_block(errno)) return;
  link& peer = link_of(of.peer);
  const bool is_current = peer.ours.get() == &of;
  if (count <= 0) return is_current ? try_again(of.peer) : drop_unanswered(of);
  of.have += static_cast<std::size_t>(count);
  if (of.have < of.welcome.size()) return;
  const welcome_bytes right = make_welcome(peer.token, of.greeting);
  std::byte difference{0};  // constant-time comparison
  for (std::size_t i = 0; i < right.size(); ++i) difference |= right[i] ^ of.welcome[i];
  if (difference != std::byte{0}) {
    constexpr const char* why = "the process that listens there is another one";
    if (is_current) return leave_endpoint(of.peer, why);
    const tcp_endpoint wrong = of.endpoint;
    drop_unanswered(of);  // still in closed_connections_
    forget_endpoint(of.peer, wrong, why);
    return;
  }
  prefer(of);
  of.now = stage::open;
  flush(of);
}

// It is the one: the peer welcomes one connection and turns the others away, whenever it sees them.
void tcp_conduit::engine::prefer(connection& of) {
  link& peer = link_of(of.peer);
  peer.deadline_ns = 0;
  for (auto& each : std::exchange(peer.unanswered, {})) {
    if (each.get() == &of) std::swap(each, peer.ours);
    discard(each);
  }
}

// Its address may be tried again, unless it belongs to a foreign process.
void tcp_conduit::engine::drop_unanswered(connection& of) {
  const peer_number number = of.peer;
  link& peer = link_of(number);
  const auto found =
      std::find_if(peer.unanswered.begin(), peer.unanswered.end(), [&](const auto& each) { return each.get() == &of; });
  std::unique_ptr<connection> dropped = std::move(*found);
  peer.unanswered.erase(found);
  discard(dropped);
  if (peer.deadline_ns == 0) set_deadline(number, options_.time_to_welcome_ns);
}

// No process of the job is at this address.
void tcp_conduit::engine::leave_endpoint(peer_number peer, const std::string& why) {
  link& of = link_of(peer);
  of.deadline_ns = 0;
  discard(of.ours);
  if (forget_endpoint(peer, of.endpoints[of.endpoint], why)) start_attempt(peer);
}

// True: there are others. False: the peer has failed.
bool tcp_conduit::engine::forget_endpoint(peer_number peer, const tcp_endpoint& wrong, const std::string& why) {
  link& of = link_of(peer);
  const std::string text = fmt::format("it cannot be reached at {}: {}", wrong.text(), why);
  const tcp_endpoint tried = of.endpoints[of.endpoint];
  std::erase(of.endpoints, tcp_endpoint(wrong));
  const auto memory = std::find(of.endpoints.begin(), of.endpoints.end(), tried);
  of.endpoint = memory == of.endpoints.end() ? 0 : static_cast<std::size_t>(memory - of.endpoints.begin());
  if (!of.endpoints.empty()) return true;
  note({.peer = peer, .of_ours = true, .at_once = false, .why = text});
  return false;
}

// The connection failed, and the next one may succeed.
void tcp_conduit::engine::try_again(peer_number peer, const char* why) {
  link& of = link_of(peer);
  discard(of.ours);
  if (++of.attempts >= most_attempts) {
    if (!of.unanswered.empty()) return;  // the peer may be behind one of them
    return note({.peer = peer,
                 .of_ours = true,
                 .at_once = false,
                 .why = fmt::format("it cannot be reached at {} in {} attempts: {}", of.endpoints[of.endpoint].text(),
                                    of.attempts, why)});
  }
  of.endpoint = (of.endpoint + 1) % of.endpoints.size();
  set_deadline(peer, ns_of_ms * (1 << std::min(of.attempts, 10U)));
}

}  // namespace tri::wire
