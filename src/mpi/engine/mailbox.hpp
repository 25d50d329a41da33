// Where the processes of a host put messages for one rank: a bounded ring of cache lines in shared memory, many
// producers. A producer takes a ticket with one fetch-and-add, writes the cell and publishes it by its stamp, so a
// small message costs one line that moves. The reading side is part of the shared memory too, because not only the rank
// itself reads: whoever holds the lock of its endpoint may.
//
// Sleeping: the rank sets the top bit of the ticket word in the same atomic step that checks that no ticket is out; the
// next producer learns it from its own fetch-and-add and rings. Events that come without a cell call wake(). (The same
// protocol as sched/inbox.hpp.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena/doorbell.hpp"
#include "arena/other_process_order.hpp"
#include "host/cpu.hpp"
#include "mpi/matching/message_key.hpp"

namespace tri::mpi {

inline constexpr std::size_t most_inline_bytes = 32;

enum class message_kind : std::uint8_t {
  in_cell,    // the data stands in the cell
  in_block,   // `node` is a kept_message, in a block of its own, with the data behind it
  rendezvous  // `node` is the sender's send_record: whoever finds the receive moves the data
};

struct alignas(64) mailbox_cell {
  std::uint64_t stamp;
  message_key key;
  std::uint32_t bytes;  // in_cell
  message_kind kind;
  union {
    std::byte data[most_inline_bytes];
    void* node;
  };
};
static_assert(sizeof(mailbox_cell) == 64);

class mailbox {
 public:
  /// `cells`: zeroed shared memory, a power of two of them, at least twice the number of producers.
  void initialise(mailbox_cell* cells, std::uint64_t capacity, std::uint64_t producers) {
    cells_ = cells;
    capacity_ = capacity;
    margin_ = producers;
    unpublished_ = capacity < 8 ? 0 : capacity / 8 - 1;
  }

  /// A producer, one call at a time in a process. Returns false, with nothing done, when the ring is full.
  template <class Fill>
  bool push(Fill&& fill) {
    std::uint64_t consumed = consumed_.load(std::memory_order_acquire);  // pairs: mailbox.consumed
    // relaxed: a hint; the margin has a cell for every producer that is between this look and its ticket
    const std::uint64_t seen = tickets_.load(std::memory_order_relaxed) & ~asleep_bit;
    if (static_cast<std::int64_t>(seen - consumed) >= static_cast<std::int64_t>(capacity_ - margin_)) [[unlikely]]
      return false;
    // acq_rel: pairs with prepare_sleep's exchange: either that sees our ticket or we its bit. pairs: mailbox.sleep
    const std::uint64_t word = tickets_.fetch_add(1, std::memory_order_acq_rel);
    const std::uint64_t ticket = word & ~asleep_bit;
    while (ticket - consumed >= capacity_) [[unlikely]] {  // `seen` was stale: the reader is at work
      host::cpu_relax();
      consumed = consumed_.load(std::memory_order_acquire);  // pairs: mailbox.consumed
    }
    mailbox_cell& cell = cells_[ticket & (capacity_ - 1)];
    fill(cell);
    arena::handed_over(this);
    std::atomic_ref(cell.stamp).store(ticket + 1, std::memory_order_release);  // pairs: mailbox.publish
    if ((word & asleep_bit) != 0) [[unlikely]]
      wake();
    return true;
  }

  /// A message seems to be there. Anybody; a hint.
  bool has_message() const {
    // relaxed: `read_` changes under the lock, and who goes on to read takes it
    const std::uint64_t next = read_.load(std::memory_order_relaxed);
    return std::atomic_ref(cells_[next & (capacity_ - 1)].stamp).load(std::memory_order_relaxed) == next + 1;
  }

  /// The next message, or null. With the lock of the endpoint.
  mailbox_cell* front() {
    const std::uint64_t next = read_.load(std::memory_order_relaxed);  // relaxed: under the lock
    mailbox_cell& cell = cells_[next & (capacity_ - 1)];
    if (std::atomic_ref(cell.stamp).load(std::memory_order_acquire) != next + 1)
      return nullptr;  // pairs: mailbox.publish
    arena::taken_over();
    return &cell;
  }
  void pop() {
    const std::uint64_t next = read_.load(std::memory_order_relaxed) + 1;  // relaxed: under the lock
    read_.store(next, std::memory_order_relaxed);                          // relaxed: as above; a hint for has_message
    // Now and then, so that the producers' line stays theirs.
    if ((next & unpublished_) == 0) publish_read();
  }
  /// How many messages have a place, all of the caller's own among them.
  std::uint64_t tickets() const {
    return tickets_.load(std::memory_order_relaxed) & ~asleep_bit;  // relaxed: the caller's own come before
  }
  /// That many messages have been read. With the lock.
  bool has_read(std::uint64_t messages) const {
    return read_.load(std::memory_order_relaxed) >= messages;  // relaxed: under the lock
  }
  void publish_read() {
    // relaxed: under the lock
    consumed_.store(read_.load(std::memory_order_relaxed), std::memory_order_release);  // pairs: mailbox.consumed
  }

  /// The rank itself. True: it is marked asleep, nobody has a ticket for a message that was not read; then check what
  /// else could wake it, sleep on `bell`, and call woken(). False: there is a message.
  bool prepare_sleep() {
    std::uint64_t out = read_.load(std::memory_order_relaxed);  // relaxed: only a helper changes it, and then fails us
    // pairs: mailbox.sleep
    return tickets_.compare_exchange_strong(out, out | asleep_bit, std::memory_order_seq_cst,
                                            std::memory_order_relaxed);
  }
  void woken() { tickets_.fetch_and(~asleep_bit, std::memory_order_acq_rel); }  // pairs: mailbox.sleep
  /// Something has changed for the rank that came without a cell. A read-modify-write also when it is awake: if it is
  /// about to sleep, it comes after us and sees what we did. pairs: mailbox.sleep
  void wake() {
    if ((tickets_.fetch_and(~asleep_bit, std::memory_order_seq_cst) & asleep_bit) != 0) bell.ring();
  }
  bool is_asleep() const { return (tickets_.load(std::memory_order_relaxed) & asleep_bit) != 0; }  // relaxed: a hint

 private:
  static constexpr std::uint64_t asleep_bit = std::uint64_t{1} << 63;
  alignas(64) std::atomic<std::uint64_t> tickets_{0};
  alignas(64) std::atomic<std::uint64_t> consumed_{0};
  mailbox_cell* cells_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t margin_ = 0;
  std::uint64_t unpublished_ = 0;  // mask: so many may have been read without the producers knowing
  alignas(64) std::atomic<std::uint64_t> read_{0};

 public:
  alignas(64) arena::doorbell bell;
};

}  // namespace tri::mpi
