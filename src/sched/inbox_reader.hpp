// The reader's side of an inbox (inbox.hpp), with which its PE takes messages out.
#pragma once

#include <cstdint>

#include "sched/inbox.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::sched {

/// Private memory of the PE that owns the inbox, used by its thread alone.
class inbox_reader {
 public:
  /// Throws std::runtime_error if the inbox is of another version.
  explicit inbox_reader(inbox_shared& inbox);

  /// The next message in order, or null. It stays where it is until `pop`.
  envelope* front() {
    if (batch_ == nullptr) [[likely]] {
      if (shared_.ring.is_published(head_)) return &shared_.ring.cell(head_);
      if (shared_.overflow.empty()) return nullptr;
    }
    return front_with_overflow();
  }
  /// Ends the use of the message that `front` returned.
  void pop() {
    if (from_overflow_) [[unlikely]] {
      pop_overflow();
    } else {
      ++head_;
      if ((head_ & publish_mask_) == 0) shared_.ring.publish_consumed(head_);
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
  void wake_up() { shared_.ring.mark_awake(); }
  arena::doorbell& bell() { return shared_.bell; }

 private:
  envelope* front_with_overflow();
  void pop_overflow();

  inbox_shared& shared_;
  const std::uint64_t publish_mask_;
  std::uint64_t head_;          // the next ticket
  envelope* batch_ = nullptr;   // overflow that runs once the ring reached barrier_
  std::uint64_t barrier_ = 0;   // tickets that were out when the batch was taken
  bool from_overflow_ = false;  // front() returned batch_
};

}  // namespace tri::sched
