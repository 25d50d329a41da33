// The queue of messages for a node, i.e. for whichever PE of a process is idle (Mei 2012, 1.7, M58). Any PE of the host
// pushes, any PE of the process pops. Ring after D. Vyukov, "Bounded MPMC queue" (1024cores.net); when it is full,
// messages go to a locked list, since node messages have no order to keep. Looking for work in an empty queue
// costs two reads of lines that no thread writes.
//
// Messages with a priority wait in a locked heap: those before 0 are taken before the others, the rest after them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena/host_lock.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::sched {

struct ordered_envelope;

class node_queue {
 public:
  static std::size_t required_bytes(std::uint64_t cells) { return sizeof(node_queue) + cells * sizeof(envelope); }
  /// Lays a queue into arena memory; `cells` is a power of two.
  static node_queue* initialise(void* memory, std::uint64_t cells);

  /// Copies the message in. May throw arena_exhausted when the ring is full, or the message has a priority, and no
  /// block can be had.
  void push(const envelope& message);
  /// Copies the next message out; false when there is none.
  bool pop(envelope& message);
  /// Cheap look; may be wrong for a moment in either direction, but after a push that happened before, it is not.
  bool seems_empty() const {
    // seq_cst: a PE that marked itself idle must not miss a push whose producer then saw it not idle. pairs:
    // node_queue.push
    return pops_.load(std::memory_order_seq_cst) >= pushes_.load(std::memory_order_seq_cst) &&
           overflowed_.load(std::memory_order_seq_cst) == 0;
  }

 private:
  envelope& cell_of(std::uint64_t ticket) { return cells_[ticket & (capacity_ - 1)]; }
  void push_overflow(const envelope& message);
  bool pop_overflow(envelope& message);
  void push_ordered(const envelope& message);
  bool pop_ordered(envelope& message, bool only_urgent);

  // A cell's stamp: ticket = free for that push, ticket + 1 = holds its message, ticket + capacity = free for the next
  // lap.
  alignas(64) std::atomic<std::uint64_t> pushes_{0};
  alignas(64) std::atomic<std::uint64_t> pops_{0};
  alignas(64) envelope* cells_ = nullptr;
  std::uint64_t capacity_ = 0;
  alignas(64) std::atomic<std::uint64_t> overflowed_{0};  // those with a priority included
  std::atomic<std::uint64_t> urgent_{0};                  // with a priority before 0
  arena::host_lock overflow_lock_;
  envelope* overflow_first_ = nullptr;  // all under the lock
  envelope* overflow_last_ = nullptr;
  ordered_envelope* ordered_ = nullptr;  // the heap's first
  std::uint64_t ordered_arrivals_ = 0;
};

}  // namespace tri::sched
