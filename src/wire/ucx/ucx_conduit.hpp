// The conduit over active messages of UCX (libucp, loaded when the first one is made). One worker; endpoints on first
// use, with failure detection, so that a peer that dies is reported. The owner calls it from one thread at a time
// (UCX's own locks are not enabled). Facts about UCX 1.13 that this relies on are in README.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wire/conduit.hpp"

namespace tri::wire {

struct ucx_options {
  std::string transports;  // as in UCX_TLS; empty: from the environment, otherwise all networks
  std::string devices;     // as in UCX_NET_DEVICES, separated by commas; empty: from the environment, otherwise all
};

class ucx_conduit {
 public:
  /// Throws std::runtime_error: the library is missing, a device does not exist, no transport is usable.
  ucx_conduit(std::size_t peers, const ucx_options& options);
  ~ucx_conduit();
  ucx_conduit(const ucx_conduit&) = delete;
  ucx_conduit& operator=(const ucx_conduit&) = delete;

  std::span<const std::byte> address() const;
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
  class worker;
  std::unique_ptr<worker> worker_;
};

static_assert(conduit<ucx_conduit>);

}  // namespace tri::wire
