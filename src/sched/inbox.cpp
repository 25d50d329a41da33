#include "sched/inbox.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

#include "arena/arena.hpp"
#include "sched/remote/wakeup_socket.hpp"

namespace tri::sched {
namespace {
// The cells are divided among the producers; but a ring has at least 64, and no more than a ring of another kind.
std::uint64_t spsc_capacity(std::uint64_t cells, std::uint32_t producers) {
  const std::uint64_t share = std::bit_floor(std::max<std::uint64_t>(64, 4 * cells / std::max(producers, 1u)));
  return std::min(cells, share);
}
// Half of a ring of all producers stays free for those that are between look and ticket. So it is as large as asked, or
// as their number demands.
std::uint64_t mpsc_capacity(std::uint64_t cells, std::uint32_t producers) {
  return std::max(cells, std::bit_ceil(std::uint64_t{producers} * 2));
}
std::uint64_t cells_of_ring(queue_kind kind, std::uint64_t cells, std::uint32_t producers) {
  if (kind == queue_kind::spsc) return spsc_capacity(cells, producers);
  return kind == queue_kind::mpsc ? mpsc_capacity(cells, producers) : cells;
}
std::uint64_t ring_capacity(const inbox_shared& inbox) {
  return inbox.kind == queue_kind::spsc ? inbox.per_producer[0].capacity : inbox.ring.capacity;
}
std::uint32_t ring_count(queue_kind kind, std::uint32_t producers) { return kind == queue_kind::spsc ? producers : 1; }

void initialise_ring(cell_ring& ring, envelope* cells, std::uint64_t capacity) {
  ring.cells = cells;
  ring.capacity = capacity;  // arena memory is zeroed: every stamp is 0, which no ticket has
}
}  // namespace

std::size_t inbox_shared::required_bytes(queue_kind kind, std::uint32_t producers, std::uint64_t cells) {
  const std::uint64_t per_ring = cells_of_ring(kind, cells, producers);
  return sizeof(inbox_shared) + (kind == queue_kind::spsc ? producers * sizeof(cell_ring) : 0) +
         ring_count(kind, producers) * per_ring * sizeof(envelope);
}

inbox_shared* inbox_shared::initialise(void* memory, queue_kind kind, std::uint32_t producers, std::uint64_t cells,
                                       bool asymmetric) {
  if (!std::has_single_bit(cells))
    throw std::invalid_argument("inbox: " + std::to_string(cells) + " cells asked for; it must be a power of two");
  auto* const inbox = new (memory) inbox_shared;
  inbox->kind = kind;
  inbox->producers = producers;
  inbox->asymmetric = kind == queue_kind::spsc && asymmetric;
  inbox->overflow_margin = kind == queue_kind::mpsc ? producers : 0;
  auto* address = static_cast<std::byte*>(memory) + sizeof(inbox_shared);
  if (kind == queue_kind::spsc) {
    inbox->per_producer = reinterpret_cast<cell_ring*>(address);
    address += producers * sizeof(cell_ring);
    const std::uint64_t capacity = cells_of_ring(kind, cells, producers);
    for (std::uint32_t i = 0; i < producers; ++i) {
      new (inbox->per_producer + i) cell_ring;
      initialise_ring(inbox->per_producer[i], reinterpret_cast<envelope*>(address) + i * capacity, capacity);
    }
  } else {
    initialise_ring(inbox->ring, reinterpret_cast<envelope*>(address), cells_of_ring(kind, cells, producers));
  }
  return inbox;
}

bool inbox_shared::wake_if_asleep() {
  // The thread that clears `asleep` rings. A read-modify-write even if the consumer is awake: one that is about to
  // sleep then comes after us and sees what we did before. pairs: inbox.sleep, inbox.dekker
  const bool slept =
      kind == queue_kind::mpsc
          ? (ring.tickets.fetch_and(~cell_ring::asleep_bit, std::memory_order_acq_rel) & cell_ring::asleep_bit) != 0
          : asleep.exchange(0, std::memory_order_seq_cst) != 0;
  if (!slept) return false;
  bell.ring();
  // relaxed: see sleep_on
  if (const std::uint64_t name = wakeup_socket.load(std::memory_order_relaxed); name != 0) [[unlikely]]
    wakeup_socket::ring(name);
  return true;
}

namespace detail {

inbox_slot claim_overflow(inbox_shared& inbox) {
  auto* const message = static_cast<envelope*>(arena::allocate_on_pe(sizeof(envelope)));
  // relaxed: the producer itself must see it on its next claim, which program order gives; the list orders the rest.
  inbox.overflow_pending.fetch_add(1, std::memory_order_relaxed);
  return {message, nullptr, 0};
}

inbox_slot claim_locked(inbox_shared& inbox) {
  if (inbox.overflow_pending.load(std::memory_order_relaxed) != 0)
    return claim_overflow(inbox);  // relaxed: as in claim
  inbox.lock.lock();
  cell_ring& ring = inbox.ring;
  const std::uint64_t ticket = ring.tickets.load(std::memory_order_relaxed);      // relaxed: under the lock
  if (ticket - ring.consumed.load(std::memory_order_relaxed) >= ring.capacity) {  // relaxed: under the lock
    inbox.lock.unlock();
    return claim_overflow(inbox);
  }
  return {&ring.cell_of(ticket), &ring, ticket};  // the lock is held until publish
}

void publish_slowly(inbox_shared& inbox, const inbox_slot& slot) {
  if (slot.ring == nullptr) {
    inbox.overflow.push(slot.message);
    if (inbox.kind == queue_kind::mpsc) {
      // A read-modify-write of the ticket word, so that it is ordered with the consumer's exchange that sets
      // asleep_bit: either that one comes later and sees the list, or we see the bit. pairs: inbox.sleep
      if ((inbox.ring.tickets.fetch_add(0, std::memory_order_acq_rel) & cell_ring::asleep_bit) != 0)
        inbox.wake_if_asleep();
      return;
    }
  } else if (inbox.kind == queue_kind::locked) {
    slot.ring->tickets.store(slot.ticket + 1, std::memory_order_relaxed);  // relaxed: under the lock
    inbox.lock.unlock();
  } else {
    slot.ring->tickets.store(slot.ticket + 1,
                             std::memory_order_relaxed);  // relaxed: only this producer reads it for pushing
    cell_ring::stamp_of(*slot.message)
        .store(slot.ticket + 1, std::memory_order_seq_cst);  // pairs: inbox.publish, inbox.dekker
  }
  // All writes of `asleep` are read-modify-writes, so those have one order without gaps in it: if ours
  // comes first, the consumer's exchange acquires what we published (however weak that publication was); else we see
  // the flag. pairs: inbox.dekker
  if (inbox.asleep.fetch_add(0, std::memory_order_seq_cst) != 0) inbox.wake_if_asleep();
}

}  // namespace detail

void push_urgent(inbox_shared& inbox, envelope* message) {
  inbox.urgent.push(message);
  // As for the overflow list: a read-modify-write on the word with which the consumer goes to sleep. pairs: inbox.sleep
  const bool asleep = inbox.kind == queue_kind::mpsc
                          ? (inbox.ring.tickets.fetch_add(0, std::memory_order_acq_rel) & cell_ring::asleep_bit) != 0
                          : inbox.asleep.fetch_add(0, std::memory_order_seq_cst) != 0;
  if (asleep) inbox.wake_if_asleep();
}

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
    arena::release_on_pe(done);
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
    // something first, and pe::answer_ring has to see it. pairs: inbox.dekker
    shared_.asleep.exchange(0, std::memory_order_acquire);
}

}  // namespace tri::sched
