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

  /// Hosts of open creations that were heard of here: 0, or the host + 1 in the upper half, and how many of its
  /// creations were heard of in the lower. A host keeps its place as long as it has an open creation.
  static constexpr std::uint32_t most_places = 3;
  std::uint32_t places = most_places;  // fewer in explorations
  Word<std::uint64_t> open_makers[most_places]{};
  /// Hosts of open creations that have no place.
  Word<std::uint64_t> unlisted_makers{0};
};

/// The open creations that the sender of a message may know: of each host in it, so many of its first ones. Travels
/// with the message, which waits at its receiver until they lie in the inboxes there.
struct known_creations {
  static constexpr std::uint32_t most_makers = host_creations<>::most_places + 1;
  struct of_host {
    std::uint32_t host;
    std::uint32_t creations;
  };
  std::uint32_t makers = 0;
  of_host maker[most_makers] = {};
};

}  // namespace tri::sched
