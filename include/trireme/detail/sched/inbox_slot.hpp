// A place for one message in the inbox of another PE (inbox.hpp), between claim and publication.
#pragma once

#include <cstdint>

namespace tri::sched {

struct cell_ring;
struct envelope;

/// A claimed slot for one message: fill `message` (without throwing), then publish.
struct inbox_slot {
  envelope* message;
  cell_ring* ring;  // null: overflow list
  std::uint64_t ticket;
};

}  // namespace tri::sched
