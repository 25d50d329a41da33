// Which PEs of a host have seeds: a bit for each, so that a PE without work reads one word that is not written while
// there are none. In the host's record.
//
// A deque that has seeds has its bit set, or a PE is about to set it: its owner reads the bit after each push and sets
// it if need be; a PE that found the deque empty clears the bit and then looks at the deque again. Bit and deque are
// written and read in the one order of seq_cst, so at most one of the two may miss the other's write (store buffering,
// as in Dekker's algorithm). pairs: seed_hints.bit
//
// A sleeper announces its sleep and then looks at bits and deques; the owner that sets a bit then looks for sleepers.
// It looks only then: while the bit stays set somebody who was rung for it is on the way, or has taken a seed; that PE
// rings the next one when it leaves more behind, and clears the bit when it does not.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "board/work_words.hpp"

namespace tri::sched {

class seed_hints {
 public:
  static constexpr std::uint32_t most_words = 64;
  using word = std::atomic<std::uint64_t>;
  using view = board::work_words<word>;

  /// For a host of so many PEs.
  view of(int pes) { return {&summary_, words_.data(), static_cast<std::uint32_t>(pes + 63) / 64}; }

  /// Whether any PE of the job has made a seed, as far as this host knows. relaxed: a PE that misses it asks later
  bool in_use() const { return in_use_.load(std::memory_order_relaxed); }
  /// True for the first caller. relaxed: nothing else is concluded from it
  bool begin_use() { return !in_use() && !in_use_.exchange(true, std::memory_order_relaxed); }

 private:
  alignas(64) word summary_{0};
  std::array<word, most_words> words_{};
  alignas(64) std::atomic<bool> in_use_{false};
};

}  // namespace tri::sched
