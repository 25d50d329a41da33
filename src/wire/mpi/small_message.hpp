// Small messages between two conduits over MPI: their kind is in the tag, so that a packet with adjacent header and
// body is sent in place, without a prefix.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tri::wire {

enum class small_kind : std::uint8_t {
  packet,        // header and body
  eager_header,  // header and eager_end: the body follows, on the channel of bodies
  rts,           // header and rts_end: the body is sent on request
  cts,           // body_name: the receive of an offered body is posted
  refused,       // body_name: an offered body is not wanted
  disconnect,    // the last one of its sender
};

struct eager_end {
  std::uint64_t bytes;
};
struct rts_end {
  std::uint64_t bytes;
  std::uint64_t name;  // of the body, by its sender
};
struct body_name {
  std::uint64_t name;
};

/// What each small message may have beyond the limit of small packets.
inline constexpr std::size_t small_message_more = sizeof(rts_end);

// A tag: the kind in the three lowest bits, the bytes of the header above. MPI grants 32767.
inline constexpr std::size_t most_header_bytes = 4095;
inline constexpr int small_tag(small_kind kind, std::size_t header_bytes) {
  return static_cast<int>(header_bytes << 3 | static_cast<std::size_t>(kind));
}
inline constexpr small_kind kind_of_tag(int tag) { return static_cast<small_kind>(tag & 7); }
inline constexpr std::size_t header_bytes_of_tag(int tag) { return static_cast<std::size_t>(tag) >> 3; }

// On the channel of bodies: requested bodies have this tag, others that of their size class (from 1 on).
inline constexpr int asked_body_tag = 0;

}  // namespace tri::wire
