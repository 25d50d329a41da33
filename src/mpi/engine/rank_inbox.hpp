// Where the processes of a host put messages for one rank: a bounded ring of cells in shared memory, many producers. A
// producer takes a ticket with one fetch-and-add, writes the cell and publishes it by its stamp. A cell is half a cache
// line: of short messages that follow each other two move in one line. A larger message takes several cells in a row,
// so it costs as many lines as its cells fill, and no block that has to be allocated and to go back. The reading side
// is part of the shared memory too, because not only the rank itself reads: whoever holds the lock of its endpoint may.
//
// A stamp is the lower half of a ticket. What a cell has from the last round differs from what it is to get by the
// number of cells, which is far less than half of all stamps.
//
// Sleeping: the rank sets the top bit of the ticket word in the same atomic step that checks that no ticket is out; the
// next producer learns it from its own fetch-and-add and rings. Events that come without a cell call wake(). (The same
// protocol as sched/inbox.hpp.)
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "arena/doorbell.hpp"
#include "mpi/matching/message_key.hpp"
#include "os/cpu_hints.hpp"
#include "trireme/detail/arena/other_process_order.hpp"

namespace tri::mpi {

inline constexpr std::size_t bytes_in_first_cell = 8;
inline constexpr std::size_t bytes_in_further_cell = 28;
/// Measured: from 512 B on a block, which its sender writes and its receiver reads in one go, is as quick.
inline constexpr std::uint64_t most_cells = 10;
inline constexpr std::size_t most_bytes_in_cells = 256;
inline constexpr std::size_t most_bytes_in_two_cells = bytes_in_first_cell + bytes_in_further_cell;

/// How many cells a message takes whose data travels in them.
constexpr std::uint64_t cells_of(std::size_t bytes) {
  return bytes <= bytes_in_first_cell
             ? 1
             : 1 + (bytes - bytes_in_first_cell + bytes_in_further_cell - 1) / bytes_in_further_cell;
}
static_assert(cells_of(0) == 1 && cells_of(8) == 1 && cells_of(9) == 2 && cells_of(36) == 2 && cells_of(37) == 3 &&
              cells_of(most_bytes_in_cells) == most_cells);

/// Up to 64 bytes, by two copies of a constant length that may overlap: a few instructions.
inline void copy_within_line(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto both_ends = [&](auto length) {
    std::array<std::byte, length> first, last;
    std::memcpy(first.data(), from, length);
    std::memcpy(last.data(), from + bytes - length, length);
    std::memcpy(to, first.data(), length);
    std::memcpy(to + bytes - length, last.data(), length);
  };
  if (bytes >= 32) return both_ends(std::integral_constant<std::size_t, 32>());
  if (bytes >= 16) return both_ends(std::integral_constant<std::size_t, 16>());
  if (bytes >= 8) return both_ends(std::integral_constant<std::size_t, 8>());
  if (bytes >= 4) return both_ends(std::integral_constant<std::size_t, 4>());
  if (bytes >= 2) return both_ends(std::integral_constant<std::size_t, 2>());
  if (bytes == 1) *to = *from;
}

enum class message_kind : std::uint8_t {
  in_cells,   // the data stands in the cell and in those behind it
  in_block,   // `node` is an unexpected_message, in a block of its own, with the data behind it
  rendezvous  // `node` is the sender's send_record: whoever finds the receive copies the data
};

/// The first cell of a message. A further one has its stamp and then data, up to its end.
struct alignas(32) inbox_cell {
  std::uint32_t stamp;  // the lower half of the ticket after its own
  std::uint16_t bytes;  // in_cells; in_block at most as many, a hint
  message_kind kind;
  message_key key;
  union {
    std::byte data[bytes_in_first_cell];
    void* node;
  };

  /// In messages that are published, under the lock.
  std::uint64_t cells() const { return kind == message_kind::in_cells ? cells_of(bytes) : 1; }
};
static_assert(sizeof(inbox_cell) == 32 && sizeof(inbox_cell) == sizeof(std::uint32_t) + bytes_in_further_cell);

class rank_inbox {
 public:
  /// `cells`: zeroed shared memory, a power of two of them, at least twice the number of producers.
  void initialise(inbox_cell* cells, std::uint64_t capacity, std::uint64_t producers) {
    cells_ = cells;
    capacity_ = capacity;
    most_cells_ = std::clamp<std::uint64_t>(capacity / (4 * std::max<std::uint64_t>(producers, 1)), 1, most_cells);
    margin_ = producers * most_cells_;
    unpublished_ = capacity < 8 ? 0 : capacity / 8 - 1;
  }

  /// As if that many cells, at least the ring's own, had been used and read: for tests of what counters do at their
  /// end.
  void begin_at(std::uint64_t ticket) {
    for (std::uint64_t at = ticket - capacity_; at < ticket; ++at) stamp_further(at);
    for (std::atomic<std::uint64_t>* const end : {&tickets_, &consumed_, &read_})
      end->store(ticket, std::memory_order_relaxed);  // relaxed: no other thread is there
  }

