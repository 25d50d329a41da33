// The receiving half of conduit_port: packets are reordered by their sends, bodies get their memory, failed peers are
// reported once. Included by conduit_port.hpp alone.
#pragma once

#include <algorithm>

#include "wire/conduit_port.hpp"

namespace tri::wire {

// Null when the packet is not to be used: it is not of this job, its sender is out of order or gone, or we are closing.
template <conduit Conduit>
peer_record* conduit_port<Conduit>::sender_of(std::span<const std::byte> header, std::span<const std::byte> body,
                                              std::optional<std::size_t> announced_bytes, packet_view& view) {
  packet_fault fault;
  switch (decode_packet(rules_, header, body, announced_bytes, view, fault)) {
    case packet_verdict::valid:
      break;
    case packet_verdict::foreign:
      counters_.foreign_packets.add();
      return nullptr;
    case packet_verdict::unchecked:
      counters_.unchecked_packets.add();
      return nullptr;
    case packet_verdict::malformed:
      if (fault.from)
        fail_malformed(*fault.from, fault);
      else
        malformed_packet_ = "a malformed packet came over the wire: " + fault.text();
      return nullptr;
  }
  if (closing_) return nullptr;
  const peer_number from = view.head.from;
  peer_record& peer = record_of(from);
  if (peer.gone || !is_new(peer, view.head)) return nullptr;
  if (!peer.watching) {
    peer.watching = true;
    unwatched_.push_back(from);
  }
  peer.missed_heartbeats = 0;
  return &peer;
}

template <conduit Conduit>
void conduit_port<Conduit>::fail_malformed(peer_number from, const packet_fault& fault) {
  fail_peer(from, "it sent a malformed packet: " + fault.text());
}

// A duplicate packet was replayed by a third party, or sent by a faulty peer; dropping it loses nothing.
template <conduit Conduit>
bool conduit_port<Conduit>::is_new(peer_record& peer, const packet_head& head) {
  constexpr std::uint64_t most_ahead = std::uint64_t{1} << 31;
  const bool ordered = has_order(head.kind);
  const std::uint64_t next = ordered ? peer.expected : peer.unordered.low_water_mark();
  if (head.sequence >= next && head.sequence - next > most_ahead) {
    fail_malformed(head.from, {.field = "sequence", .value = head.sequence, .least = next, .most = next + most_ahead});
    return false;
  }
  bool is_new = false;
  if (!ordered)
    is_new = peer.unordered.add(head.sequence);
  else if (peer.early.empty()) [[likely]]
    is_new = head.sequence >= next;
  else
    is_new = head.sequence >= next && !peer.early.contains(head.sequence);
  if (!is_new) counters_.repeated_packets.add();
  return is_new;
}

template <conduit Conduit>
void conduit_port<Conduit>::packet(std::span<const std::byte> header, std::span<const std::byte> body) {
  packet_view view;
  peer_record* const peer = sender_of(header, body, std::nullopt, view);
  if (peer == nullptr) return;
  const packet_head& head = view.head;
  switch (head.kind) {
    case packet_kind::credit:
      return take_control(*peer, head.from, view.note);
    case packet_kind::heartbeat:
    case packet_kind::answer:
      counters_.heartbeats.add();
      is_heartbeat_only_ = true;
      if (head.kind == packet_kind::heartbeat &&
          peer->reachable.load(std::memory_order_relaxed))  // relaxed: we hold the progress lock
        send_heartbeat(head.from, packet_kind::answer);
      return;
    case packet_kind::short_messages:
    case packet_kind::disconnect:
      take_short(*peer, head, view.body);
      break;
    case packet_kind::one_message:
      take_single(*peer, head.from, head.sequence, view.header, view.body, head.messages);
      break;
  }
  if (memory_.has_value()) grant_more(*peer, head.from);
}

template <conduit Conduit>
void conduit_port<Conduit>::take_single(peer_record& peer, peer_number from, std::uint64_t sequence,
                                        std::span<const std::byte> header, std::span<const std::byte> body,
                                        std::uint16_t copies) {
  void* const memory = copied(from, header, body);
  if (arrives_now(peer, sequence)) {
    ++peer.expected;
    deliver(from, header, memory, body.size());
    count_arrived(peer, from, copies * message_cost(body.size()));
    deliver_early(peer, from);
    return;
  }
  early_packet& early = peer.early.try_emplace(sequence, early_packet{.kind = packet_kind::one_message}).first->second;
  early.messages.push_back({saved_header(header), memory, body.size(), copies});
  counters_.arrived_early.add();
  if (!peer.refused) request_body_memory(peer, from);
  arriving_.fetch_add(1, std::memory_order_relaxed);  // relaxed: the decrement is what others wait for
}

template <conduit Conduit>
void conduit_port<Conduit>::take_short(peer_record& peer, const packet_head& head,
                                       std::span<const std::byte> messages) {
  early_packet* early = nullptr;
  if (arrives_now(peer, head.sequence)) {
    ++peer.expected;
    if (head.kind == packet_kind::disconnect) part_with(peer, head.from);
  } else {
    early = &peer.early.try_emplace(head.sequence, early_packet{.kind = head.kind}).first->second;
    early->messages.reserve(head.messages);
    counters_.arrived_early.add();
    arriving_.fetch_add(1, std::memory_order_relaxed);  // as above
  }
  std::uint64_t cost = 0;
  for (unsigned i = 0; i < head.messages; ++i) {
    const auto [header, body, copies] = next_message(messages);
    void* const memory = copied(head.from, header, body);
    if (early == nullptr) {
      cost += copies * message_cost(body.size());
      deliver(head.from, header, memory, body.size());
    } else {
      early->messages.push_back({saved_header(header), memory, body.size(), copies});
    }
  }
  if (early == nullptr) {
    count_arrived(peer, head.from, cost);
    deliver_early(peer, head.from);
  } else if (!peer.refused) {
    request_body_memory(peer, head.from);
  }
}

template <conduit Conduit>
void* conduit_port<Conduit>::copied(peer_number from, std::span<const std::byte> header,
                                    std::span<const std::byte> body) {
  if (body.empty()) return nullptr;
  void* const memory = user_.memory_for(from, header, body.size());
  if (memory == nullptr) missing_memory(from, body.size());
  std::memcpy(memory, body.data(), body.size());
  return memory;
}

template <conduit Conduit>
void conduit_port<Conduit>::announced(std::span<const std::byte> header, std::size_t bytes, announcement body) {
  packet_view view;
  peer_record* const peer = sender_of(header, {}, bytes, view);
  if (peer == nullptr) {
    conduit_->refuse(body);
    return;
  }
  const packet_head& head = view.head;
  early_packet& early =
      peer->early.try_emplace(head.sequence, early_packet{.kind = packet_kind::one_message}).first->second;
  early.body = std::make_unique<incoming_body>(head.from, head.sequence, view.header, bytes, head.messages, body,
                                               view.check_of_body);
  arriving_.fetch_add(1, std::memory_order_relaxed);  // as above
  request_body_memory(*peer, head.from);
}

// In the order of the sends, and only as far as the order is known: a body with memory must never wait for an earlier
// one without, or a user with little memory would deadlock.
template <conduit Conduit>
bool conduit_port<Conduit>::request_body_memory(peer_record& peer, peer_number from) {
  peer.next_to_ask = std::max(peer.next_to_ask, peer.expected);
  bool something = false;
  for (auto entry = peer.early.find(peer.next_to_ask); entry != peer.early.end() && entry->first == peer.next_to_ask;
       ++entry, ++peer.next_to_ask) {
    incoming_body* const body = entry->second.body.get();
    if (body == nullptr || body->announced == nullptr) continue;
    body->memory = user_.memory_for(from, body->header.view(), body->bytes);
    if (body->memory == nullptr) {
      counters_.memory_refused.add();
      if (!peer.refused) refused_.push_back(from);
      peer.refused = true;
      return something;
    }
    peer.filling_bytes += body->bytes;
    conduit_->accept(std::exchange(body->announced, nullptr), body->memory, body->bytes, body);
    something = true;
  }
  peer.refused = false;
  return something;
}

template <conduit Conduit>
bool conduit_port<Conduit>::ask_again() {
  bool something = false;
  // Arriving messages are no longer run, so no memory is freed: a body without memory would wait for ever, as would
  // those behind it. relaxed: seen sooner or later
  if (drops_waiting_.load(std::memory_order_relaxed)) [[unlikely]] {
    unwanted_.insert(unwanted_.end(), refused_.begin(), refused_.end());
    refused_.clear();
    for (const peer_number number : unwanted_) forget_arrivals(record_of(number));
    return false;
  }
  std::erase_if(refused_, [&](peer_number number) {
    peer_record& peer = record_of(number);
    something |= request_body_memory(peer, number);
    return !peer.refused;
  });
  return something;
}

template <conduit Conduit>
bool conduit_port<Conduit>::is_changed(const incoming_body& body) const {
  const std::span bytes(static_cast<const std::byte*>(body.memory), body.bytes);
  return !are_equal(body.check, check_of_body(options_.secret.key, bytes));
}

template <conduit Conduit>
void conduit_port<Conduit>::filled(packet_token token, bool whole) {
  const auto body = static_cast<incoming_body*>(token);
  peer_record& peer = record_of(body->from);
  peer.missed_heartbeats = 0;
  peer.filling_bytes -= body->bytes;
  const bool changed = whole && options_.checks && !peer.gone && !closing_ && is_changed(*body);
  if (changed)
    fail_peer(body->from,
              "a body of " + std::to_string(body->bytes) + " bytes was changed on its way: its check value is wrong");
  body->whole = whole && !changed;
  if (!body->whole || peer.gone || closing_) {
    user_.abandoned(body->memory);
    arriving_.fetch_sub(1, std::memory_order_release);  // pairs: port.under_way
    peer.early.erase(body->sequence);
    return;
  }
  if (!arrives_now(peer, body->sequence)) counters_.arrived_early.add();
  const peer_number from = body->from;  // which does not outlive its delivery
  deliver_early(peer, from);
  if (memory_.has_value()) grant_more(peer, from);
}

template <conduit Conduit>
void conduit_port<Conduit>::deliver(peer_number from, std::span<const std::byte> header, void* body,
                                    std::size_t bytes) {
  counters_.messages_arrived.add();
  user_.arrived(from, header, body, bytes);
}

// Once for all messages of a packet, after they were delivered: until then no thread reads the account (only the lock
// holder does), and a message that has already run counts as given back at the next poll.
template <conduit Conduit>
void conduit_port<Conduit>::count_arrived(peer_record& peer, peer_number from, std::uint64_t cost) {
  if (!memory_.has_value() || memory_->arrived(peer.account, cost)) [[likely]]
    return;
  fail_peer(from,
            "it sent messages of " + std::to_string(cost) +
                " bytes for which it was granted no memory; is port_options::message_memory (--tri-message-memory) "
                "the same in all processes?");
}

template <conduit Conduit>
void conduit_port<Conduit>::deliver_early(peer_record& peer, peer_number from) {
  if (peer.early.empty()) return;
  while (!peer.early.empty() && peer.early.begin()->first == peer.expected) {
    early_packet& first = peer.early.begin()->second;
    if (first.body != nullptr && !first.body->whole) break;
    const early_packet now = std::move(first);
    peer.early.erase(peer.early.begin());
    ++peer.expected;
    arriving_.fetch_sub(1, std::memory_order_release);  // pairs: port.under_way
    if (now.kind == packet_kind::disconnect) part_with(peer, from);
    std::uint64_t cost = 0;
    if (now.body != nullptr) {
      cost += now.body->copies * message_cost(now.body->bytes);
      deliver(from, now.body->header.view(), now.body->memory, now.body->bytes);
    }
    for (const early_message& message : now.messages) {
      cost += message.copies * message_cost(message.bytes);
      deliver(from, message.header.view(), message.body, message.bytes);
    }
    count_arrived(peer, from, cost);
  }
  if (!peer.refused) request_body_memory(peer, from);  // this packet may have closed a gap before announced ones
}

// Only an endpoint of our own reports that a peer has died; so each sender to us gets one.
template <conduit Conduit>
void conduit_port<Conduit>::watch_senders() {
  for (const peer_number peer : std::exchange(unwatched_, {})) {
    peer_record& record = record_of(peer);
    if (record.reachable.load(std::memory_order_relaxed) || record.disconnected)
      continue;  // relaxed: we hold the progress lock
    try {
      const std::vector<std::byte> address_of_peer = lookup_(peer);
      connect(peer, address_of_peer);
    } catch (const std::exception& unknown) {
      fail_peer(peer, unknown.what());
    }
  }
}

template <conduit Conduit>
void conduit_port<Conduit>::fail_peer(peer_number number, const std::string& why, bool unexpected) {
  peer_record& peer = record_of(number);
  if (peer.gone) return;
  peer.gone = true;
  peer.reachable.store(true, std::memory_order_release);  // no address will be looked up. pairs: port.reachable
  if (peer.open != nullptr) {
    outgoing_packet* const packet = std::exchange(peer.open, nullptr);
    open_.remove(packet);
    counters_.dropped.add(packet->messages);
    moving_.push_back(packet);
    ++packets_under_way_;
    finish(packet);
  }
  drop_waiting_of(peer);
  if (memory_.has_value()) memory_->peer_failed(number, *this);
  forget_arrivals(peer);
  if (closing_ || !unexpected) return;
  peer.reported = true;
  failures_.push_back({number, why, std::exchange(timed_out_, false)});
}

// Deliverable messages were delivered; the rest wait for something that will not arrive. Bodies being filled stay until
// the conduit reports that it no longer writes to them.
template <conduit Conduit>
void conduit_port<Conduit>::forget_arrivals(peer_record& peer) {
  for (auto entry = peer.early.begin(); entry != peer.early.end();) {
    early_packet& packet = entry->second;
    if (packet.body != nullptr && packet.body->announced == nullptr && !packet.body->whole && conduit_.has_value()) {
      ++entry;
      continue;
    }
    for (const early_message& message : packet.messages)
      if (message.body != nullptr) user_.abandoned(message.body);
    if (packet.body != nullptr) {
      if (packet.body->announced != nullptr && conduit_.has_value()) conduit_->refuse(packet.body->announced);
      if (packet.body->memory != nullptr) user_.abandoned(packet.body->memory);
    }
    arriving_.fetch_sub(1, std::memory_order_release);  // pairs: port.under_way
    entry = peer.early.erase(entry);
  }
}

template <conduit Conduit>
bool conduit_port<Conduit>::report_failures() {
  const std::vector<peer_failure> reports = std::exchange(failures_, {});
  for (const peer_failure& failed : reports)
    failed.timed_out ? user_.timed_out(failed.peer, failed.why) : user_.peer_failed(failed.peer, failed.why);
  return !reports.empty();
}

}  // namespace tri::wire
