#include "sched/inbox_reader.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "trireme/detail/arena/allocate.hpp"

namespace tri::sched {

inbox_reader::inbox_reader(inbox_shared& inbox)
    : shared_(inbox),
      publish_mask_(std::max<std::uint64_t>(inbox.ring.capacity() / 8, 1) - 1),
      head_(inbox.ring.consumed()) {
  if (inbox.version != inbox_shared::expected_version)
    throw std::runtime_error("inbox: version " + std::to_string(inbox.version) + " found, " +
                             std::to_string(inbox_shared::expected_version) + " expected");
}

envelope* inbox_reader::front_with_overflow() {
  if (batch_ == nullptr) {
    batch_ = shared_.overflow.take_all();
    // What each sender put into the ring before it overflowed has a ticket below this count (the list's acquire makes
    // them visible); those messages run first. pairs: envelope_list.push
    barrier_ = shared_.ring.drawn();
  }
  if (batch_ != nullptr && static_cast<std::int64_t>(head_ - barrier_) >= 0) {
    from_overflow_ = true;
    return batch_;
  }
  return shared_.ring.is_published(head_) ? &shared_.ring.cell(head_) : nullptr;
}

void inbox_reader::pop_overflow() {
  envelope* const done = batch_;
  batch_ = done->next();
  from_overflow_ = false;
  arena::release(done);
  // relaxed: a sender that reads 0 after its own increment knows that its messages have run, since each of them takes
  // back its own 1 only here; the ring orders what it sends next.
  shared_.overflow_pending.fetch_sub(1, std::memory_order_relaxed);
}

bool inbox_reader::prepare_sleep() {
  if (batch_ != nullptr) return false;
  shared_.ring.publish_consumed(head_);
  if (!shared_.ring.prepare_sleep(head_)) return false;
  if (shared_.urgent.empty() && shared_.overflow.empty()) return true;
  wake_up();
  return false;
}

}  // namespace tri::sched
