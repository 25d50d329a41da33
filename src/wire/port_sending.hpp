// The sending half of conduit_port, with the progress lock and the end of the port. Included by conduit_port.hpp alone.
#pragma once

#include <algorithm>
#include <chrono>

#include "wire/conduit_port.hpp"

namespace tri::wire {

template <conduit Conduit>
void conduit_port<Conduit>::send(peer_number to, std::span<const std::byte> header, message_body body) {
  if (to == self_ || to >= peers_.size() || header.size() > header_limit)
    refuse_send(to, self_, peers_.size(), header.size());
  std::vector<std::byte> address_of_peer;
  const peer_record* const known = peers_[to].load(std::memory_order_acquire);  // pairs: port.record
  if (known == nullptr || !known->reachable.load(std::memory_order_acquire))    // pairs: port.reachable
    address_of_peer = lookup_(to);
  under_way_.fetch_add(1, std::memory_order_relaxed);  // relaxed: this thread knows of its message anyway
  if (!options_.funnelled && progress_lock_.try_acquire()) {
    take_outbox();  // earlier messages of this thread go first
    if (!address_of_peer.empty()) connect(to, address_of_peer);
    post(to, header, body);
    leave();
    return;
  }
  auto waiting = std::make_unique<waiting_send>();
  waiting->to = to;
  waiting->header_bytes = static_cast<std::uint32_t>(header.size());
  std::copy(header.begin(), header.end(), waiting->header.begin());
  waiting->body = body;
  waiting->address = std::move(address_of_peer);
  outbox_.push(std::move(waiting));
  counters_.sends_handed_over.add_from_any_thread();
  if (options_.funnelled)
    wake_funnel();
  else if (progress_lock_.try_acquire())
    leave();
}

// After something was left for the thread that is alone at the transport.
template <conduit Conduit>
void conduit_port<Conduit>::wake_funnel() {
  // seq_cst, both: pushed before this load, and that thread checks for pushes after it has set this. One of the two
  // sees the other. pairs: port.funnel_sleeps, outbox.empty
  if (funnel_sleeps_.load(std::memory_order_seq_cst) && funnel_sleeps_.exchange(false, std::memory_order_seq_cst))
    conduit_->wake();
}

// Releases the progress lock, with nothing left that others handed over.
template <conduit Conduit>
void conduit_port<Conduit>::leave() {
  do {
    if (!options_.funnelled) take_outbox();
    // exchange: the loop sees flushes requested after this. pairs: port.flush_wanted
    const bool wanted =
        flush_wanted_.load(std::memory_order_relaxed) && flush_wanted_.exchange(false, std::memory_order_seq_cst);
    // A sleeper makes no progress: coalesced messages would stay, and unfinished operations of the conduit may need
    // progress.
    const bool asleep = !sleepers_.empty();
    if (wanted || asleep) send_open();
    // relaxed: a thread that sets it does this itself afterwards, or leaves it to the holder of the progress lock, by
    // flush_wanted
    if (counters_.waiting.read() != 0 && drops_waiting_.load(std::memory_order_relaxed)) [[unlikely]]
      for (std::atomic<peer_record*>& of_peer : peers_)
        if (peer_record* const peer = of_peer.load(std::memory_order_relaxed)) drop_waiting_of(*peer);
    // The descriptor does not show either that a body would have memory now, or that memory was given back.
    const bool waits = !refused_.empty() || (memory_.has_value() && memory_->has_requests());
    if (asleep && ((packets_under_way_ != 0 && !Conduit::reports_sends) || waits)) {
      sleepers_.clear();
      counters_.wakes.add();
      conduit_->wake();
    }
    progress_lock_.release();
    // pairs: outbox.empty, port.flush_wanted: pushed before this load, or its thread gets the progress lock
    // Funnelled: the holder of the progress lock comes again before it sleeps.
  } while (!options_.funnelled && (!outbox_.empty() || flush_wanted_.load(std::memory_order_seq_cst)) &&
           progress_lock_.try_acquire());
}

template <conduit Conduit>
bool conduit_port<Conduit>::take_outbox() {
  bool something = false;
  if (taken_ == nullptr) taken_ = outbox_.take();
  while (taken_ != nullptr && !is_restrained()) {
    if (sends_left_ != 0) --sends_left_;
    const std::unique_ptr<waiting_send> send(taken_);
    taken_ = send->next;
    if (!send->address.empty()) connect(send->to, send->address);
    post(send->to, {send->header.data(), send->header_bytes}, send->body);
    something = true;
  }
  return something;
}

template <conduit Conduit>
void conduit_port<Conduit>::flush() {
  flush_wanted_.store(true, std::memory_order_seq_cst);  // pairs: port.flush_wanted
  if (options_.funnelled)
    wake_funnel();
  else if (progress_lock_.try_acquire())
    leave();
}

template <conduit Conduit>
bool conduit_port<Conduit>::prepare_sleep() {
  if (!progress_lock_.try_acquire()) return false;
  // What the user waits for may have come with a wake-up that another thread has consumed. Before the conduit's
  // prepare_sleep: what comes from here on wakes again.
  const bool delivered = user_.polled();
  take_outbox();
  send_open();
  // The descriptor does not show that memory was given back, or that a body would have memory now.
  const bool wanted = !refused_.empty() || (memory_.has_value() && memory_->has_requests());
  bool may_sleep = !delivered && !wanted && taken_ == nullptr && failures_.empty() && malformed_packet_.empty() &&
                   conduit_->prepare_sleep();
  if (may_sleep && options_.funnelled) {
    // Threads that push from here on wake us; earlier pushes are seen now. After the conduit's prepare_sleep, because
    // that consumes an earlier wake-up. pairs: port.funnel_sleeps
    funnel_sleeps_.store(true, std::memory_order_seq_cst);
    may_sleep = outbox_.empty() && !flush_wanted_.load(std::memory_order_seq_cst);
  }
  if (may_sleep && std::find(sleepers_.begin(), sleepers_.end(), this_thread()) == sleepers_.end())
    sleepers_.push_back(this_thread());
  if (!may_sleep) funnel_sleeps_.store(false, std::memory_order_relaxed);  // relaxed: awake, it checks again anyway
  leave();
  return may_sleep;
}

template <conduit Conduit>
bool conduit_port<Conduit>::progress() {
  if (!progress_lock_.try_acquire()) return false;
  counters_.polls.add();
  // We are awake. Others may sleep on: this thread may be busy for long after its next send.
  if (!sleepers_.empty()) std::erase(sleepers_, this_thread());
  if (options_.funnelled) funnel_sleeps_.store(false, std::memory_order_relaxed);  // relaxed: it checks below
  is_heartbeat_only_ = false;
  bool something = take_outbox();
  something |= send_open();
  something |= conduit_->progress(*this);
  something |= user_.polled();
  sends_left_ = options_.sends_per_poll;
  something |= ask_again();
  watch_senders();
  if (memory_.has_value()) something |= serve_memory();
  if (heartbeat_is_due_.load(std::memory_order_relaxed)) [[unlikely]]  // relaxed: see heartbeat()
    send_heartbeat_requests();
  something |= report_failures();
  take_outbox();  // messages sent by the callbacks must not wait for the next call
  send_open();
  if (something && !is_heartbeat_only_) counters_.moves.add();
  const std::string malformed = std::exchange(malformed_packet_, {});
  leave();
  if (!malformed.empty()) throw std::runtime_error(malformed);
  return something;
}

template <conduit Conduit>
peer_record& conduit_port<Conduit>::record_of(peer_number peer) {
  peer_record* record =
      peers_[peer].load(std::memory_order_relaxed);  // relaxed: made by the holder of the progress lock
  if (record == nullptr) {
    record = new peer_record;
    if (memory_.has_value()) {
      memory_->known(record->account);
      record->credit.granted(memory_->initial());
    }
    peers_[peer].store(record, std::memory_order_release);  // pairs: port.record
  }
  return *record;
}

template <conduit Conduit>
void conduit_port<Conduit>::connect(peer_number peer, std::span<const std::byte> address_of_peer) {
  peer_record& record = record_of(peer);
  if (record.reachable.load(std::memory_order_relaxed)) return;  // relaxed: written by the holder of the progress lock
  try {
    const port_address theirs = decode_address(peer, address_of_peer);
    if (theirs.has_checks != options_.checks)
      throw std::runtime_error(
          theirs.has_checks
              ? "it wants check values, this process does not: --tri-wire-authentication must be the same in all"
              : "it wants no check values, this process does: --tri-wire-authentication must be the same in all");
    record.secret = theirs.secret;
    conduit_->connect(peer, theirs.of_conduit);
    record.reachable.store(true, std::memory_order_release);  // pairs: port.reachable
  } catch (const std::exception& unreachable) {
    fail_peer(peer, unreachable.what());
  }
}

template <conduit Conduit>
void conduit_port<Conduit>::post(peer_number to, std::span<const std::byte> header, const message_body& body) {
  peer_record& peer = record_of(to);
  if (peer.disconnected) fail_ended(peer, to);
  if (peer.gone) {
    drop(body);
    return;
  }
  if (memory_.has_value() && body.copies != 0) {
    const std::uint64_t cost = body.copies * message_cost(body.bytes);
    if (!peer.waiting.empty() || !peer.credit.covers(cost)) [[unlikely]]
      return wait_for_memory(peer, to, header, body);
    peer.credit.use(cost);
  }
  post_now(peer, to, header, body);
}

// There are messages for a peer that has disconnected.
template <conduit Conduit>
void conduit_port<Conduit>::fail_ended(peer_record& peer, peer_number number) {
  if (std::exchange(peer.reported, true)) return;
  failures_.push_back({number, "it has ended, and a message was sent to it after that", false});
  fail_peer(number, {}, /*unexpected=*/false);
}

template <conduit Conduit>
void conduit_port<Conduit>::post_now(peer_record& peer, peer_number to, std::span<const std::byte> header,
                                     const message_body& body) {
  counters_.messages_sent.add();
  counters_.bytes_sent.add(header.size() + body.bytes);
  if (header.size() + body.bytes <= options_.short_limit)
    post_short(peer, to, header, body);
  else
    post_alone(peer, to, header, body);
}

template <conduit Conduit>
void conduit_port<Conduit>::post_short(peer_record& peer, peer_number to, std::span<const std::byte> header,
                                       const message_body& body) {
  const std::size_t needed = sizeof(message_head) + header.size() + body.bytes;
  if (peer.open != nullptr && peer.open->used + needed > peer.open->capacity) {
    counters_.packets_filled.add();
    send_short(peer.open);
  }
  if (peer.open == nullptr) {
    peer.open = open_packet(to);
    open_.push_back(peer.open);
  }
  outgoing_packet& packet = *peer.open;
  const message_head head = {.body_bytes = static_cast<std::uint32_t>(body.bytes),
                             .header_bytes = static_cast<std::uint16_t>(header.size()),
                             .copies = body.copies};
  packet.append(&head, sizeof head);
  packet.append(header.data(), header.size());
  packet.append(body.block, body.bytes);
  ++packet.messages;
  if (body.trace != 0) [[unlikely]]
    packet.traced.push_back(body.trace);
  counters_.short_sent.add();
  body.give_back();
  if (packet.messages == options_.coalesce_messages || packet.messages == 65535) send_short(&packet);
  if (longest_hold_ == 0) return;
  // A packet that was opened just now cannot be too old, however long this thread was away since.
  const std::uint64_t now = peer.open != nullptr && peer.open->messages == 1 ? peer.open->opened_at : os::ticks();
  while (!open_.empty() && static_cast<std::int64_t>(now - open_.first()->opened_at - longest_hold_) > 0)
    send_short(open_.first());
}

template <conduit Conduit>
outgoing_packet* conduit_port<Conduit>::open_packet(peer_number to) {
  std::unique_ptr<outgoing_packet> packet;
  if (spare_short_.empty()) {
    packet = std::make_unique<outgoing_packet>(outgoing_packet::kind::short_messages, options_.packet_bytes);
  } else {
    packet = std::move(spare_short_.back());
    spare_short_.pop_back();
  }
  packet->to = to;
  packet->messages = 0;
  packet->traced.clear();
  packet->used = sizeof(packet_head) + check_bytes_;  // filled in when it is sent
  packet->body = {};
  packet->opened_at = longest_hold_ == 0 ? 0 : os::ticks();
  return packet.release();
}

// An open packet leaves; so does one that never was in the list, when it disconnects.
template <conduit Conduit>
void conduit_port<Conduit>::send_short(outgoing_packet* packet, packet_kind kind) {
  peer_record& peer = record_of(packet->to);
  if (peer.open == packet) {
    open_.remove(packet);
    peer.open = nullptr;
  }
  const packet_head head = {.tag = peer.secret.tag,
                            .sequence = peer.next_sequence++,
                            .from = self_,
                            .kind = kind,
                            .messages = static_cast<std::uint16_t>(packet->messages)};
  std::memcpy(packet->bytes.get(), &head, sizeof head);
  if (options_.checks) sign(*packet, head, {}, std::nullopt);
  counters_.short_packets.add();
  moving_.push_back(packet);
  ++packets_under_way_;
  if (!packet->traced.empty()) [[unlikely]] {
    for (const std::uint64_t trace : packet->traced) user_.left(packet->to, trace);
    packet->traced.clear();
  }
  if (conduit_->send(packet->to, sending::copied, {}, packet->contents(), packet) == send_result::done) finish(packet);
}

template <conduit Conduit>
bool conduit_port<Conduit>::send_open() {
  const bool something = !open_.empty();
  while (!open_.empty()) send_short(open_.first());
  return something;
}

// Fills in the check value of an otherwise complete packet.
template <conduit Conduit>
void conduit_port<Conduit>::sign(outgoing_packet& packet, const packet_head& head, std::span<const std::byte> body,
                                 std::optional<std::size_t> announced_bytes) {
  const std::span<const std::byte> rest = packet.contents().subspan(sizeof head + check_bytes_);
  const check_value value = check_of_packet(record_of(packet.to).secret.key, head, rest, body, announced_bytes);
  std::memcpy(packet.bytes.get() + sizeof head, value.data(), value.size());
}

// Of no message yet.
template <conduit Conduit>
outgoing_packet* conduit_port<Conduit>::packet_alone(peer_number to) {
  std::unique_ptr<outgoing_packet> packet;
  if (spare_alone_.empty()) {
    packet = std::make_unique<outgoing_packet>(outgoing_packet::kind::one_message,
                                               sizeof(packet_head) + 2 * check_bytes_ + header_limit);
  } else {
    packet = std::move(spare_alone_.back());
    spare_alone_.pop_back();
  }
  packet->to = to;
  packet->messages = 0;
  packet->used = 0;
  packet->body = {};
  return packet.release();
}

template <conduit Conduit>
void conduit_port<Conduit>::post_alone(peer_record& peer, peer_number to, std::span<const std::byte> header,
                                       const message_body& body) {
  if (peer.open != nullptr) send_short(peer.open);  // sent before this one, so numbered before it
  outgoing_packet* const packet = packet_alone(to);
  packet->messages = 1;
  packet->body = body;
  const packet_head head = {.tag = peer.secret.tag,
                            .sequence = peer.next_sequence++,
                            .from = self_,
                            .kind = packet_kind::one_message,
                            .messages = body.copies};
  // A header alone has nothing to announce.
  const bool announce = body.bytes != 0 && header.size() + body.bytes > options_.eager_limit;
  const std::span bytes(static_cast<const std::byte*>(body.block), body.bytes);
  packet->append(&head, sizeof head);
  packet->used += check_bytes_;
  if (options_.checks && announce) {
    const check_value of_body = check_of_body(peer.secret.key, bytes);
    packet->append(of_body.data(), of_body.size());
  }
  packet->append(header.data(), header.size());
  if (options_.checks)
    sign(*packet, head, announce ? std::span<const std::byte>{} : bytes,
         announce ? std::optional(body.bytes) : std::nullopt);
  (announce ? counters_.rendezvous_sent : counters_.eager_sent).add();
  moving_.push_back(packet);
  ++packets_under_way_;
  if (body.trace != 0) [[unlikely]]
    user_.left(to, body.trace);
  if (conduit_->send(to, announce ? sending::announced : sending::copied, packet->contents(), bytes, packet) ==
      send_result::done)
    finish(packet);
}

template <conduit Conduit>
void conduit_port<Conduit>::sent(packet_token token) {
  auto* const packet = static_cast<outgoing_packet*>(token);
  if (packet->messages == 0) is_heartbeat_only_ = true;
  finish(packet);
}

template <conduit Conduit>
void conduit_port<Conduit>::finish(outgoing_packet* packet) {
  moving_.remove(packet);
  --packets_under_way_;
  const bool alone = packet->holds == outgoing_packet::kind::one_message;
  if (alone) packet->body.give_back();
  under_way_.fetch_sub(packet->messages, std::memory_order_release);  // pairs: port.under_way
  auto& spare = alone ? spare_alone_ : spare_short_;
  // Enough for a burst; a backlog caused by a slow peer goes back to the heap.
  constexpr std::size_t kept = 64;
  std::unique_ptr<outgoing_packet> done(packet);
  if (spare.size() < kept) spare.push_back(std::move(done));
}

template <conduit Conduit>
void conduit_port<Conduit>::drop(const message_body& body) {
  counters_.dropped.add();
  body.give_back();
  under_way_.fetch_sub(1, std::memory_order_release);  // pairs: port.under_way
}

template <conduit Conduit>
conduit_port<Conduit>::~conduit_port() {
  static_cast<void>(progress_lock_.try_acquire());
  try {
    close();
  } catch (const std::exception&) {
    // A conduit that fails while closing: what it held is still released below.
  }
  conduit_.reset();
  while (outgoing_packet* const packet = moving_.pop_front()) {
    packet->body.give_back();
    delete packet;
  }
  while (outgoing_packet* const packet = open_.pop_front()) delete packet;
  for (std::atomic<peer_record*>& of_peer : peers_) {
    const std::unique_ptr<peer_record> record(of_peer.load(std::memory_order_relaxed));  // relaxed: alone here
    if (record != nullptr) forget_arrivals(*record);
  }
}

template <conduit Conduit>
void conduit_port<Conduit>::close() {
  using clock = std::chrono::steady_clock;
  const auto deadline = clock::now() + std::chrono::milliseconds(options_.close_timeout_ms);
  closing_ = true;
  while (take_outbox()) {
  }
  for (std::atomic<peer_record*>& of_peer : peers_)
    if (peer_record* const peer = of_peer.load(std::memory_order_relaxed))  // relaxed: alone here
      drop_waiting_of(*peer);
  send_open();
  for (peer_number peer = 0; peer < peers_.size(); ++peer) {
    const peer_record* const record = peers_[peer].load(std::memory_order_relaxed);  // relaxed: alone here
    if (record == nullptr || record->gone || record->disconnected) continue;
    if (!record->reachable.load(std::memory_order_relaxed)) continue;
    send_short(open_packet(peer), packet_kind::disconnect);
  }
  // First bodies that will not be received: their senders may continue. Then bodies that the peers must still fetch,
  // then the connections.
  for (std::atomic<peer_record*>& of_peer : peers_) {
    peer_record* const record = of_peer.load(std::memory_order_relaxed);  // relaxed: alone here
    if (record != nullptr) forget_arrivals(*record);
  }
  bool closed = false;
  while (!closed && clock::now() < deadline) {
    if (!conduit_->progress(*this)) sched_yield();
    if (packets_under_way_ == 0) closed = conduit_->close(*this, /*at_once=*/false);
  }
  if (!closed) conduit_->close(*this, /*at_once=*/true);
}

}  // namespace tri::wire
