// How the part of an array that is on one host is cut into what is registered at once: not at all, or into chunks of
// one size (Farreras 2008, chapter 6: both strategies of registration). Initiators and targets have to use the same
// values, because an initiator finds out the chunk of an offset by itself.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "arrays/addresses/address_messages.hpp"

namespace tri::arrays {

enum class registration_strategy : std::uint8_t {
  everything,  // the whole part of the array on this host, when the first remote access comes
  chunks,      // each chunk when the first access to it comes
};

struct chunking {
  registration_strategy strategy = registration_strategy::chunks;
  std::uint64_t chunk_bytes = std::uint64_t{256} << 10U;  // a power of two

  void check() const {
    if (!std::has_single_bit(chunk_bytes))
      throw std::invalid_argument("chunks of " + std::to_string(chunk_bytes) +
                                  " bytes: the size of a chunk is a power of two");
  }
  /// Offsets count from the first byte of the array on the host.
  chunk_number chunk_of(std::uint64_t offset) const {
    if (strategy == registration_strategy::everything) return 0;
    return static_cast<chunk_number>(offset >> static_cast<unsigned>(std::countr_zero(chunk_bytes)));
  }
  std::uint64_t offset_of(chunk_number chunk) const {
    return strategy == registration_strategy::everything ? 0 : chunk * chunk_bytes;
  }
  /// Of a part with `part_bytes`: its last chunk may be shorter. Zero: there is no such chunk.
  std::uint64_t bytes_of(chunk_number chunk, std::uint64_t part_bytes) const {
    if (strategy == registration_strategy::everything) return chunk == 0 ? part_bytes : 0;
    const std::uint64_t first = offset_of(chunk);
    return first < part_bytes ? std::min(chunk_bytes, part_bytes - first) : 0;
  }
  /// An operation with a cached address must stay within one chunk; others are split or use the ordinary path.
  bool is_within_one_chunk(std::uint64_t offset, std::uint64_t bytes) const {
    return bytes == 0 || chunk_of(offset) == chunk_of(offset + bytes - 1);
  }
};

}  // namespace tri::arrays
