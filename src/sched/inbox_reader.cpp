#include "sched/inbox_reader.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>

#include "trireme/detail/arena/allocate.hpp"

namespace tri::sched {
namespace {
std::uint64_t ring_capacity(const inbox_shared& inbox) {
  return inbox.kind == queue_kind::spsc ? inbox.per_producer[0].capacity : inbox.ring.capacity;
}
}  // namespace

inbox_reader::inbox_reader(inbox_shared& inbox)
    : shared_(inbox),
      kind_(inbox.kind),
      cells_(inbox.ring.cells),
      mask_(ring_capacity(inbox) - 1),
      publish_mask_(std::max<std::uint64_t>(ring_capacity(inbox) / 8, 1) - 1) {
  if (inbox.version != inbox_shared::expected_version)
    throw std::runtime_error("inbox: version " + std::to_string(inbox.version) + " found, 1 expected");
  // What was consumed before is not ours; a fresh inbox starts at 0. relaxed: the thread that made the inbox made this
  // reader.
  head_ = inbox.ring.consumed.load(std::memory_order_relaxed);
  if (kind_ == queue_kind::spsc)
    for (std::uint32_t i = 0; i < inbox.producers; ++i) {
      cell_ring& ring = inbox.per_producer[i];
      lanes_.push_back({ring.cells, ring.consumed.load(std::memory_order_relaxed), 0, &ring});
    }
  if (kind_ == queue_kind::locked) copy_ = std::make_unique<envelope>();
}

envelope* inbox_reader::front_slowly() {
  if (!overflow_waits_ && !shared_.overflow.empty()) {
    batch_ = shared_.overflow.take_all();
    overflow_waits_ = true;
    // What each sender put into a ring before it overflowed has a ticket below these counts (the list's acquire makes
    // them visible); those messages run first. pairs: envelope_list.push
    if (kind_ == queue_kind::spsc)
      for (lane& from : lanes_) from.barrier = from.ring->tickets.load(std::memory_order_relaxed);
    else
      barrier_ = shared_.ring.tickets.load(std::memory_order_relaxed) & ~cell_ring::asleep_bit;
  }
  if (overflow_waits_ && reached_overflow()) return front_of_overflow();
  if (kind_ == queue_kind::locked) return front_locked();
  if (kind_ == queue_kind::spsc) return front_of_producers();
  envelope& cell = cells_[head_ & mask_];
  return cell_ring::stamp_of(cell).load(std::memory_order_acquire) == head_ + 1 ? &cell
                                                                                : nullptr;  // pairs: inbox.publish
}

bool inbox_reader::reached_overflow() const {
  // A message that was copied out of the locked ring has not run yet, although its ticket is below head_.
  if (kind_ != queue_kind::spsc) return !copied_ && static_cast<std::int64_t>(head_ - barrier_) >= 0;
  return std::ranges::all_of(lanes_,
                             [](const lane& from) { return static_cast<std::int64_t>(from.head - from.barrier) >= 0; });
}

envelope* inbox_reader::front_of_overflow() {
  from_overflow_ = true;
  return batch_;
}

envelope* inbox_reader::front_locked() {
  if (copied_) return copy_.get();
  std::lock_guard guard(shared_.lock);
  if (shared_.ring.tickets.load(std::memory_order_relaxed) == head_) return nullptr;  // relaxed: under the lock
  *copy_ = shared_.ring.cell_of(head_);
  copied_ = true;
  ++head_;
  shared_.ring.consumed.store(head_, std::memory_order_relaxed);  // relaxed: under the lock
  return copy_.get();
}

void inbox_reader::pop_slowly() {
  if (from_overflow_) {
    envelope* const done = batch_;
    batch_ = batch_->next();
    from_overflow_ = false;
    overflow_waits_ = batch_ != nullptr;
    arena::release(done);
    // relaxed: a sender that reads 0 after its own increment knows that its messages have run, since each of them takes
    // back its own 1 only here; the ring orders what it sends next.
    shared_.overflow_pending.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  copied_ = false;  // locked: the copy has run
}

bool inbox_reader::anything_published() {
  if (!shared_.urgent.empty() || !shared_.overflow.empty() || overflow_waits_ || copied_) return true;
  if (kind_ == queue_kind::mpsc) return false;  // the exchange of the ticket word has shown it
  if (kind_ == queue_kind::locked) {
    std::lock_guard guard(shared_.lock);
    return shared_.ring.tickets.load(std::memory_order_relaxed) != head_;  // relaxed: under the lock
  }
  return front_of_producers() != nullptr;
}

bool inbox_reader::prepare_sleep() {
  if (overflow_waits_) return false;
  if (kind_ == queue_kind::mpsc) {
    publish_consumed();
    std::uint64_t all_consumed = head_;
    // seq_cst: also orders the mark before the sleeper's look at boards and node queues (sched/idle). pairs:
    // inbox.sleep
    if (!shared_.ring.tickets.compare_exchange_strong(all_consumed, head_ | cell_ring::asleep_bit,
                                                      std::memory_order_seq_cst))
      return false;
  } else {
    for (lane& from : lanes_) publish_consumed(from);
    shared_.asleep.exchange(1, std::memory_order_seq_cst);  // pairs: inbox.dekker
    if (shared_.asymmetric && !heavy_fence()) {             // pairs: inbox.sleep_asymmetric
      wake_up();  // without the fence a message could have gone unseen: stay awake, which is right if dear
      return false;
    }
  }
  if (!anything_published()) return true;
  wake_up();
  return false;
}

void inbox_reader::wake_up() {
  if (kind_ == queue_kind::mpsc)
    shared_.ring.tickets.fetch_and(~cell_ring::asleep_bit, std::memory_order_acq_rel);  // pairs: inbox.sleep
  else
    // An exchange, not a store: a store would end the release sequences of those who published and found us awake, and
    // our next exchange would no longer acquire what they did. acquire: the one that turned the flag off before us made
    // something first, and scheduler::answer_ring has to see it. pairs: inbox.dekker
    shared_.asleep.exchange(0, std::memory_order_acquire);
}

}  // namespace tri::sched
