// Which messages a receive matches: context and tag as in MPI, with wildcards.
#pragma once

#include <cstdint>
#include <limits>

#include "flow/packet.hpp"

namespace tri::wire::flow {

inline constexpr peer_number any_source = std::numeric_limits<peer_number>::max();
inline constexpr std::int32_t any_tag = std::numeric_limits<std::int32_t>::min();

struct message_filter {
  peer_number source = any_source;
  std::uint32_t context = 0;
  std::int32_t tag = any_tag;

  bool takes(peer_number from, std::uint32_t with_context, std::int32_t with_tag) const {
    return context == with_context && (source == any_source || source == from) && (tag == any_tag || tag == with_tag);
  }
};

}  // namespace tri::wire::flow
