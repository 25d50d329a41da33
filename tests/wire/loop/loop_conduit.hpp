// The conduit over a network inside the process (loop_network.hpp), for tests of what is above conduits.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "wire/conduit.hpp"
#include "wire/loop/loop_network.hpp"

namespace tri::wire {

class loop_conduit {
 public:
  /// The network outlives the conduit.
  loop_conduit(loop_network& network, peer_number self);
  ~loop_conduit();
  loop_conduit(const loop_conduit&) = delete;
  loop_conduit& operator=(const loop_conduit&) = delete;

  std::span<const std::byte> address() const { return std::as_bytes(std::span(&self_, 1)); }
  void connect(peer_number peer, std::span<const std::byte> address);
  peer_state state(peer_number peer) const;
  send_result send(peer_number to, sending how, std::span<const std::byte> header, std::span<const std::byte> body,
                   packet_token token);
  void accept(announcement body, void* memory, std::size_t bytes, packet_token token);
  void refuse(announcement body);
  bool progress(conduit_events& events);
  int wake_descriptor() const;
  static constexpr bool reports_sends = false;
  bool prepare_sleep();
  std::int64_t longest_sleep_ns() const { return -1; }
  void wake();
  bool close(conduit_events& events, bool at_once);

 private:
  using event = loop_network::event;
  using kind = event::kind;
  using callback = std::function<void(conduit_events&)>;

  // What the event asks to be told, without the lock; the first half is under it.
  std::vector<callback> handle(event& happened);
  std::vector<callback> fail_peer(peer_number peer);
  loop_network::member& own() const { return network_.members_[self_]; }

  loop_network& network_;
  const peer_number self_;
};

static_assert(conduit<loop_conduit>);

}  // namespace tri::wire
