// The inbox of a PE: where every other PE of the host, thread or process, puts messages. Lives in the arena; one
// consumer (the PE, by its inbox_reader), any number of producers. Three kinds, chosen per run (Mei 2012, 4.3.3):
//
//   mpsc    one ring of cache-line cells; a producer takes a ticket with one fetch-and-add, writes the message into the
//           cell and publishes it by writing the cell's stamp last. The consumer only reads cells. The ring idea is
//           Vyukov's bounded MPMC queue (1024cores.net), reduced to one consumer and with fullness decided before the
//           ticket is taken. Default.
//   locked  the same ring under a lock on both sides: the fallback and the yardstick.
//   spsc    one ring per producer: a push is a few plain stores, without a locked instruction; the consumer polls all
//           rings,
//           and pays a system call (asymmetric_fence.hpp) when it goes to sleep.
//
// A full ring never blocks a producer: the message goes to an overflow list, and a producer goes on using the list as
// long as any overflow is pending, so the order of each sender is kept (proof in README.md). Urgent messages
// (prioritised or immediate) have a list of their own that the PE looks at before anything else.
//
// Sleeping. The consumer of an mpsc ring marks itself asleep by setting the top bit of the ticket word, in the same
// atomic step that checks that no ticket is out; the producer's own fetch-and-add then tells it to ring the doorbell.
// So a push contains no fence, and no wake-up can be lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena/doorbell.hpp"
#include "arena/host_lock.hpp"
#include "config/option_kinds.hpp"
#include "os/cpu_hints.hpp"
#include "sched/asymmetric_fence.hpp"
#include "trireme/detail/arena/other_process_order.hpp"
#include "trireme/detail/sched/envelope.hpp"
#include "trireme/detail/sched/inbox_slot.hpp"

namespace tri::sched {

using host::queue_kind;

/// A ring of cells with the two counters of its ends, each on a line of its own. The stamp of a cell that holds the
/// message with ticket t is t + 1; any other value means "not yet".
struct cell_ring {
  static constexpr std::uint64_t asleep_bit = std::uint64_t{1} << 63;

  alignas(64) std::atomic<std::uint64_t> tickets{0};   // next ticket, plus asleep_bit
  alignas(64) std::atomic<std::uint64_t> consumed{0};  // all tickets below are free again; written now and then
  alignas(64) envelope* cells = nullptr;
  std::uint64_t capacity = 0;  // a power of two

  static std::atomic_ref<std::uint64_t> stamp_of(envelope& cell) { return std::atomic_ref<std::uint64_t>(cell.stamp); }
  envelope& cell_of(std::uint64_t ticket) { return cells[ticket & (capacity - 1)]; }
};

/// Treiber stack of envelopes with take-all, which the taker turns round.
class envelope_list {
 public:
  bool empty() const { return top_.load(std::memory_order_acquire) == nullptr; }  // pairs: envelope_list.push
  void push(envelope* message) {
    envelope* seen = top_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    do {
      message->set_next(seen);
      arena::handed_over(this);
    } while (!top_.compare_exchange_weak(seen, message, std::memory_order_release,
                                         std::memory_order_relaxed));  // pairs: envelope_list.push
  }
  /// The whole list, oldest first, linked by next().
  envelope* take_all() {
    envelope* newest = top_.exchange(nullptr, std::memory_order_acquire);  // pairs: envelope_list.push
    if (newest != nullptr) arena::taken_over();
    envelope* oldest = nullptr;
    while (newest != nullptr) {
      envelope* const below = newest->next();
      newest->set_next(oldest);
      oldest = newest;
      newest = below;
    }
    return oldest;
  }

 private:
  std::atomic<envelope*> top_{nullptr};
};

/// The part of an inbox that lies in the arena.
struct inbox_shared {
  static constexpr std::uint32_t expected_version = 1;

  std::uint32_t version = expected_version;
  queue_kind kind = queue_kind::mpsc;
  std::uint32_t producers = 0;  // PEs of the host
  bool asymmetric = false;      // spsc: all processes of the host have enabled the asymmetric fence
  std::uint64_t overflow_margin =
      0;  // cells that a ring keeps free: one for each producer that may be between look and ticket
  cell_ring* per_producer = nullptr;  // spsc only: `producers` rings
  cell_ring ring;                     // mpsc and locked

  // Read by the consumer on every turn, written only when something unusual happens: stays in everybody's cache.
  alignas(64) envelope_list urgent;
  envelope_list overflow;
  std::atomic<std::uint64_t> overflow_pending{0};  // pushed to `overflow` and not yet run
  std::atomic<std::uint32_t> asleep{0};            // locked and spsc kinds; the mpsc ring has its own bit

  alignas(64) arena::host_lock lock;  // locked kind
  alignas(64) arena::doorbell bell;
  std::atomic<std::uint64_t> wakeup_socket{
      0};  // wakeup_socket::name on which the consumer sleeps while it is the poller

