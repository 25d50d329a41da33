#include "wire/tcp/tcp_engine.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "os/clock.hpp"
#include "wire/descriptor_limit.hpp"
#include "wire/tcp/tcp_sockets.hpp"

namespace tri::wire {
tcp_conduit::engine::engine(peer_number self, std::size_t peers, const tcp_options& options)
    : self_(self), options_(options), interfaces_(network_interfaces()), token_(make_token()), links_(peers) {
  allow_descriptors(2 * peers);
  const auto made = [](int descriptor, const char* what) {
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
    return os::unique_fd(descriptor);
  };
  epoll = made(epoll_create1(EPOLL_CLOEXEC), "the wire has no descriptor to wait on (epoll)");
  wake_.descriptor =
      made(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "the wire has no descriptor to be woken by (eventfd)");
  timer_.descriptor = made(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "the wire has no timer");
  watch(wake_, EPOLLIN, EPOLL_CTL_ADD);
  watch(timer_, EPOLLIN, EPOLL_CTL_ADD);
  tcp_address own = {.token = token_, .endpoints = {}};
  for (listening_socket& each : listen_on(addresses_of_network(options.network, interfaces_, network_devices()))) {
    own.endpoints.push_back(each.endpoint);
    listeners_.push_back(
        std::make_unique<source>(source{.kind = source_kind::listener, .descriptor = std::move(each.descriptor)}));
    watch(*listeners_.back(), EPOLLIN, EPOLL_CTL_ADD);
  }
  address = encode_tcp_address(own);
}

// ---- the epoll set

// 0, or errno.
int tcp_conduit::engine::try_watch(source& of, std::uint32_t events, int operation) const {
  epoll_event event = {};
  event.events = events;
  event.data.ptr = &of;
  return epoll_ctl(epoll.get(), operation, of.descriptor.get(), &event) == 0 ? 0 : errno;
}

void tcp_conduit::engine::watch(source& of, std::uint32_t events, int operation) const {
  if (const int error = try_watch(of, events, operation); error != 0)
    throw std::system_error(error, std::generic_category(), "the wire cannot wait for a connection (epoll_ctl)");
}

// A forked child may hold the descriptor open: closing it here would end neither the connection nor its events in the
// epoll set.
void tcp_conduit::engine::forget(source& of) const {
  if (!of.descriptor) return;
  epoll_ctl(epoll.get(), EPOLL_CTL_DEL, of.descriptor.get(), nullptr);
  shutdown(of.descriptor.get(), SHUT_RDWR);
  of.descriptor.reset();
}

void tcp_conduit::engine::want_to_write(connection& of, bool wants) const {
  if (of.waits_to_write == wants) return;
  of.waits_to_write = wants;
  watch(of, wants ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
}

void tcp_conduit::engine::set_timer(std::int64_t deadline_ns) {
  if (timer_at_ns_ != 0 && timer_at_ns_ <= deadline_ns) return;
  timer_at_ns_ = deadline_ns;
  itimerspec at = {};
  at.it_value.tv_sec = deadline_ns / 1'000'000'000;
  at.it_value.tv_nsec = deadline_ns % 1'000'000'000;
  timerfd_settime(timer_.descriptor.get(), TFD_TIMER_ABSTIME, &at, nullptr);
}

bool tcp_conduit::engine::progress(conduit_events& events) {
  constexpr int most_at_once = 32;  // the kernel puts those that were reported behind the others
  events_ = &events;
  std::array<epoll_event, most_at_once> ready;
  const int count = epoll_wait(epoll.get(), ready.data(), most_at_once, 0);
  bool something = false;
  for (int i = 0; i < count; ++i) {
    auto& of = *static_cast<source*>(ready[static_cast<std::size_t>(i)].data.ptr);
    something |= of.kind != source_kind::wake;
    dispatch(of, ready[static_cast<std::size_t>(i)].events);
  }
  something |= settle();
  closed_connections_.clear();
  return something;
}

void tcp_conduit::engine::dispatch(source& of, std::uint32_t what) {
  std::uint64_t unused = 0;
  switch (of.kind) {
    case source_kind::wake:
      static_cast<void>(read(of.descriptor.get(), &unused, sizeof unused));
      return;
    case source_kind::timer:
      static_cast<void>(read(of.descriptor.get(), &unused, sizeof unused));
      return on_timer();
    case source_kind::listener:
      return accept_some(of);
    case source_kind::connection:
      break;
  }
  auto& one = static_cast<connection&>(of);
  switch (one.now) {
    case stage::unproven:
      return read_greeting(one);
    case stage::connecting:
      return finish_connecting(one);
    case stage::greeted:
      return read_welcome(one);
    case stage::open:
      if ((what & EPOLLOUT) != 0) flush(one);
      if ((what & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0 && one.now == stage::open) read_frames(one);
      return;
    case stage::closed:
      return;  // since the event was reported
  }
}

void tcp_conduit::engine::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(write(wake_.descriptor.get(), &one, sizeof one));  // a full counter is readable, which suffices
}

// ---- deadlines

void tcp_conduit::engine::set_deadline(peer_number peer, std::int64_t from_now_ns) {
  link& of = link_of(peer);
  of.deadline_ns = os::now_ns() + from_now_ns;
  if (!std::exchange(of.has_deadline, true)) with_deadline_.push_back(peer);
  set_timer(of.deadline_ns);
}

void tcp_conduit::engine::on_timer() {
  const std::int64_t now = os::now_ns();
  timer_at_ns_ = 0;
  while (!unproven_.empty() && unproven_.front()->deadline_ns <= now) turn_away(*unproven_.front());
  if (!unproven_.empty()) set_timer(unproven_.front()->deadline_ns);
  if (listen_again_ns_ != 0 && listen_again_ns_ <= now) {
    listen_again_ns_ = 0;
    for (const auto& each : listeners_) watch(*each, EPOLLIN, EPOLL_CTL_MOD);
  }
  if (listen_again_ns_ != 0) set_timer(listen_again_ns_);
  for (const peer_number peer : std::exchange(with_deadline_, {})) {
    link& of = *links_[peer];
    of.has_deadline = false;
    if (of.deadline_ns == 0) continue;
    if (of.deadline_ns > now) {
      of.has_deadline = true;
      with_deadline_.push_back(peer);
      set_timer(of.deadline_ns);
    } else {
      of.deadline_ns = 0;
      on_deadline(peer);
    }
  }
}

void tcp_conduit::engine::on_deadline(peer_number peer) {
  link& of = link_of(peer);
  if (of.state == peer_state::failed) return;
  if (!of.why.empty()) {  // the other one has no more information
    note({.peer = peer, .of_ours = true, .at_once = true, .why = of.why});
  } else if (of.ours == nullptr) {
    start_attempt(peer);
  } else if (of.ours->now == stage::connecting) {
    ++of.slow_attempts;
    of.endpoint = (of.endpoint + 1) % of.endpoints.size();
    discard(of.ours);
    start_attempt(peer);
  } else if (of.ours->now == stage::greeted && of.unanswered.size() + 1 < of.endpoints.size()) {
    of.unanswered.push_back(std::move(of.ours));
    start_attempt(peer);
  }
}

// ---- the end of connections

// The port must not be called in the middle of a send, and a thread may be asleep.
void tcp_conduit::engine::note(connection_break broken) {
  breaks_.push_back(std::move(broken));
  wake();
}

void tcp_conduit::engine::break_off(connection& of, const std::string& why, bool at_once) {
  if (of.now == stage::closed) return;
  of.now = stage::closed;
  forget(of);
  note({.peer = of.peer,
        .of_ours = of.is_ours,
        .at_once = at_once,
        .why = at_once ? fmt::format("it sent a malformed frame: {}", why)
                       : fmt::format("its connection broke ({})", why)});
}

void tcp_conduit::engine::discard(std::unique_ptr<connection>& of) {
  if (of == nullptr) return;
  of->now = stage::closed;
  forget(*of);
  closed_connections_.push_back(std::move(of));
}

bool tcp_conduit::engine::settle() {
  bool something = false;
  while (has_news()) {
    something = true;
    for (const connection_break& each : std::exchange(breaks_, {})) settle_break(each);
    for (const filled_body& body : std::exchange(filled_at_once_, {})) events_->filled(body.token, body.whole);
  }
  return something;
}

// A peer's last messages arrive on its own connection, which may lag behind ours: all of it is read first.
void tcp_conduit::engine::settle_break(const connection_break& broken) {
  link& of = link_of(broken.peer);
  if (of.state == peer_state::failed) return;
  if (broken.of_ours && !broken.at_once && is_open(of.theirs)) {
    of.why = broken.why;
    return set_deadline(broken.peer, drain_timeout_ns);
  }
  const std::string why = of.why.empty() || broken.at_once ? broken.why : of.why;
  end(broken.peer);
  events_->peer_failed(broken.peer, why);
}

// Ends everything with the peer.
void tcp_conduit::engine::end(peer_number peer) {
  link& of = link_of(peer);
  of.state = peer_state::failed;
  of.deadline_ns = 0;
  discard(of.ours);
  discard(of.theirs);
  for (auto& each : std::exchange(of.unanswered, {})) discard(each);
  const auto tell = [&](packet_token token) { events_->sent(token); };
  of.packets.drop(tell);
  of.answers.drop(tell);
  for (const auto& [name, body] : std::exchange(of.offered_bodies, {})) tell(body.token);
  for (auto& [name, body] : std::exchange(of.incoming_bodies, {})) {
    if (body->accepted) {
      events_->filled(body->token, false);
    } else {
      body->is_detached = true;
      detached_.push_back(std::move(body));
    }
  }
}

bool tcp_conduit::engine::is_written(const link& peer) const {
  return peer.state == peer_state::failed ||
         (peer.packets.empty() && peer.answers.empty() && peer.offered_bodies.empty());
}

bool tcp_conduit::engine::close(conduit_events& events, bool at_once) {
  events_ = &events;
  for (const auto& each : listeners_) forget(*each);
  listeners_.clear();
  listen_again_ns_ = 0;
  for (auto& each : unproven_) discard(each);
  unproven_.clear();
  if (!at_once) {
    progress(events);
    const auto all_out = [&](const auto& peer) { return peer == nullptr || is_written(*peer); };
    if (!std::all_of(links_.begin(), links_.end(), all_out)) return false;
  }
  for (peer_number peer = 0; peer < links_.size(); ++peer) {
    if (links_[peer] == nullptr || links_[peer]->state == peer_state::failed) continue;
    if (is_open(links_[peer]->ours) && !at_once) {
      // Unread data on close makes the kernel discard unsent data.
      const int descriptor = links_[peer]->ours->descriptor.get();
      shutdown(descriptor, SHUT_WR);
      std::array<std::byte, 256> unread;
      while (recv(descriptor, unread.data(), unread.size(), MSG_DONTWAIT) > 0) {
      }
    }
    end(peer);
  }
  settle();
  closed_connections_.clear();
  return true;
}

}  // namespace tri::wire