  /// A producer, one call at a time in a process. `fill` writes all of the cell but its stamp. Returns false, with
  /// nothing done, when the ring is full.
  template <class Fill>
  bool push(Fill&& fill) {
    return push_cells(1, capacity_ - margin_, [&](std::uint64_t ticket) { fill(cell_at(ticket)); });
  }

  /// A message of so many bytes may travel in cells. With many producers those are few.
  bool has_cells_for(std::size_t bytes) const { return bytes <= bytes_in_first_cell || has_further_cells_for(bytes); }
  bool has_further_cells_for(std::size_t bytes) const {
    return bytes <= most_bytes_in_cells && cells_of(bytes) <= most_cells_;
  }
  /// A message of at most two cells that is no more than bytes. Returns false also when it has no cells.
  bool push_bytes(const message_key& key, const std::byte* data, std::size_t bytes) {
    if (bytes <= bytes_in_first_cell) {
      return push([&](inbox_cell& cell) {
        begin(cell, key, bytes);
        copy_within_line(cell.data, data, bytes);
      });
    }
    if (most_cells_ == 1) return false;
    return push_cells(2, capacity_ - margin_, [&](std::uint64_t ticket) {
      inbox_cell& first = cell_at(ticket);
      begin(first, key, bytes);
      std::memcpy(first.data, data, bytes_in_first_cell);
      copy_within_line(data_of_further(cell_at(ticket + 1)), data + bytes_in_first_cell, bytes - bytes_in_first_cell);
      stamp_further(ticket + 1);
    });
  }
  /// A message for which there may be cells (has_cells_for): `read(offset, length, to)` gives its bytes. More than two
  /// cells are refused when the ring is more than half full: a reader who is behind is better off with short messages.
  template <class Read>
  bool push_data(const message_key& key, std::size_t bytes, Read&& read) {
    const std::uint64_t cells = cells_of(bytes);
    return push_cells(cells, cells <= 2 ? capacity_ - margin_ : capacity_ / 2, [&](std::uint64_t ticket) {
      inbox_cell& first = cell_at(ticket);
      begin(first, key, bytes);
      read(0, std::min(bytes, bytes_in_first_cell), first.data);
      std::size_t done = bytes_in_first_cell;
      for (std::uint64_t at = ticket + 1; at < ticket + cells; ++at, done += bytes_in_further_cell) {
        inbox_cell& further = cell_at(at);
        // Of a constant length wherever it can be: the copy then is a few instructions.
        if (bytes - done >= bytes_in_further_cell)
          read(done, bytes_in_further_cell, data_of_further(further));
        else
          read(done, bytes - done, data_of_further(further));
        stamp_further(at);
      }
    });
  }

  /// A message seems to be there. Anybody; a hint, but for who offers its progress: see engine::leave.
  bool has_message() const {
    // relaxed: `read_` changes under the lock, and who goes on to read takes it. An old value leads to a cell that is
    // still published, or to one that was used again since and has a later stamp, by fewer than half of all stamps.
    const std::uint64_t next = read_.load(std::memory_order_relaxed);
    // pairs: engine.leave
    const std::uint32_t stamp = std::atomic_ref(cells_[next & (capacity_ - 1)].stamp).load(std::memory_order_seq_cst);
    return static_cast<std::int32_t>(stamp - static_cast<std::uint32_t>(next)) > 0;
  }

  /// The next message, or null. With the lock of the endpoint.
  inbox_cell* front() {
    const std::uint64_t next = read_.load(std::memory_order_relaxed);  // relaxed: under the lock
    inbox_cell& cell = cells_[next & (capacity_ - 1)];
    // seq_cst: the second message of a rank that leaves is looked for here. pairs: rank_inbox.publish, engine.leave
    if (std::atomic_ref(cell.stamp).load(std::memory_order_seq_cst) != stamp_of(next)) return nullptr;
    arena::taken_over();
    return &cell;
  }
  /// The first `bytes` bytes of the message at the front, which is in_cells. With the lock.
  void read_front(std::size_t bytes, std::byte* to) const {
    const std::uint64_t next = read_.load(std::memory_order_relaxed);  // relaxed: under the lock
    copy_within_line(to, cell_at(next).data, std::min(bytes, bytes_in_first_cell));
    std::size_t done = bytes_in_first_cell;
    for (std::uint64_t at = next + 1; done < bytes; ++at, done += bytes_in_further_cell) {
      const std::byte* const from = data_of_further(cell_at(at));
      if (bytes - done >= bytes_in_further_cell)
        std::memcpy(to + done, from, bytes_in_further_cell);
      else
        copy_within_line(to + done, from, bytes - done);
    }
  }
  /// Ends the message at the front. With the lock.
  void pop() {
    const std::uint64_t before = read_.load(std::memory_order_relaxed);  // relaxed: under the lock
    const std::uint64_t next = before + cell_at(before).cells();
    read_.store(next, std::memory_order_relaxed);  // relaxed: as above; a hint for has_message
    // Now and then, so that the producers' line stays theirs.
    if (((before ^ next) & ~unpublished_) != 0) publish_read();
  }
  /// The reader is behind: the messages after the one at the front have most likely come, too.
  void expect_more() const {
    const std::uint64_t next = read_.load(std::memory_order_relaxed);  // relaxed: a hint
    host::prefetch_to_read(&cell_at(next + 2));
    host::prefetch_to_read(&cell_at(next + 4));
  }
  /// How many cells are taken, those of all of the caller's own messages among them.
  std::uint64_t tickets() const {
    return tickets_.load(std::memory_order_relaxed) & ~asleep_bit;  // relaxed: the caller's own come before
  }
  /// That many cells have been read. With the lock.
  bool has_read(std::uint64_t cells) const {
    return read_.load(std::memory_order_relaxed) >= cells;  // relaxed: under the lock
  }
  void publish_read() {
    // relaxed: under the lock
    consumed_.store(read_.load(std::memory_order_relaxed), std::memory_order_release);  // pairs: rank_inbox.consumed
  }

