// Peers that say nothing: a cable that was pulled out, a host that froze. Transports notice late or never (TCP repeats
// what was not acknowledged for a quarter of an hour). Time comes in as beats, so nothing here reads a clock.
//
// At each beat every connected peer that was not heard of since the last one is asked for a sign of life, and answers
// at once, or at its own next beat when its threads compute. After `beats_until_lost` beats without any packet it is
// lost. A process that was itself stopped has had no beats meanwhile and blames nobody. Included by port_over.hpp
// alone.
#pragma once

#include "wire/port_over.hpp"

namespace tri::wire {

template <conduit Conduit>
void port_over<Conduit>::beat() {
  // Where nobody has looked since the last beat, a sign of life may be behind much else: all that has come first. The
  // limit is for peers that send without end.
  constexpr int most_looks = 1'000'000;
  const bool nobody_looks = !options_.funnelled && tallies_.looks.read() == looks_at_last_beat_;
  for (int looks = 0; nobody_looks && looks < most_looks && progress(); ++looks) {
  }
  // relaxed: whoever has the turn sees it at its next look; one that was missed is made up for by the next beat.
  beat_is_due_.store(true, std::memory_order_relaxed);
  if (options_.funnelled)
    wake_funnel();
  else
    progress();
  looks_at_last_beat_ = tallies_.looks.read();
}

// By who has the turn.
template <conduit Conduit>
void port_over<Conduit>::ask_for_signs_of_life() {
  beat_is_due_.store(false, std::memory_order_relaxed);  // relaxed: see beat()
  for (peer_number number = 0; number < peers_.size(); ++number) {
    peer_record* const peer = peers_[number].load(std::memory_order_relaxed);  // relaxed: made by who has the turn
    if (peer == nullptr || peer->gone || peer->disconnected) continue;
    if (!peer->reachable.load(std::memory_order_relaxed)) continue;  // relaxed: as above
    // What a peer sends behind a body cannot be seen before all of the body is there.
    const std::uint64_t for_bodies = peer->filling_bytes / options_.least_bytes_per_beat;
    if (peer->silent_beats >= options_.beats_until_lost + for_bodies) {
      silent_ = true;
      lose(number, "nothing has been heard of it for " + options_.silence_in_words);
      silent_ = false;
    } else if (++peer->silent_beats > 1) {
      send_heartbeat(number, packet_kind::heartbeat);
    }
  }
}

// Outside the order of packets: it says nothing about them.
template <conduit Conduit>
void port_over<Conduit>::send_heartbeat(peer_number to, packet_kind kind) {
  tallies_.heartbeats.add();
  is_sign_of_life_ = true;
  send_unordered(to, kind, {});
}

template <conduit Conduit>
void port_over<Conduit>::send_unordered(peer_number to, packet_kind kind, std::span<const std::byte> contents) {
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
