// The conduit over TCP, without any library. A sender to a peer connects to it, and both prove that they belong to the
// job before anything else is read (handshake.hpp); so there are up to two connections between two processes. The owner
// calls it from one thread at a time. frame_format.hpp has the format, README.md the reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "wire/conduit.hpp"

namespace tri::wire {

struct tcp_options {
  std::string network;  // as in --tri-network: interfaces and networks on which to listen; never empty
  std::size_t longest_packet = std::size_t{1} << 20;  // body of one that is not announced; the same in all processes
  /// A listener that does not send a welcome may be a foreign process, or the peer while it computes: after so long
  /// another address of the peer is tried, too.
  std::int64_t time_to_welcome_ns = 3'000'000'000;
  /// Until descriptors or memory for a connection are asked for again when there were none.
  std::int64_t pause_in_shortage_ns = 1'000'000'000;
};

class tcp_conduit {
 public:
  /// Throws std::runtime_error: the network does not exist, or nothing of it can be listened on.
  tcp_conduit(peer_number self, std::size_t peers, const tcp_options& options);
  ~tcp_conduit();
  tcp_conduit(const tcp_conduit&) = delete;
  tcp_conduit& operator=(const tcp_conduit&) = delete;

  std::span<const std::byte> address() const;
  /// Throws std::runtime_error for bytes that are not an address of this conduit. An absent process counts as a failed
  /// peer.
  void connect(peer_number peer, std::span<const std::byte> address);
  peer_state state(peer_number peer) const;
  /// Throws std::length_error for a header or a body longer than the receiver accepts.
  send_result send(peer_number to, sending how, std::span<const std::byte> header, std::span<const std::byte> body,
                   packet_token token);
  void accept(announcement body, void* memory, std::size_t bytes, packet_token token);
  void refuse(announcement body);
  bool progress(conduit_events& events);
  int wake_descriptor() const;
  static constexpr bool reports_sends = true;
  bool prepare_sleep();
  std::int64_t longest_sleep_ns() const { return -1; }
  void wake();
  bool close(conduit_events& events, bool at_once);

 private:
  class engine;
  std::unique_ptr<engine> engine_;
};

static_assert(conduit<tcp_conduit>);

}  // namespace tri::wire
