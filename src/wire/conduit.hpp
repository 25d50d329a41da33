// Carries packets between processes: the concept that every transport implements, and its callbacks. A conduit handles
// peers, packets and memory; order, protocols by size and coalescing are the port's (conduit_port.hpp).
//
// A conduit promises: a packet that was sent arrives once and whole, or its peer is reported as failed. No order:
// packets may overtake each other where a transport has several paths.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "flow/peer_number.hpp"

namespace tri::wire {

using flow::peer_number;

/// Identifies a packet at its sender and a body at its receiver: a base of the port's own record.
struct packet_record {
  void* conduit = nullptr;  // for the conduit while the packet or the body is in flight
};
using packet_token = packet_record*;

/// A body that a peer has announced and that has no memory yet.
using announcement = void*;

/// Called by a conduit, only inside its progress().
class conduit_events {
 public:
  /// A packet has arrived. Both spans are valid during the call.
  virtual void packet(std::span<const std::byte> header, std::span<const std::byte> body) = 0;
  /// A packet has arrived whose body of `bytes` is still at its sender. The port calls accept() for it, now or later.
  virtual void announced(std::span<const std::byte> header, std::size_t bytes, announcement body) = 0;
  /// The memory given to accept() is filled or, if not `whole`, will never be and is not written any more.
  virtual void filled(packet_token token, bool whole) = 0;
  /// The memory of a packet for which send() said `under_way` may be used again.
  virtual void sent(packet_token token) = 0;
  /// The peer is unreachable. Once per peer; packets in flight to it still end with sent().
  virtual void peer_failed(peer_number peer, const std::string& why) = 0;
  /// Something connected that is not a process of the job, or is late with saying so, and was turned away.
  virtual void turned_away() {}

 protected:
  ~conduit_events() = default;
};

enum class sending : std::uint8_t {
  copied,     // the body goes with the header
  announced,  // the header goes ahead, the body when the receiver has memory for it
};

enum class send_result : std::uint8_t {
  done,       // the memory may be used again; sent() will not be called
  under_way,  // header and body stay where they are until sent()
};

enum class peer_state : std::uint8_t { unknown, connected, failed };

/// All but wake() are called by one thread at a time; send() and accept() also inside the calls of conduit_events.
template <class Conduit>
concept conduit = requires(Conduit wire, const Conduit& seen, conduit_events& events, peer_number peer,
                           std::span<const std::byte> bytes, sending how, packet_token token, announcement body,
                           void* memory, std::size_t size) {
  /// The address that a peer passes to connect().
  { seen.address() } -> std::same_as<std::span<const std::byte>>;
  /// Before the first send to a peer. Throws std::runtime_error when it cannot be reached.
  { wire.connect(peer, bytes) } -> std::same_as<void>;
  { seen.state(peer) } -> std::same_as<peer_state>;
  /// To a connected or failed peer; to a failed one it does nothing and is `done`.
  { wire.send(peer, how, bytes, bytes, token) } -> std::same_as<send_result>;
  { wire.accept(body, memory, size, token) } -> std::same_as<void>;
  /// The body is not wanted any more; its sender is notified that it may use its memory again.
  { wire.refuse(body) } -> std::same_as<void>;
  /// True if something happened.
  { wire.progress(events) } -> std::same_as<bool>;
  /// Readable when progress() has something to do after prepare_sleep() said true; -1: this conduit cannot sleep.
  { seen.wake_descriptor() } -> std::same_as<int>;
  { wire.prepare_sleep() } -> std::same_as<bool>;
  /// Whether it also becomes readable when packets in flight can progress. If not, a thread that sleeps while packets
  /// are in flight is woken to poll.
  { Conduit::reports_sends } -> std::convertible_to<bool>;
  /// After that: how long to sleep at most, because the descriptor does not report everything; -1: it does.
  { seen.longest_sleep_ns() } -> std::same_as<std::int64_t>;
  /// Makes the descriptor readable. Any thread.
  { wire.wake() } -> std::same_as<void>;
  /// Closes all connections, after finishing packets in flight or, with `at_once`, without. Repeated until it returns
  /// true.
  { wire.close(events, /*at_once=*/true) } -> std::same_as<bool>;
};

}  // namespace tri::wire
