// What the processes of a host share for the fence between creations and messages (creation_fence.hpp).
#pragma once

#include <atomic>
#include <cstdint>

namespace tri::sched {

/// Creations that are not known to be everywhere; shared by the processes of a host. All counts but the first only
/// grow. `Word`: std::atomic, or a stand-in in an exploration.
template <template <class> class Word = std::atomic>
struct host_creations {
  /// How many: begun here or heard of, and not globally visible. Raised before any PE of the host can know the
  /// collection, by whose inbox it then learns of it; so a reader of 0 knows of none. pairs: itself
  alignas(64) Word<std::uint64_t> pending{0};
  /// Of this host: numbers drawn, and how many of them, in this order, are globally visible.
  Word<std::uint64_t> begun{0};
  Word<std::uint64_t> globally_visible{0};
  /// Of other hosts, in the order in which they were heard of: how many, and how many from the first on are globally
  /// visible.
  Word<std::uint64_t> heard{0};
  Word<std::uint64_t> heard_and_globally_visible{0};
};

}  // namespace tri::sched
