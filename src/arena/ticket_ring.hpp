// The ring in which messages of a host travel: in shared memory, bounded, with many producers and one reader at a time.
// A producer draws tickets with one fetch-and-add, writes the cells of its tickets and publishes them by the stamp of
// the first, which it writes last. The reader reads cells only. After Vyukov's bounded MPMC queue (1024cores.net), with
// one reader and with fullness decided before a ticket is drawn.
//
// Full. A producer that finds as many tickets out as its limit draws none. The limit leaves a margin for the tickets of
// all producers that are between this check and their fetch-and-add. So a drawn ticket finds its cell free, and two
// processes that flood each other cannot block each other.
//
// Sleep. The reader marks itself asleep by the top bit of the ticket word, in the same atomic step that checks that no
// ticket is out; the next producer learns it from its own fetch-and-add and wakes the reader. So a push has no fence,
// and no wake-up can be lost. An event without a cell (an overflow list, a stop) is published first and then checks the
// bit by a read-modify-write of the ticket word: all of these have one order. Before the reader's step: the reader sees
// the event when it looks once more, after the step. After it: the other side sees the bit. How the reader is woken
// (arena/doorbell.hpp, a descriptor) is the owner's affair.
//
// Clients: the inbox of a PE (sched/inbox.hpp) and the inbox of an MPI rank (mpi/engine/rank_inbox.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "os/cpu/cpu_hints.hpp"
#include "trireme/detail/arena/sanitizer_handover.hpp"

namespace tri::arena {

/// `Cell` has a member `stamp`, an unsigned integer. The stamp of a published cell is the low bits of its ticket + 1.
/// In a cell that is not published it is that of an earlier round, which differs as long as a ring has fewer cells than
/// there are stamps. Lives in shared memory with the same address in every process. The cells are not owned.
template <class Cell>
class ticket_ring {
 public:
  using stamp_type = std::remove_cvref_t<decltype(Cell::stamp)>;
  static_assert(std::is_unsigned_v<stamp_type>);

  static constexpr std::uint64_t asleep_bit = std::uint64_t{1} << 63;
  /// What `draw` returns instead of a ticket word.
  static constexpr std::uint64_t full = ~std::uint64_t{0};

  static constexpr std::uint64_t ticket_of(std::uint64_t word) { return word & ~asleep_bit; }
  static constexpr bool reader_sleeps(std::uint64_t word) { return (word & asleep_bit) != 0; }
  static constexpr stamp_type stamp_of(std::uint64_t ticket) { return static_cast<stamp_type>(ticket + 1); }

  /// `cells`: zeroed, `capacity` of them, a power of two. `margin`: tickets that all producers together may draw
  /// between their check and their fetch-and-add; at most half of the capacity. Before any other use.
  void initialise(Cell* cells, std::uint64_t capacity, std::uint64_t margin) {
    cells_ = cells;
    capacity_ = capacity;
    limit_ = capacity - margin;
  }
  /// As if all tickets below `ticket` had been drawn, published and consumed: for tests of what counters do after
  /// years. `ticket` is at least the capacity. One thread.
  void begin_at(std::uint64_t ticket) {
    for (std::uint64_t at = ticket - capacity_; at < ticket; ++at) stamp_quietly(at);
    tickets_.store(ticket, std::memory_order_relaxed);   // relaxed: no other thread is there
    consumed_.store(ticket, std::memory_order_relaxed);  // relaxed: as above
  }

  std::uint64_t capacity() const { return capacity_; }
  /// `draw` with this limit leaves the margin: it refuses when this many tickets are out.
  std::uint64_t limit() const { return limit_; }
  Cell& cell(std::uint64_t ticket) const { return cells_[ticket & (capacity_ - 1)]; }

  // Producers: any thread of any process of the host.

