#include "wire/loop/loop_network.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tri::wire {

loop_network::loop_network(std::size_t peers, const loop_options& options)
    : options_(options), random_(options.seed), members_(peers) {
  for (member& each : members_) {
    each.descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (each.descriptor < 0) throw std::runtime_error("no descriptor to wake a sleeper with (eventfd)");
  }
}

loop_network::~loop_network() {
  for (const member& each : members_) ::close(each.descriptor);
}

void loop_network::wake(member& sleeper) {
  sleeper.armed = false;
  const std::uint64_t one = 1;
  static_cast<void>(write(sleeper.descriptor, &one, sizeof one));  // full means readable, which is what it is for
}

void loop_network::add(peer_number to, std::uint64_t due, event added) {
  member& receiver = members_[to];
  if (receiver.dead || !receiver.open) return;
  if (added.what != event::kind::free && (receiver.cut_off || members_[added.peer].cut_off)) return;
  receiver.events.emplace(due, std::move(added));
  if (receiver.armed) wake(receiver);
}

void loop_network::kill(peer_number peer) {
  const std::lock_guard guard(lock_);
  members_[peer].dead = true;
  leave(peer, /*orderly=*/false);
}

void loop_network::cut_off(peer_number peer) {
  const std::lock_guard guard(lock_);
  members_[peer].cut_off = true;
  for (peer_number other = 0; other < members_.size(); ++other)
    std::erase_if(members_[other].events, [&](const auto& waiting) {
      return waiting.second.what != event::kind::free && (other == peer || waiting.second.peer == peer);
    });
}

// Of an orderly end all that was sent arrives before the others hear of it; of a death, some.
void loop_network::leave(peer_number gone, bool orderly) {
  for (peer_number other = 0; other < members_.size(); ++other) {
    member& each = members_[other];
    if (other == gone) continue;
    std::uint64_t told = some_ticks();
    std::erase_if(each.events, [&](auto& waiting) {
      if (waiting.second.peer != gone) return false;
      if (!orderly) return waiting.second.what != event::kind::failed && random_() % 2 == 0;
      told = std::max(told, waiting.first + 1);
      return false;
    });
    for (auto& [key, offered] : each.offers)
      if (offered->from == gone) offered->packet = nullptr;
    if (each.connected.contains(gone) && !each.failed.contains(gone))
      add(other, told, {.what = event::kind::failed, .peer = gone});
  }
  member& itself = members_[gone];
  itself.open = false;
  itself.events.clear();
  itself.sending.clear();
  itself.offers.clear();
}

std::size_t loop_network::bytes_stored() const {
  const std::lock_guard guard(lock_);
  std::size_t bytes = 0;
  for (const member& each : members_)
    for (const auto& [due, waiting] : each.events) bytes += waiting.body.size();
  return bytes;
}

}  // namespace tri::wire
