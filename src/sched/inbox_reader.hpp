// The consumer's side of an inbox (inbox.hpp): what its PE takes messages out with.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sched/inbox.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::sched {

/// Private memory of the PE that owns the inbox, used by its thread alone.
class inbox_reader {
 public:
  explicit inbox_reader(inbox_shared& inbox);

  /// The next message in order, or null. It stays where it is until `pop`.
  envelope* front() {
    if (overflow_waits_) [[unlikely]]
      return front_slowly();
    if (kind_ == queue_kind::spsc) {
      envelope* const found = front_of_producers();
      if (found != nullptr || shared_.overflow.empty()) return found;
    } else if (kind_ == queue_kind::mpsc) {
      envelope& cell = cells_[head_ & mask_];
      if (cell_ring::stamp_of(cell).load(std::memory_order_acquire) == head_ + 1) return &cell;  // pairs: inbox.publish
      if (shared_.overflow.empty()) return nullptr;
    }
    return front_slowly();
  }
  /// Ends the use of the message that `front` returned.
  void pop() {
    if (from_overflow_ || kind_ == queue_kind::locked) [[unlikely]] {
      pop_slowly();
    } else if (kind_ == queue_kind::spsc) {
      lane& from = lanes_[polled_];
      ++from.head;
      if ((from.head & publish_mask_) == 0) {
        publish_consumed(from);
        if (++polled_ == lanes_.size()) polled_ = 0;  // a producer that floods must not keep the others waiting
      }
    } else {
      ++head_;
      if ((head_ & publish_mask_) == 0) publish_consumed();
    }
  }
  /// A cheap hint for long work that wants to know whether messages wait.
  bool seems_empty() { return front() == nullptr && !has_urgent(); }
  bool has_urgent() const { return !shared_.urgent.empty(); }
  /// All urgent messages, oldest first, linked by next(); the caller releases the blocks.
  envelope* take_urgent() { return shared_.urgent.take_all(); }

  /// True if the reader is now marked asleep and nothing is in the inbox: then sleep on `bell()`, and call
  /// `wake_up` afterwards. False: there is something to do, and nothing has changed.
  bool prepare_sleep();
  void wake_up();
  arena::doorbell& bell() { return shared_.bell; }

 private:
  envelope* front_slowly();
  void pop_slowly();
  envelope* front_locked();
  // spsc: the ring that had the last message is asked first.
  envelope* front_of_producers() {
    const std::uint32_t count = static_cast<std::uint32_t>(lanes_.size());
    for (std::uint32_t step = 0; step < count; ++step) {
      lane& from = lanes_[polled_];
      envelope& cell = from.cells[from.head & mask_];
      // While a batch waits, no ring runs past its barrier: what was pushed after the overflow must stay behind it.
      if ((!overflow_waits_ || static_cast<std::int64_t>(from.head - from.barrier) < 0) &&
          cell_ring::stamp_of(cell).load(std::memory_order_acquire) == from.head + 1)  // pairs: inbox.publish
        return &cell;
      if (++polled_ == count) polled_ = 0;
    }
    return nullptr;
  }
  envelope* front_of_overflow();
  bool reached_overflow() const;
  struct lane {  // spsc: one producer's ring
    envelope* cells;
    std::uint64_t head;
    std::uint64_t barrier;  // tickets that were out when the overflow batch was taken
    cell_ring* ring;
  };
  static void publish_consumed(lane& from) {
    from.ring->consumed.store(from.head, std::memory_order_release);
  }                                                                                           // pairs: inbox.consumed
  void publish_consumed() { shared_.ring.consumed.store(head_, std::memory_order_release); }  // pairs: inbox.consumed
  bool anything_published();

  inbox_shared& shared_;
  const queue_kind kind_;
  envelope* const cells_;
  const std::uint64_t mask_;
  const std::uint64_t publish_mask_;
  std::uint64_t head_ = 0;
  bool overflow_waits_ = false;  // batch_ holds messages that run once the rings reached barrier_
  bool from_overflow_ = false;   // what front() returned last is batch_
  envelope* batch_ = nullptr;
  std::uint64_t barrier_ = 0;       // mpsc, locked: tickets that were out when the batch was taken
  std::vector<lane> lanes_;         // spsc
  std::uint32_t polled_ = 0;        // spsc: the lane that front() found
  std::unique_ptr<envelope> copy_;  // locked: the message leaves the ring before it runs
  bool copied_ = false;
};

}  // namespace tri::sched
