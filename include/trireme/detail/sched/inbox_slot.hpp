// A place for one message in the inbox of another PE (inbox.hpp), between claim and publication.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace tri::sched {

struct envelope;

/// A claimed slot for one message: fill `message` (without throwing), then publish.
struct inbox_slot {
  static constexpr std::uint64_t overflow = ~std::uint64_t{0};

  envelope* message;
  std::uint64_t ticket_word;  // of the ring; or `overflow`

  bool is_overflow() const { return ticket_word == overflow; }
};

}  // namespace tri::sched

#pragma GCC visibility pop
