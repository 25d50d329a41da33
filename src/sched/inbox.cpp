#include "sched/inbox.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

#include "sched/remote/wakeup_socket.hpp"
#include "trireme/detail/arena/allocate.hpp"

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
  auto* const message = static_cast<envelope*>(arena::allocate(sizeof(envelope)));
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

}  // namespace tri::sched
