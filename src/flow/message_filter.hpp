// Which messages a receive takes: context and tag as in MPI, with wildcards. The rule is matching::message_key's.
#pragma once

#include <cstdint>
#include <limits>

#include "flow/packet.hpp"
#include "matching/message_key.hpp"

namespace tri::flow {

using matching::any_tag;
inline constexpr peer_number any_source = std::numeric_limits<peer_number>::max();
static_assert(static_cast<std::int32_t>(any_source) == matching::any_source);

constexpr matching::message_key key_of(peer_number source, std::uint32_t context, std::int32_t tag) {
  return {context, static_cast<std::int32_t>(source), tag};
}

struct message_filter {
  peer_number source = any_source;
  std::uint32_t context = 0;
  std::int32_t tag = any_tag;

  constexpr matching::message_key key() const { return key_of(source, context, tag); }
  bool takes(peer_number from, std::uint32_t with_context, std::int32_t with_tag) const {
    return key().takes(key_of(from, with_context, with_tag));
  }
};

}  // namespace tri::flow