  /// The ticket word of `count` tickets in a row, with asleep_bit if the reader sleeps; `full`, and nothing drawn, if
  /// `limit` or more tickets are out. The caller fills the cells and publishes the first.
  std::uint64_t draw(std::uint64_t count, std::uint64_t limit) {
    std::uint64_t consumed = consumed_.load(std::memory_order_acquire);  // pairs: ticket_ring.consumed
    // relaxed: a hint; the loop below decides whether the cells are ours
    const std::uint64_t seen = ticket_of(tickets_.load(std::memory_order_relaxed));
    if (static_cast<std::int64_t>(seen - consumed) >= static_cast<std::int64_t>(limit)) [[unlikely]]
      return full;
    // acq_rel: pairs with prepare_sleep: either that one sees our tickets or we its bit. pairs: ticket_ring.sleep
    const std::uint64_t word = tickets_.fetch_add(count, std::memory_order_acq_rel);
    // The margin makes this wait impossible unless `seen` was stale; then the reader is at work and the wait is short.
    while (ticket_of(word) + count - consumed > capacity_) [[unlikely]] {
      os::cpu_relax();
      consumed = consumed_.load(std::memory_order_acquire);  // pairs: ticket_ring.consumed
    }
    return word;
  }
  /// The message whose first cell has this ticket is complete. The caller wakes the reader if `word` says that it
  /// sleeps.
  void publish(std::uint64_t word) {
    handed_over(this);
    const std::uint64_t ticket = ticket_of(word);
    std::atomic_ref(cell(ticket).stamp)
        .store(stamp_of(ticket), std::memory_order_release);  // pairs: ticket_ring.publish
  }
  /// Stamps a further cell of a message; the stamp keeps it apart from a cell of another round.
  /// relaxed: publish() of the first cell publishes it
  void stamp_quietly(std::uint64_t ticket) {
    std::atomic_ref(cell(ticket).stamp).store(stamp_of(ticket), std::memory_order_relaxed);
  }
  /// After an event without a cell: whether the reader sleeps and has to be woken. A read-modify-write: either the
  /// reader's step to sleep comes later, and it sees the event, or we see its bit. pairs: ticket_ring.sleep
  bool reader_sleeps_after_event() { return reader_sleeps(tickets_.fetch_add(0, std::memory_order_acq_rel)); }
  /// The same after an event that the caller has published by a seq_cst store, and that the reader looks for by a
  /// seq_cst load: one order of all four, so no read-modify-write is needed. pairs: ticket_ring.sleep
  bool reader_sleeps_after_store() const { return reader_sleeps(tickets_.load(std::memory_order_seq_cst)); }
  /// Tickets drawn so far, all of the caller's own among them.
  std::uint64_t drawn() const {
    return ticket_of(tickets_.load(std::memory_order_relaxed));  // relaxed: the caller's own come before
  }

  // The reader: one thread at a time, with its own count of the tickets that it has consumed.

  /// The stamp of a cell, in the order that the caller needs: acquire to read the message. pairs: ticket_ring.publish
  stamp_type stamp_at(std::uint64_t ticket, std::memory_order order) const {
    return std::atomic_ref(cell(ticket).stamp).load(order);
  }
  /// Whether the message with this ticket may be read.
  bool is_published(std::uint64_t ticket) const {
    return stamp_at(ticket, std::memory_order_acquire) == stamp_of(ticket);  // pairs: ticket_ring.publish
  }
  /// All cells of tickets below are free again. Now and then is enough: the producers' line then stays with them.
  void publish_consumed(std::uint64_t tickets) {
    consumed_.store(tickets, std::memory_order_release);  // pairs: ticket_ring.consumed
  }
  std::uint64_t consumed() const { return consumed_.load(std::memory_order_relaxed); }  // relaxed: the reader's own

  /// True: the reader is marked asleep, and no ticket beyond those consumed is out. It looks once more for events
  /// without a cell, sleeps, and calls mark_awake. False: a message comes, and nothing has changed.
  bool prepare_sleep(std::uint64_t all_consumed) {
    // seq_cst: also orders the mark before the reader's look at boards and queues, and their marks before its own.
    // relaxed on failure: nothing is concluded from it. pairs: ticket_ring.sleep
    return tickets_.compare_exchange_strong(all_consumed, all_consumed | asleep_bit, std::memory_order_seq_cst,
                                            std::memory_order_relaxed);
  }
  /// The reader, or anyone about to wake it: it counts as awake. True for the one caller that ended its sleep, which
  /// rings. A read-modify-write also if it is awake: a reader that is about to sleep then comes after us and sees what
  /// we did before. pairs: ticket_ring.sleep
  bool mark_awake() { return reader_sleeps(tickets_.fetch_and(~asleep_bit, std::memory_order_seq_cst)); }
  bool seems_asleep() const { return reader_sleeps(tickets_.load(std::memory_order_relaxed)); }  // relaxed: a hint

  // For readers outside of the job, who have no object of this type (src/live/format.hpp).
  const void* place_of_tickets() const { return &tickets_; }
  const void* place_of_consumed() const { return &consumed_; }

 private:
  // Each end on a line of its own. What never changes is with `consumed_`, which producers read as well.
  alignas(64) std::atomic<std::uint64_t> tickets_{0};   // next ticket, plus asleep_bit
  alignas(64) std::atomic<std::uint64_t> consumed_{0};  // all tickets below are free again; written now and then
  Cell* cells_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t limit_ = 0;
};

}  // namespace tri::arena
