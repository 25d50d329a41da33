// What a receive and a message are compared by. The wildcards are values of our own: those of MPI differ between
// implementations.
#pragma once

#include <cstdint>
#include <limits>

namespace tri::matching {

inline constexpr std::int32_t any_source = -1;
inline constexpr std::int32_t any_tag = std::numeric_limits<std::int32_t>::min();

struct message_key {
  std::uint64_t context = 0;  // of the communicator; agreed by its members
  std::int32_t source = 0;    // number of the sender in it, from 0
  std::int32_t tag = 0;

  /// Whether a receive with this key, which may have wildcards, matches a message with that key.
  bool takes(const message_key& message) const {
    return context == message.context && (source == any_source || source == message.source) &&
           (tag == any_tag || tag == message.tag);
  }
  bool operator==(const message_key&) const = default;
};

}  // namespace tri::matching
