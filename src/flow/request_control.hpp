// The control messages between an initiator of one-sided requests (get, put, update) and their target, as values. They
// must stay in order between two peers, except `done`, which may overtake anything: it goes with the answer.
#pragma once

#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>

#include "flow/packet.hpp"

namespace tri::flow {

enum class request_kind : std::uint8_t {
  request,  // initiator: the request itself, with the data of a put or an update
  done,     // target: executed; with the data of a get
  refused,  // target: no slot; this request and those behind it must be sent again later
  again,    // target: a slot is kept for this request, send it and what follows
};

constexpr const char* name_of(request_kind kind) {
  constexpr const char* names[] = {"request", "done", "refusal", "message to ask again"};
  return static_cast<std::size_t>(kind) < std::size(names) ? names[static_cast<std::size_t>(kind)]
                                                           : "unknown control message";
}

struct request_control {
  std::uint64_t request = 0;  // the initiator's number of it
  request_kind kind = request_kind::request;
};

/// A control message that the caller has to send; `token` is set for requests.
struct outgoing_control {
  peer_number peer = 0;
  request_control what;
  message_token token = 0;
};

/// A control message that violates the protocol: a fault of the transport or of the peer.
class request_protocol_error : public std::runtime_error {
 public:
  request_protocol_error(peer_number from, request_kind kind, const std::string& what)
      : std::runtime_error(std::string("flow control of requests: ") + name_of(kind) + " from peer " +
                           std::to_string(from) + ": " + what) {}
};

}  // namespace tri::flow