  /// Memory for an inbox with all its rings, in bytes. An mpsc ring has more than `cells` if the producers are many.
  static std::size_t required_bytes(queue_kind kind, std::uint32_t producers, std::uint64_t cells);
  /// Lays an inbox into zeroed arena memory. `asymmetric`: every process of the host has enabled the asymmetric fence.
  static inbox_shared* initialise(void* memory, queue_kind kind, std::uint32_t producers, std::uint64_t cells,
                                  bool asymmetric = false);
  /// Wakes the consumer if it sleeps; for events that do not come through the queues. Any thread of the host.
  /// Returns whether it rang: false if the consumer is awake, or somebody else has just rung for it.
  bool wake_if_asleep();
  /// Consumer: from now on it sleeps on the wakeup socket with this name, or (0) on `bell`. Before prepare_sleep or
  /// after wake_up. relaxed: who finds the consumer asleep comes after prepare_sleep, and finds this name or a later
  /// one; then it is awake. pairs: inbox.sleep
  void sleep_on(std::uint64_t name) { wakeup_socket.store(name, std::memory_order_relaxed); }
};

/// Producer side. `producer` is the number of the sending PE on this host.
/// Claim may throw arena_exhausted (overflow needs a block); then nothing happened.
inbox_slot claim(inbox_shared& inbox, std::uint32_t producer);
void publish(inbox_shared& inbox, const inbox_slot& slot);
/// Urgent messages: `message` is an arena block of at least sizeof(envelope) that the inbox now owns.
void push_urgent(inbox_shared& inbox, envelope* message);

namespace detail {
inbox_slot claim_locked(inbox_shared& inbox);
void publish_slowly(inbox_shared& inbox, const inbox_slot& slot);
inbox_slot claim_overflow(inbox_shared& inbox);
}  // namespace detail

inline inbox_slot claim(inbox_shared& inbox, std::uint32_t producer) {
  if (inbox.kind == queue_kind::spsc) {
    cell_ring& ring = inbox.per_producer[producer];
    const std::uint64_t ticket = ring.tickets.load(std::memory_order_relaxed);  // relaxed: only this producer writes it
    // relaxed: only this producer's own pending overflow matters for its order, and that it sees in program order.
    if (inbox.overflow_pending.load(std::memory_order_relaxed) != 0 ||
        ticket - ring.consumed.load(std::memory_order_acquire) >= ring.capacity) [[unlikely]]  // pairs: inbox.consumed
      return detail::claim_overflow(inbox);
    return {&ring.cell_of(ticket), &ring, ticket};
  }
  if (inbox.kind != queue_kind::mpsc) [[unlikely]]
    return detail::claim_locked(inbox);
  cell_ring& ring = inbox.ring;
  // relaxed: a hint; what makes the cell ours is the check of `consumed` below.
  const std::uint64_t seen = ring.tickets.load(std::memory_order_relaxed) & ~cell_ring::asleep_bit;
  std::uint64_t consumed = ring.consumed.load(std::memory_order_acquire);  // pairs: inbox.consumed
  // relaxed: only this producer's own pending overflow matters for its order, and that it sees in program order.
  if (inbox.overflow_pending.load(std::memory_order_relaxed) != 0 ||
      static_cast<std::int64_t>(seen - consumed) >= static_cast<std::int64_t>(ring.capacity - inbox.overflow_margin))
      [[unlikely]]
    return detail::claim_overflow(inbox);
  // acq_rel: pairs with the consumer's exchange that sets asleep_bit (inbox.sleep): either it sees our ticket or we its
  // bit.
  const std::uint64_t ticket = ring.tickets.fetch_add(1, std::memory_order_acq_rel);
  // The margin makes a wait here impossible unless `seen` was stale; then the consumer is at work and it is short.
  while ((ticket & ~cell_ring::asleep_bit) - consumed >= ring.capacity) [[unlikely]] {
    host::cpu_relax();
    consumed = ring.consumed.load(std::memory_order_acquire);  // pairs: inbox.consumed
  }
  return {&ring.cell_of(ticket & ~cell_ring::asleep_bit), &ring, ticket};
}

inline void publish(inbox_shared& inbox, const inbox_slot& slot) {
  arena::handed_over(&inbox);
  if (inbox.asymmetric && slot.ring != nullptr) {
    slot.ring->tickets.store(
        slot.ticket + 1,
        std::memory_order_relaxed);  // relaxed: the consumer looks only after an overflow, which orders it
    cell_ring::stamp_of(*slot.message).store(slot.ticket + 1, std::memory_order_release);  // pairs: inbox.publish
    light_fence();  // the look below stays behind the publication as seen by the consumer's heavy_fence. pairs:
                    // inbox.sleep_asymmetric
    if (inbox.asleep.load(std::memory_order_relaxed) != 0) [[unlikely]]
      inbox.wake_if_asleep();  // relaxed: the fences order it
    return;
  }
  if (inbox.kind != queue_kind::mpsc || slot.ring == nullptr) [[unlikely]] {
    detail::publish_slowly(inbox, slot);
    return;
  }
  const std::uint64_t ticket = slot.ticket & ~cell_ring::asleep_bit;
  cell_ring::stamp_of(*slot.message).store(ticket + 1, std::memory_order_release);  // pairs: inbox.publish
  if ((slot.ticket & cell_ring::asleep_bit) != 0) [[unlikely]]
    inbox.wake_if_asleep();
}

}  // namespace tri::sched
