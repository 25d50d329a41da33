// Where the processes of a host put messages for one rank: a ticket ring (arena/ticket_ring.hpp) in shared memory. A
// cell is half a cache line: of short messages that follow each other two move in one line. A larger message takes
// several cells in a row, so it costs as many lines as its cells fill, and no block that has to be allocated and to go
// back. The reading side is part of the shared memory too, because not only the rank itself reads: a helping rank that
// holds the lock of the endpoint may.
//
// A stamp is the lower half of a ticket. What a cell has from the last round differs from what it is to get by the
// number of cells, which is far less than half of all stamps.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "arena/doorbell.hpp"
#include "arena/ticket_ring.hpp"
#include "matching/message_key.hpp"
#include "os/cpu/cpu_hints.hpp"
#include "trireme/detail/arena/sanitizer_handover.hpp"

namespace tri::mpi {

using matching::message_key;

inline constexpr std::size_t bytes_in_first_cell = 8;
inline constexpr std::size_t bytes_in_further_cell = 28;
/// Measured: a message of 1 KiB is quicker in a buffer, which its sender writes and its receiver reads in one go.
inline constexpr std::uint64_t most_cells = 19;
inline constexpr std::size_t most_bytes_in_cells = 512;
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
  rendezvous  // `node` is the sender's send_record: the rank that finds the receive copies the data
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
    most_cells_ = std::clamp<std::uint64_t>(capacity / (4 * std::max<std::uint64_t>(producers, 1)), 1, most_cells);
    ring_.initialise(cells, capacity, producers * most_cells_);
    unpublished_ = capacity < 8 ? 0 : capacity / 8 - 1;
  }

  /// As if that many cells, at least the ring's own, had been used and read: for tests of what counters do at their
  /// end.
  void begin_at(std::uint64_t ticket) {
    ring_.begin_at(ticket);
    read_.store(ticket, std::memory_order_relaxed);  // relaxed: no other thread is there
  }

  /// A producer, one call at a time in a process. `fill` writes all of the cell but its stamp. Returns false, with
  /// nothing done, when the ring is full.
  template <class Fill>
  bool push(Fill&& fill) {
    return push_if_fewer(ring_.limit(), fill);
  }
  /// The same where fewer than `most` cells are taken.
  template <class Fill>
  bool push_if_fewer(std::uint64_t most, Fill&& fill) {
    return push_cells(1, std::min(most, ring_.limit()), [&](std::uint64_t ticket) { fill(ring_.cell(ticket)); });
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
    return push_cells(2, ring_.limit(), [&](std::uint64_t ticket) {
      inbox_cell& first = ring_.cell(ticket);
      begin(first, key, bytes);
      std::memcpy(first.data, data, bytes_in_first_cell);
      copy_within_line(data_of_further(ring_.cell(ticket + 1)), data + bytes_in_first_cell,
                       bytes - bytes_in_first_cell);
      ring_.stamp_quietly(ticket + 1);
    });
  }
  /// A message for which there may be cells (has_cells_for): `read(offset, length, to)` gives its bytes. More than two
  /// cells are refused when the ring is more than half full: a reader that is behind is better off with short messages.
  template <class Read>
  bool push_data(const message_key& key, std::size_t bytes, Read&& read) {
    const std::uint64_t cells = cells_of(bytes);
    return push_cells(cells, cells <= 2 ? ring_.limit() : ring_.capacity() / 2, [&](std::uint64_t ticket) {
      // The lines come from the reader's cache; they travel at the same time.
      for (std::uint64_t at = ticket + 2; at < ticket + cells; at += 2) os::prefetch_to_write(&ring_.cell(at));
      inbox_cell& first = ring_.cell(ticket);
      begin(first, key, bytes);
      read(0, std::min(bytes, bytes_in_first_cell), first.data);
      std::size_t done = bytes_in_first_cell;
      for (std::uint64_t at = ticket + 1; at < ticket + cells; ++at, done += bytes_in_further_cell) {
        inbox_cell& further = ring_.cell(at);
        // Of a constant length wherever it can be: the copy then is a few instructions.
        if (bytes - done >= bytes_in_further_cell)
          read(done, bytes_in_further_cell, data_of_further(further));
        else
          read(done, bytes - done, data_of_further(further));
        ring_.stamp_quietly(at);
      }
    });
  }

  /// A message seems to be there. Any thread; a hint, but for a rank that offers its progress: see engine::leave.
  bool has_message() const {
    // relaxed: `read_` changes under the lock, and a thread that goes on to read takes it. An old value leads to a cell
    // that is still published, or to one that was used again since and has a later stamp, by fewer than half of all
    // stamps.
    const std::uint64_t next = read_.load(std::memory_order_relaxed);
    const std::uint32_t stamp = ring_.stamp_at(next, std::memory_order_seq_cst);  // pairs: engine.leave
    return static_cast<std::int32_t>(stamp - static_cast<std::uint32_t>(next)) > 0;
  }

  /// The next message, or null. With the lock of the endpoint.
  inbox_cell* front() {
    const std::uint64_t next = read_.load(std::memory_order_relaxed);  // relaxed: under the lock
    // seq_cst: the second message of a rank that leaves is looked for here. pairs: ticket_ring.publish, engine.leave
    if (ring_.stamp_at(next, std::memory_order_seq_cst) != ring_.stamp_of(next)) return nullptr;
    arena::taken_over();
    return &ring_.cell(next);
  }
  /// The first `bytes` bytes of the message at the front, which is in_cells. With the lock.
  void read_front(std::size_t bytes, std::byte* to) const {
    const std::uint64_t next = read_.load(std::memory_order_relaxed);  // relaxed: under the lock
    for (std::uint64_t at = next + 2; at < next + cells_of(bytes); at += 2) os::prefetch_to_read(&ring_.cell(at));
    copy_within_line(to, ring_.cell(next).data, std::min(bytes, bytes_in_first_cell));
    std::size_t done = bytes_in_first_cell;
    for (std::uint64_t at = next + 1; done < bytes; ++at, done += bytes_in_further_cell) {
      const std::byte* const from = data_of_further(ring_.cell(at));
      if (bytes - done >= bytes_in_further_cell)
        std::memcpy(to + done, from, bytes_in_further_cell);
      else
        copy_within_line(to + done, from, bytes - done);
    }
  }
  /// Ends the message at the front. With the lock.
  void pop() {
    const std::uint64_t before = read_.load(std::memory_order_relaxed);  // relaxed: under the lock
    const std::uint64_t next = before + ring_.cell(before).cells();
    read_.store(next, std::memory_order_relaxed);  // relaxed: as above; a hint for has_message
    // Now and then, so that the producers' line stays theirs.
    if (((before ^ next) & ~unpublished_) != 0) publish_read();
  }
  /// The reader is behind: the messages after the one at the front have most likely come, too.
  void expect_more() const {
    const std::uint64_t next = read_.load(std::memory_order_relaxed);  // relaxed: a hint
    os::prefetch_to_read(&ring_.cell(next + 2));
    os::prefetch_to_read(&ring_.cell(next + 4));
  }
  /// How many cells are taken, those of all of the caller's own messages among them.
  std::uint64_t tickets() const { return ring_.drawn(); }
  /// That many cells have been read. With the lock.
  bool has_read(std::uint64_t cells) const {
    return read_.load(std::memory_order_relaxed) >= cells;  // relaxed: under the lock
  }
  void publish_read() {
    ring_.publish_consumed(read_.load(std::memory_order_relaxed));  // relaxed: under the lock
  }

  /// The rank itself. True: it is marked asleep, no process has a ticket for a message that was not read; then check
  /// what else could wake it, sleep on `bell`, and call woken(). False: there is a message.
  bool prepare_sleep() {
    // relaxed: only a helper changes it, and then the ring refuses
    return ring_.prepare_sleep(read_.load(std::memory_order_relaxed));
  }
  void woken() { ring_.mark_awake(); }
  /// Something has changed for the rank that came without a cell.
  void wake() {
    if (ring_.mark_awake()) bell.ring();
  }
  /// The same where the change was a seq_cst store, and the rank looks for it by seq_cst loads.
  void wake_after_store() {
    if (ring_.reader_sleeps_after_store()) wake();
  }
  bool is_asleep() const { return ring_.seems_asleep(); }

 private:
  static void begin(inbox_cell& first, const message_key& key, std::size_t bytes) {
    first.key = key;
    first.bytes = static_cast<std::uint16_t>(bytes);
    first.kind = message_kind::in_cells;
  }
  static std::byte* data_of_further(inbox_cell& cell) {
    return reinterpret_cast<std::byte*>(&cell) + sizeof cell.stamp;
  }

  // `cells` tickets in a row, if no more than `limit` are out; `write` gets the first.
  template <class Write>
  bool push_cells(std::uint64_t cells, std::uint64_t limit, Write&& write) {
    const std::uint64_t word = ring_.draw(cells, limit);
    if (word == ring_.full) [[unlikely]]
      return false;
    write(ring_.ticket_of(word));
    ring_.publish(word);
    if (ring_.reader_sleeps(word)) [[unlikely]]
      wake();
    return true;
  }

  arena::ticket_ring<inbox_cell> ring_;
  alignas(64) std::atomic<std::uint64_t> read_{0};
  std::uint64_t unpublished_ = 0;  // mask: so many may have been read without the producers knowing

 public:
  alignas(64) arena::doorbell bell;

 private:
  std::uint64_t most_cells_ = 1;  // of one message
};

}  // namespace tri::mpi
