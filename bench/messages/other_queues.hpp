// Queues into a PE that the runtime does not use, kept to be measured beside its inbox (Mei 2012, 4.3.3): one ring with
// a lock at both ends, and one ring per producer that needs neither a lock nor a locked instruction. Messages are
// envelopes, copied in and out; the order of each producer is kept. In private memory, without a sleeping reader.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "arena/host_lock.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::bench {

/// Any number of producers and consumers.
class locked_ring {
 public:
  /// `capacity`: a power of two.
  explicit locked_ring(std::size_t capacity) : cells_(capacity) {
    if (!std::has_single_bit(capacity)) throw std::invalid_argument("locked_ring: not a power of two");
  }

  /// False: the ring is full, and nothing is done.
  bool push(const sched::envelope& message) {
    const std::lock_guard guard(lock_);
    if (pushed_ - popped_ == cells_.size()) return false;
    cells_[pushed_++ & (cells_.size() - 1)] = message;
    return true;
  }
  /// False: the ring is empty.
  bool pop(sched::envelope& message) {
    const std::lock_guard guard(lock_);
    if (pushed_ == popped_) return false;
    message = cells_[popped_++ & (cells_.size() - 1)];
    return true;
  }

 private:
  arena::host_lock lock_;
  std::vector<sched::envelope> cells_;
  alignas(64) std::uint64_t pushed_ = 0;
  alignas(64) std::uint64_t popped_ = 0;
};

/// One consumer. Producers exclude each other with a lock, and both ends share a count of the messages, which each
/// reads and writes for every message (Mei 2012, 4.3.3: the queue before shared accesses were reduced, M21).
class counted_ring {
 public:
  /// `capacity`: a power of two.
  explicit counted_ring(std::size_t capacity) : cells_(capacity) {
    if (!std::has_single_bit(capacity)) throw std::invalid_argument("counted_ring: not a power of two");
  }

  /// False: the ring is full, and nothing is done.
  bool push(const sched::envelope& message) {
    const std::lock_guard guard(lock_);
    if (count_.load(std::memory_order_acquire) == cells_.size()) return false;  // pairs: counted_ring.taken
    cells_[pushed_++ & (cells_.size() - 1)] = message;
    count_.fetch_add(1, std::memory_order_release);  // pairs: counted_ring.pushed
    return true;
  }
  /// False: the ring is empty.
  bool pop(sched::envelope& message) {
    if (count_.load(std::memory_order_acquire) == 0) return false;  // pairs: counted_ring.pushed
    message = cells_[popped_++ & (cells_.size() - 1)];
    count_.fetch_sub(1, std::memory_order_release);  // pairs: counted_ring.taken
    return true;
  }

 private:
  std::vector<sched::envelope> cells_;
  alignas(64) arena::host_lock lock_;
  std::uint64_t pushed_ = 0;
  alignas(64) std::uint64_t popped_ = 0;
  alignas(64) std::atomic<std::uint64_t> count_{0};
};

/// One consumer. Each producer is one thread at a time.
class ring_per_producer {
 public:
  /// `capacity` of each ring: a power of two.
  ring_per_producer(std::size_t producers, std::size_t capacity) {
    if (!std::has_single_bit(capacity)) throw std::invalid_argument("ring_per_producer: not a power of two");
    for (std::size_t i = 0; i < producers; ++i) lanes_.push_back(std::make_unique<lane>(capacity));
  }

  /// False: the ring of this producer is full, and nothing is done.
  bool push(std::size_t producer, const sched::envelope& message) {
    lane& own = *lanes_[producer];
    if (own.pushed - own.popped.load(std::memory_order_acquire) == own.cells.size()) return false;  // pairs: lane.free
    sched::envelope& cell = own.cells[own.pushed & (own.cells.size() - 1)];
    cell.assign_message(message);
    std::atomic_ref(cell.stamp).store(++own.pushed, std::memory_order_release);  // pairs: lane.full
    return true;
  }
  /// The next message of some producer. One that floods does not keep the others waiting for more than an eighth of
  /// its ring. False: all rings are empty.
  bool pop(sched::envelope& message) {
    for (std::size_t looked = 0; looked < lanes_.size(); ++looked, next_lane()) {
      lane& from = *lanes_[polled_];
      sched::envelope& cell = from.cells[from.taken & (from.cells.size() - 1)];
      if (std::atomic_ref(cell.stamp).load(std::memory_order_acquire) != from.taken + 1) continue;  // pairs: lane.full
      message = cell;
      ++from.taken;
      if (from.taken % from.report_every == 0) {
        from.popped.store(from.taken, std::memory_order_release);  // pairs: lane.free
        next_lane();
      }
      return true;
    }
    return false;
  }

 private:
  struct lane {
    explicit lane(std::size_t capacity) : cells(capacity), report_every(capacity < 8 ? 1 : capacity / 8) {}
    std::vector<sched::envelope> cells;
    const std::size_t report_every;
    alignas(64) std::uint64_t pushed = 0;              // the producer's
    alignas(64) std::atomic<std::uint64_t> popped{0};  // written by the consumer now and then, for the producer
    alignas(64) std::uint64_t taken = 0;               // the consumer's
  };
  void next_lane() {
    if (++polled_ == lanes_.size()) polled_ = 0;
  }

  std::vector<std::unique_ptr<lane>> lanes_;
  std::size_t polled_ = 0;
};

}  // namespace tri::bench
