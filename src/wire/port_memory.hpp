// The memory of messages as conduit_port sees it: what waits here for that of a peer, and the credits for ours
// (flow/README.md). Included by conduit_port.hpp alone.
#pragma once

#include <algorithm>

#include "wire/conduit_port.hpp"

namespace tri::wire {

// ---- as the sender

template <conduit Conduit>
void conduit_port<Conduit>::wait_for_memory(peer_record& peer, peer_number to, std::span<const std::byte> header,
                                            const message_body& body) {
  if (drops_waiting_.load(std::memory_order_relaxed))
    return drop(body);  // relaxed: leave() drops what this check missed
  auto waiting = std::make_unique<waiting_send>();
  waiting->to = to;
  waiting->header_bytes = static_cast<std::uint32_t>(header.size());
  std::copy(header.begin(), header.end(), waiting->header.begin());
  waiting->body = body;
  peer.waiting.push_back(waiting.release());
  peer.waiting_cost += body.copies * message_cost(body.bytes);
  counters_.waited.add();
  counters_.waiting.add();
  counters_.most_waiting.set(std::max(counters_.most_waiting.read(), counters_.waiting.read()));
  ask_for_memory(peer, to);
}

template <conduit Conduit>
void conduit_port<Conduit>::ask_for_memory(peer_record& peer, peer_number to) {
  const message_body& first = peer.waiting.first()->body;
  const std::uint64_t cost = first.copies * message_cost(first.bytes);
  if (const auto note = peer.credit.request(cost, peer.waiting_cost - cost)) send_control(to, *note);
}

template <conduit Conduit>
void conduit_port<Conduit>::send_waiting(peer_record& peer, peer_number to) {
  while (!peer.waiting.empty()) {
    const message_body& first = peer.waiting.first()->body;
    const std::uint64_t cost = first.copies * message_cost(first.bytes);
    if (!peer.credit.covers(cost)) return ask_for_memory(peer, to);
    const std::unique_ptr<waiting_send> send(peer.waiting.pop_front());
    peer.credit.use(cost);
    peer.waiting_cost -= cost;
    counters_.waiting.set(counters_.waiting.read() - 1);
    post_now(peer, to, {send->header.data(), send->header_bytes}, send->body);
  }
}

template <conduit Conduit>
void conduit_port<Conduit>::drop_waiting_of(peer_record& peer) {
  while (waiting_send* const first = peer.waiting.pop_front()) {
    const std::unique_ptr<waiting_send> send(first);
    counters_.waiting.set(counters_.waiting.read() - 1);
    drop(send->body);
  }
  peer.waiting_cost = 0;
}

template <conduit Conduit>
void conduit_port<Conduit>::drop_waiting() {
  drops_waiting_.store(true, std::memory_order_relaxed);  // relaxed: the progress lock or flush_wanted orders it
  flush();
}

// ---- as the receiver

// Outside the order of packets: a gap must not hold back the memory that may be needed to close it.
template <conduit Conduit>
void conduit_port<Conduit>::send_control(peer_number to, const flow::credit_control& note) {
  peer_record& peer = record_of(to);
  if (peer.gone || peer.disconnected) return;
  counters_.memory_control_messages.add();
  send_unordered(to, packet_kind::credit, std::as_bytes(std::span(&note, 1)));
}

template <conduit Conduit>
void conduit_port<Conduit>::take_control(peer_record& peer, peer_number from, const flow::credit_control& note) {
  if (!memory_.has_value())
    return fail_peer(from,
                     "it talks about memory of messages in a way that this process does not know; is "
                     "port_options::message_memory (--tri-message-memory) the same in all processes?");
  switch (note.what) {
    case flow::credit_control::kind::grant:
      peer.credit.granted(note.total);
      send_waiting(peer, from);
      break;
    case flow::credit_control::kind::recall:
      peer.credit.granted(note.total);
      send_waiting(peer, from);
      recalling_.push_back(from);  // answered when the peer is connected
      break;
    case flow::credit_control::kind::request:
      memory_->requested(from, note, *this);
      break;
    case flow::credit_control::kind::returned:
      if (!memory_->returned(peer.account, note)) fail_peer(from, "it returned more memory than it had");
      break;
  }
}

// In advance, so that frequent senders need not request memory while there is plenty.
template <conduit Conduit>
void conduit_port<Conduit>::grant_more(peer_record& peer, peer_number to) {
  if (memory_->is_outdated()) memory_->given_back(user_.memory_given_back());
  if (peer.gone || peer.disconnected || !peer.reachable.load(std::memory_order_relaxed))
    return;  // relaxed: we hold the progress lock
  memory_->top_up(to, *this);
}

template <conduit Conduit>
void conduit_port<Conduit>::recall_from_all() {
  for (peer_number number = 0; number < peers_.size(); ++number) {
    const peer_record* const peer =
        peers_[number].load(std::memory_order_relaxed);  // relaxed: we hold the progress lock
    if (peer == nullptr || peer->gone || peer->disconnected) continue;
    if (peer->reachable.load(std::memory_order_relaxed)) memory_->recall_from(number, *this);  // relaxed: as above
  }
}

// After the senders are connected: they get answers.
template <conduit Conduit>
bool conduit_port<Conduit>::serve_memory() {
  for (const peer_number number : std::exchange(recalling_, {})) {
    peer_record& peer = record_of(number);
    if (peer.gone) continue;
    send_control(number, peer.credit.recalled());
    if (!peer.waiting.empty()) ask_for_memory(peer, number);
  }
  bool something = false;
  if (memory_->has_requests()) {
    const std::uint64_t notes = counters_.memory_control_messages.read();
    memory_->given_back(user_.memory_given_back());
    memory_->serve(*this);
    something = counters_.memory_control_messages.read() != notes;
  }
  const bool asked_for = memory_->has_requests() || !refused_.empty();
  if (memory_asked_for_.load(std::memory_order_relaxed) != asked_for)  // relaxed: see memory_is_asked_for()
    memory_asked_for_.store(asked_for, std::memory_order_relaxed);
  counters_.memory_in_use.set(memory_->in_use());
  counters_.memory_peak.set(memory_->peak());
  return something;
}

// No more messages come from it: memory granted to it goes to others. It grants no memory either.
template <conduit Conduit>
void conduit_port<Conduit>::part_with(peer_record& peer, peer_number number) {
  peer.disconnected = true;
  if (memory_.has_value()) memory_->peer_failed(number, *this);
  if (!peer.waiting.empty()) fail_ended(peer, number);
}

}  // namespace tri::wire
