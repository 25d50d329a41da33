#include "wire/loop/loop_conduit.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace tri::wire {
namespace {

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

loop_conduit::loop_conduit(loop_network& network, peer_number self) : network_(network), self_(self) {
  const std::lock_guard guard(network_.lock_);
  own().open = true;
}

loop_conduit::~loop_conduit() {
  const std::lock_guard guard(network_.lock_);
  if (own().open) network_.leave(self_, /*orderly=*/true);
}

void loop_conduit::connect(peer_number peer, std::span<const std::byte> address) {
  peer_number named = 0;
  if (address.size() != sizeof named) throw std::runtime_error("this is not an address of a loop network");
  std::memcpy(&named, address.data(), sizeof named);
  if (named != peer) throw std::runtime_error("this is the address of another peer of the loop network");
  const std::lock_guard guard(network_.lock_);
  if (!own().connected.insert(peer).second) return;
  if (!network_.members_[peer].open) network_.add(self_, network_.some_ticks(), {.what = kind::failed, .peer = peer});
}

peer_state loop_conduit::state(peer_number peer) const {
  const std::lock_guard guard(network_.lock_);
  if (own().failed.contains(peer)) return peer_state::failed;
  return own().connected.contains(peer) ? peer_state::connected : peer_state::unknown;
}

send_result loop_conduit::send(peer_number to, sending how, std::span<const std::byte> header,
                               std::span<const std::byte> body, packet_token token) {
  const std::lock_guard guard(network_.lock_);
  loop_network::member& self = own();
  if (!self.open || self.failed.contains(to)) return send_result::done;
  const bool announced = how == sending::announced;
  if (!announced && network_.random_() % 100 >= network_.options_.late_percent) {
    network_.add(to, network_.some_ticks(),
                 {.what = kind::packet, .peer = self_, .header = copy_of(header), .body = copy_of(body)});
    return send_result::done;
  }
  token->conduit = this;
  auto packet = std::make_shared<loop_network::sending_packet>(
      loop_network::sending_packet{.to = to, .token = token, .header = header, .body = body, .announced = announced});
  self.sending.insert(packet);
  if (announced)
    network_.add(to, network_.some_ticks(),
                 {.what = kind::announced, .peer = self_, .header = copy_of(header), .packet = std::move(packet)});
  else
    network_.add(self_, network_.some_ticks(), {.what = kind::free, .peer = to, .packet = std::move(packet)});
  return send_result::under_way;
}

void loop_conduit::accept(announcement body, void* memory, std::size_t bytes, packet_token token) {
  const std::lock_guard guard(network_.lock_);
  token->conduit = this;
  const auto known = own().offers.find(static_cast<loop_network::offer*>(body));
  if (known == own().offers.end()) return;  // this process was killed meanwhile
  loop_network::offer& offered = *known->second;
  offered.memory = static_cast<std::byte*>(memory);
  offered.token = token;
  const std::size_t step = network_.options_.piece_bytes;
  for (std::size_t begin = 0; begin < bytes; begin += step)
    offered.missing.push_back({.begin = begin, .bytes = std::min(step, bytes - begin)});
  std::shuffle(offered.missing.begin(), offered.missing.end(), network_.random_);
  network_.add(self_, network_.some_ticks(), {.what = kind::piece, .peer = offered.from, .offered = known->second});
}

void loop_conduit::refuse(announcement body) {
  const std::lock_guard guard(network_.lock_);
  const auto known = own().offers.find(static_cast<loop_network::offer*>(body));
  if (known == own().offers.end()) return;
  const std::shared_ptr<loop_network::offer> offered = known->second;
  own().offers.erase(known);
  if (offered->packet != nullptr)
    network_.add(offered->from, network_.some_ticks(), {.what = kind::free, .peer = self_, .packet = offered->packet});
}

bool loop_conduit::progress(conduit_events& events) {
  bool something = false;
  // A few at a time, so that what callbacks send mixes with what is there.
  for (unsigned left = 1 + static_cast<unsigned>(self_ % 3); left != 0; --left) {
    std::vector<callback> reports;
    {
      const std::lock_guard guard(network_.lock_);
      loop_network::member& self = own();
      self.armed = false;
      if (!self.open) return something;
      const auto first = self.events.begin();
      if (first == self.events.end() || first->first > network_.now_) {
        if (!something) ++network_.now_;
        return something;
      }
      event happened = std::move(first->second);
      self.events.erase(first);
      reports = handle(happened);
    }
    something = true;
    for (const callback& report : reports) report(events);
  }
  return something;
}

std::vector<loop_conduit::callback> loop_conduit::handle(event& happened) {
  loop_network::member& self = own();
  const peer_number peer = happened.peer;
  switch (happened.what) {
    case kind::failed:
      return fail_peer(peer);
    case kind::packet:
      if (self.failed.contains(peer)) return {};
      return {[header = std::move(happened.header), body = std::move(happened.body)](conduit_events& events) {
        events.packet(header, body);
      }};
    case kind::announced: {
      // Its sender may have died after this packet had left.
      const bool there = network_.members_[peer].open;
      if (self.failed.contains(peer)) return {};
      const auto offered = std::make_shared<loop_network::offer>(loop_network::offer{
          .from = peer, .packet = there ? happened.packet : nullptr, .bytes = happened.packet->body.size()});
      self.offers[offered.get()] = offered;
      return {[header = std::move(happened.header), offered](conduit_events& events) {
        events.announced(header, offered->bytes, offered.get());
      }};
    }
    case kind::free: {
      const std::shared_ptr<loop_network::sending_packet> packet = happened.packet;
      if (self.sending.erase(packet) == 0) return {};
      if (!packet->announced)  // read as late as a sender must expect it
        network_.add(
            peer, network_.some_ticks(),
            {.what = kind::packet, .peer = self_, .header = copy_of(packet->header), .body = copy_of(packet->body)});
      return {[token = packet->token](conduit_events& events) { events.sent(token); }};
    }
    case kind::piece: {
      const std::shared_ptr<loop_network::offer> offered = happened.offered;
      if (self.failed.contains(peer) || offered->packet == nullptr) return {};  // ended by fail_peer()
      const loop_network::piece next = offered->missing.back();
      offered->missing.pop_back();
      std::memcpy(offered->memory + next.begin, offered->packet->body.data() + next.begin, next.bytes);
      if (!offered->missing.empty()) {
        network_.add(self_, network_.some_ticks(), std::move(happened));
        return {};
      }
      self.offers.erase(offered.get());
      network_.add(peer, network_.some_ticks(), {.what = kind::free, .peer = self_, .packet = offered->packet});
      return {[token = offered->token](conduit_events& events) { events.filled(token, true); }};
    }
  }
  return {};
}

std::vector<loop_conduit::callback> loop_conduit::fail_peer(peer_number peer) {
  loop_network::member& self = own();
  if (!self.failed.insert(peer).second) return {};
  std::vector<callback> reports;
  std::erase_if(self.sending, [&](const auto& packet) {
    if (packet->to != peer) return false;
    reports.push_back([token = packet->token](conduit_events& events) { events.sent(token); });
    return true;
  });
  std::erase_if(self.offers, [&](const auto& entry) {
    loop_network::offer& offered = *entry.second;
    if (offered.from != peer || offered.memory == nullptr) return false;  // those without memory wait for refuse()
    reports.push_back([token = offered.token](conduit_events& events) { events.filled(token, false); });
    return true;
  });
  reports.push_back(
      [peer](conduit_events& events) { events.peer_failed(peer, "the loop network reports that it failed"); });
  return reports;
}

int loop_conduit::wake_descriptor() const { return own().descriptor; }

// As long as anything is on its way to this peer, time has to go on.
bool loop_conduit::prepare_sleep() {
  const std::lock_guard guard(network_.lock_);
  std::uint64_t earlier = 0;
  static_cast<void>(read(own().descriptor, &earlier, sizeof earlier));  // fails when nobody woke us, which is fine
  own().armed = own().events.empty();
  return own().armed;
}

void loop_conduit::wake() {
  const std::lock_guard guard(network_.lock_);
  network_.wake(own());
}

bool loop_conduit::close(conduit_events&, bool) {
  const std::lock_guard guard(network_.lock_);
  if (own().open) network_.leave(self_, /*orderly=*/true);
  return true;
}

}  // namespace tri::wire
