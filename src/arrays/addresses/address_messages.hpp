// What hosts send each other about the addresses of array memory: an address that travels with a reply, the
// invalidation of a cached address, and its acknowledgement. Plain values; the caller packs them into its packets.
//
// The epoch is a counter of the target: it rises with each invalidation that the target starts. A reply carries its
// value at the time of the reply. An initiator that has seen a higher one from this target takes no address from the
// reply: the invalidation may have been about just this address, and may have overtaken it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tri::arrays {

/// The number of a global array, the same on every host.
using array_handle = std::uint64_t;
/// 0 to hosts - 1.
using host_number = std::uint32_t;
/// Of the part of an array on one host (chunking.hpp).
using chunk_number = std::uint32_t;
/// What the network demands together with an address. No two registrations of one host have the same.
using registration_key = std::uint64_t;
using invalidation_epoch = std::uint64_t;

struct remote_address {
  std::uint64_t address = 0;
  registration_key key = 0;

  bool operator==(const remote_address&) const = default;
};

/// Target to initiator, with the data of a get or the acknowledgement of a put.
struct reply_address {
  array_handle array = 0;
  chunk_number chunk = 0;
  invalidation_epoch epoch = 0;
  remote_address where;  // of the first byte of the chunk
};

/// Target to initiator: the address must not be used any more.
struct invalidation {
  array_handle array = 0;
  chunk_number chunk = 0;
  invalidation_epoch epoch = 0;
};

/// Initiator to target: the address is not used any more, and no operation with it is in flight.
struct acknowledgement {
  array_handle array = 0;
  chunk_number chunk = 0;
  invalidation_epoch epoch = 0;  // that of the invalidation
};

struct outgoing_invalidation {
  host_number to = 0;
  invalidation what;
};

struct outgoing_acknowledgement {
  host_number to = 0;
  acknowledgement what;
};

/// The other host broke the protocol. What it had sent was not carried out.
class address_protocol_error : public std::logic_error {
 public:
  address_protocol_error(host_number from, array_handle array, chunk_number chunk, const std::string& what)
      : std::logic_error("addresses of arrays: host " + std::to_string(from) + ", array " + std::to_string(array) +
                         ", chunk " + std::to_string(chunk) + ": " + what) {}
};

}  // namespace tri::arrays
