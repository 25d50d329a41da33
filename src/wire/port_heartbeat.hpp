// Detects silent peers: an unplugged cable, a frozen host. Transports notice late or never (TCP retransmits for a
// quarter of an hour). Time is counted in heartbeats, so nothing here reads a clock.
//
// At each heartbeat every connected peer that was silent since the last one is sent a request, and answers at once, or
// at its own next heartbeat when its threads compute. After `heartbeats_until_failed` heartbeats without any packet it
// counts as failed. A process that was itself stopped has had no heartbeats meanwhile and blames no peer. Included by
// conduit_port.hpp alone.
#pragma once

#include "wire/conduit_port.hpp"

namespace tri::wire {

template <conduit Conduit>
void conduit_port<Conduit>::heartbeat() {
  // When no thread has polled since the last heartbeat, a heartbeat may be queued behind much else: drain everything
  // first. The limit is for peers that send without end.
  constexpr int most_polls = 1'000'000;
  const bool nobody_polls = !options_.funnelled && counters_.polls.read() == polls_at_last_heartbeat_;
  for (int polls = 0; nobody_polls && polls < most_polls && progress(); ++polls) {
  }
  // relaxed: the holder of the progress lock sees it at its next poll; one that was missed is made up for by the next
  // heartbeat.
  heartbeat_is_due_.store(true, std::memory_order_relaxed);
  if (options_.funnelled)
    wake_funnel();
  else
    progress();
  polls_at_last_heartbeat_ = counters_.polls.read();
}

// By the holder of the progress lock.
template <conduit Conduit>
void conduit_port<Conduit>::send_heartbeat_requests() {
  heartbeat_is_due_.store(false, std::memory_order_relaxed);  // relaxed: see heartbeat()
  for (peer_number number = 0; number < peers_.size(); ++number) {
    peer_record* const peer =
        peers_[number].load(std::memory_order_relaxed);  // relaxed: made by the holder of the progress lock
    if (peer == nullptr || peer->gone || peer->disconnected) continue;
    if (!peer->reachable.load(std::memory_order_relaxed)) continue;  // relaxed: as above
    // Packets behind a body cannot be seen before the body has arrived completely.
    const std::uint64_t for_bodies = peer->filling_bytes / options_.least_bytes_per_heartbeat;
    if (peer->missed_heartbeats >= options_.heartbeats_until_failed + for_bodies) {
      timed_out_ = true;
      fail_peer(number, "nothing has been heard of it for " + options_.peer_timeout_in_words);
      timed_out_ = false;
    } else if (++peer->missed_heartbeats > 1) {
      send_heartbeat(number, packet_kind::heartbeat);
    }
  }
}

// Outside the order of packets: it is independent of them.
template <conduit Conduit>
void conduit_port<Conduit>::send_heartbeat(peer_number to, packet_kind kind) {
  counters_.heartbeats.add();
  is_heartbeat_only_ = true;
  send_unordered(to, kind, {});
}

template <conduit Conduit>
void conduit_port<Conduit>::send_unordered(peer_number to, packet_kind kind, std::span<const std::byte> contents) {
  outgoing_packet* const packet = packet_alone(to);
  peer_record& peer = record_of(to);
  const packet_head head = {
      .tag = peer.secret.tag, .sequence = peer.next_unordered++, .from = self_, .kind = kind, .messages = 0};
  packet->append(&head, sizeof head);
  packet->used += check_bytes_;
  packet->append(contents.data(), contents.size());
  if (options_.checks) sign(*packet, head, {}, std::nullopt);
  moving_.push_back(packet);
  ++packets_under_way_;
  if (conduit_->send(to, sending::copied, {}, packet->contents(), packet) == send_result::done) finish(packet);
}

}  // namespace tri::wire