  /// The rank itself. True: it is marked asleep, nobody has a ticket for a message that was not read; then check what
  /// else could wake it, sleep on `bell`, and call woken(). False: there is a message.
  bool prepare_sleep() {
    std::uint64_t out = read_.load(std::memory_order_relaxed);  // relaxed: only a helper changes it, and then fails us
    // pairs: rank_inbox.sleep
    return tickets_.compare_exchange_strong(out, out | asleep_bit, std::memory_order_seq_cst,
                                            std::memory_order_relaxed);
  }
  void woken() { tickets_.fetch_and(~asleep_bit, std::memory_order_acq_rel); }  // pairs: rank_inbox.sleep
  /// Something has changed for the rank that came without a cell. A read-modify-write also when it is awake: if it is
  /// about to sleep, it comes after us and sees what we did. pairs: rank_inbox.sleep
  void wake() {
    if ((tickets_.fetch_and(~asleep_bit, std::memory_order_seq_cst) & asleep_bit) != 0) bell.ring();
  }
  bool is_asleep() const { return (tickets_.load(std::memory_order_relaxed) & asleep_bit) != 0; }  // relaxed: a hint

 private:
  inbox_cell& cell_at(std::uint64_t ticket) const { return cells_[ticket & (capacity_ - 1)]; }
  static std::uint32_t stamp_of(std::uint64_t ticket) { return static_cast<std::uint32_t>(ticket + 1); }
  static void begin(inbox_cell& first, const message_key& key, std::size_t bytes) {
    first.key = key;
    first.bytes = static_cast<std::uint16_t>(bytes);
    first.kind = message_kind::in_cells;
  }
  // relaxed: published with the first cell. The stamp keeps the cell apart from one of a later round.
  void stamp_further(std::uint64_t ticket) {
    std::atomic_ref(cell_at(ticket).stamp).store(stamp_of(ticket), std::memory_order_relaxed);
  }
  static std::byte* data_of_further(inbox_cell& cell) {
    return reinterpret_cast<std::byte*>(&cell) + sizeof cell.stamp;
  }

  // `cells` tickets in a row, if no more than `limit` are out; `write` gets the first.
  template <class Write>
  bool push_cells(std::uint64_t cells, std::uint64_t limit, Write&& write) {
    std::uint64_t consumed = consumed_.load(std::memory_order_acquire);  // pairs: rank_inbox.consumed
    // relaxed: a hint; the margin has room for every producer that is between this poll and its tickets
    const std::uint64_t seen = tickets_.load(std::memory_order_relaxed) & ~asleep_bit;
    if (static_cast<std::int64_t>(seen - consumed) >= static_cast<std::int64_t>(limit)) [[unlikely]]
      return false;
    // acq_rel: pairs with prepare_sleep's exchange: either that sees our tickets or we its bit. pairs: rank_inbox.sleep
    const std::uint64_t word = tickets_.fetch_add(cells, std::memory_order_acq_rel);
    const std::uint64_t ticket = word & ~asleep_bit;
    while (ticket + cells - consumed > capacity_) [[unlikely]] {  // `seen` was stale: the reader is at work
      host::cpu_relax();
      consumed = consumed_.load(std::memory_order_acquire);  // pairs: rank_inbox.consumed
    }
    write(ticket);
    arena::handed_over(this);
    std::atomic_ref(cell_at(ticket).stamp)
        .store(stamp_of(ticket), std::memory_order_release);  // pairs: rank_inbox.publish
    if ((word & asleep_bit) != 0) [[unlikely]]
      wake();
    return true;
  }

  static constexpr std::uint64_t asleep_bit = std::uint64_t{1} << 63;
  alignas(64) std::atomic<std::uint64_t> tickets_{0};
  alignas(64) std::atomic<std::uint64_t> consumed_{0};
  inbox_cell* cells_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t margin_ = 0;
  std::uint64_t most_cells_ = 1;   // of one message
  std::uint64_t unpublished_ = 0;  // mask: so many may have been read without the producers knowing
  alignas(64) std::atomic<std::uint64_t> read_{0};

 public:
  alignas(64) arena::doorbell bell;
};

}  // namespace tri::mpi
