// The seeds of one PE: messages that may begin on any PE of the host. Its owner pushes and pops at one end, the newest
// first, so a tree that grows from seeds is walked depth first and few wait. Others take the oldest, which in a tree
// stands for the most work.
//
// After D. Chase and Y. Lev, "Dynamic circular work-stealing deque" (SPAA 2005). In arena memory, so PEs of all
// processes of the host take part. Envelopes lie in the ring itself, word by word in atomics: a thief may read a cell
// that the owner is writing again, and then finds that another one has taken the seed. Rings that were too small are
// left to the arena, which ends with the job: thieves may still read them, and together they are smaller than the ring
// in use.
#pragma once

#include <atomic>
#include <cstdint>

#include "trireme/detail/sched/envelope.hpp"

namespace tri::sched {

class seed_deque {
 public:
  enum class outcome : std::uint8_t {
    taken,
    empty,
    lost,  // another PE took that one at the same moment; there may be more
  };

  /// The first ring has so many places, a power of two.
  explicit seed_deque(std::int64_t first_capacity) : first_capacity_(first_capacity) {}
  seed_deque() : seed_deque(64) {}

  // ---- by the owner
  /// Copies the seed in. May throw arena_exhausted when the ring is full; then nothing has changed.
  void push(const envelope& seed);
  /// Copies the newest seed out; false: there is none.
  bool pop(envelope& seed);

  // ---- by any PE
  /// Copies the oldest seed out.
  outcome steal(envelope& seed);
  /// After a push that happened before, and as long as no PE has taken that seed, it is not.
  bool seems_empty() const {
    // seq_cst, both: after a bit was cleared or a sleep announced (seed_hints.hpp). pairs: seed_hints.bit,
    // idle.announce
    return top_.load(std::memory_order_seq_cst) >= bottom_.load(std::memory_order_seq_cst);
  }
  /// About how many there are. relaxed: it only weighs one PE against another
  std::int64_t size() const {
    const std::int64_t count = bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed);
    return count > 0 ? count : 0;
  }

 private:
  static constexpr int words_of_seed = sizeof(envelope) / sizeof(std::uint64_t) - 1;  // all but the stamp
  struct cell {
    std::atomic<std::uint64_t> words[words_of_seed];
  };
  struct ring {
    std::int64_t capacity;  // a power of two
    cell* cells;
    cell& at(std::int64_t place) { return cells[place & (capacity - 1)]; }
  };
  static ring* make_ring(std::int64_t capacity);
  void grow(std::int64_t bottom);
  static void write(cell& to, const envelope& seed);
  static void read(const cell& from, envelope& seed);

  // Seeds are those with places [top, bottom).
  alignas(64) std::atomic<std::int64_t> top_{0};
  alignas(64) std::atomic<std::int64_t> bottom_{0};
  std::atomic<ring*> ring_{nullptr};
  const std::int64_t first_capacity_;
  ring* own_ring_ = nullptr;   // the owner's view of ring_
  std::int64_t seen_top_ = 0;  // the owner's: top is at least that
};

}  // namespace tri::sched
