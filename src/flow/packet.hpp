// What travels between the two machines (Farreras 2008, chapter 4: RTS, CTS, NCTS, NCTSD, resendAll; resendOne is
// ours), as values. All but `data` are control packets and must stay in order between two peers; `data` may overtake
// anything.
#pragma once

#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "flow/peer_number.hpp"

namespace tri::flow {

using message_token = std::uint64_t;  // the caller's name of a message or a receive; never looked into

enum class packet_kind : std::uint8_t {
  rts,         // sender: may this message come? carries the age of the attempt
  cts,         // receiver: accepted, send the data to `place`
  ncts,        // receiver: refused, nothing is remembered of it but the sender's mark
  nctsd,       // receiver: recorded in order, but without a buffer yet; a cts follows
  resend_all,  // receiver: request everything refused again, in order, with this age
  data,        // sender: the payload for `place`
  resend_one,  // receiver: request again the first refused message that matches this context and tag
};

constexpr const char* name_of(packet_kind kind) {
  constexpr const char* names[] = {"RTS", "CTS", "NCTS", "NCTSD", "resendAll", "DATA", "resendOne"};
  return static_cast<std::size_t>(kind) < std::size(names) ? names[static_cast<std::size_t>(kind)] : "unknown packet";
}

/// The source of a message's memory (flow/prediction: granted by the receiver in advance).
enum class payment : std::uint8_t {
  none,    // the receiver, on request
  here,    // a credit: its data travels with the request
  before,  // a credit: its data came with an earlier request that was refused, and the receiver keeps it
};

struct packet {
  packet_kind kind = packet_kind::rts;
  payment paid = payment::none;  // rts
  bool none_asleep = false;      // rts: no refused message of its sender waits to be requested
  bool is_wanted = false;        // rts: a notified receive waits for it; its data may be included
  std::uint32_t age = 0;      // rts, resend_all, resend_one; ncts: the one that the receiver has, another if too late
  std::uint32_t context = 0;  // rts, resend_one
  std::int32_t tag = 0;       // rts, resend_one (any_tag: any)
  std::uint64_t request = 0;  // rts, and the answers to it: the sender's number
  std::uint64_t place = 0;    // cts, data: the receiver's number for the data's destination
  std::uint64_t bytes = 0;    // rts: of the message; cts, data: of it that have a place

  friend bool operator==(const packet&, const packet&) = default;
};
static_assert(sizeof(packet) == 40 && std::is_trivially_copyable_v<packet>, "sent as it is");
static_assert(std::has_unique_object_representations_v<packet>, "no padding that would leak memory onto the wire");

/// A packet that the caller has to send. `message` is set for data (whose bytes they are) and for rts.
struct outgoing {
  peer_number to = 0;
  packet what;
  message_token message = 0;
};

/// A packet that violates the protocol: a fault of the transport or of the peer.
class protocol_error : public std::runtime_error {
 public:
  protocol_error(peer_number from, packet_kind kind, const std::string& what)
      : std::runtime_error(std::string("flow control: ") + name_of(kind) + " from peer " + std::to_string(from) + ": " +
                           what) {}
};

}  // namespace tri::flow
