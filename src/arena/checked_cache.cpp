#include "arena/checked_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include "os/standard_output.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::arena {
namespace {

constexpr std::size_t note_bytes = 64;  // a line, so that blocks are aligned as without it
constexpr std::size_t guard_bytes = 16;
constexpr std::size_t most_filled = 4096;  // of a block: large messages would take too long
constexpr std::uint64_t in_use = 0x7472697375736564;
constexpr std::uint64_t is_released = 0x7472697266726565;
constexpr unsigned char guard_byte = 0xb7;
constexpr unsigned char fresh_byte = 0xc5;
constexpr unsigned char released_byte = 0xd9;
static_assert(sizeof(block_note) <= note_bytes);

block_note& note_of(std::byte* block) { return *reinterpret_cast<block_note*>(block - note_bytes); }

std::string name_of(std::uint16_t process, std::uint16_t pe) {
  return pe == guest_cache ? fmt::format("a thread that is no PE, in process {} of this host", process)
                           : fmt::format("PE {} of process {} of this host", pe, process);
}

bool is_filled(const std::byte* from, std::size_t bytes, unsigned char with) {
  return std::all_of(from, from + bytes, [with](std::byte each) { return each == std::byte{with}; });
}

// The first byte that is not what was written there.
std::size_t first_changed(const std::byte* from, std::size_t bytes, unsigned char with) {
  return static_cast<std::size_t>(
      std::find_if(from, from + bytes, [with](std::byte each) { return each != std::byte{with}; }) - from);
}

[[noreturn]] void end_program(const std::string& what) {
  os::write_out_standard_output();
  os::print_error_line(fmt::format("trireme: --tri-allocator=checked: {}", what));
  std::abort();
}

std::string described(const std::byte* block, const block_note& note) {
  return fmt::format("a block of {} bytes at {}, allocated by {},", note.bytes, static_cast<const void*>(block),
                     name_of(note.allocating_process, note.allocating_pe));
}

void check_guard(const std::byte* block, const block_note& note) {
  const std::byte* const guard = block + note.bytes;
  if (is_filled(guard, guard_bytes, guard_byte)) return;
  end_program(fmt::format("{} was written {} bytes behind its end", described(block, note),
                          first_changed(guard, guard_bytes, guard_byte)));
}

}  // namespace

checked_cache::checked_cache(block_cache& below, std::uint16_t process, std::uint16_t number)
    : below_(below), process_(process), number_(number) {}

checked_cache::~checked_cache() { empty_quarantine(); }

void* checked_cache::allocate(std::size_t bytes) {
  constexpr std::size_t more = note_bytes + guard_bytes;
  const std::size_t all = bytes > std::numeric_limits<std::size_t>::max() - more ? bytes : bytes + more;
  std::byte* memory = nullptr;
  try {
    memory = static_cast<std::byte*>(below_.allocate(all));
  } catch (const arena_exhausted&) {
    if (waiting_count_ == 0) throw;
    empty_quarantine();
    memory = static_cast<std::byte*>(below_.allocate(all));
  }
  auto* const note = new (memory) block_note{};
  note->bytes = bytes;
  note->allocating_process = process_;
  note->allocating_pe = number_;
  // relaxed: another thread learns of the block by what passes it on.
  std::atomic_ref(note->state).store(in_use, std::memory_order_relaxed);
  std::byte* const block = memory + note_bytes;
  std::memset(block, fresh_byte, std::min(bytes, most_filled));
  std::memset(block + bytes, guard_byte, guard_bytes);
  return block;
}

void checked_cache::release(void* address) {
  auto* const block = static_cast<std::byte*>(address);
  block_note& note = note_of(block);
  // acq_rel: of two threads that release a block the second one sees what the first has noted. pairs: itself
  std::uint64_t expected = in_use;
  if (!std::atomic_ref(note.state).compare_exchange_strong(expected, is_released, std::memory_order_acq_rel)) {
    if (expected == is_released)
      end_program(fmt::format("{} is released twice: now by {}, before by {}", described(block, note),
                              name_of(process_, number_), name_of(note.releasing_process, note.releasing_pe)));
    end_program(
        fmt::format("{} is released, where no block begins, or one that was written before its beginning, by {}",
                    static_cast<const void*>(block), name_of(process_, number_)));
  }
  note.releasing_process = process_;
  note.releasing_pe = number_;
  check_guard(block, note);
  std::memset(block, released_byte, std::min<std::size_t>(note.bytes, most_filled));
  if (note.bytes > most_bytes_waiting / 4) {
    give_back(block);
    return;
  }
  while (waiting_count_ == most_blocks_waiting || waiting_bytes_ + note.bytes > most_bytes_waiting) {
    std::byte* const oldest = waiting_[first_waiting_];
    first_waiting_ = (first_waiting_ + 1) % most_blocks_waiting;
    --waiting_count_;
    waiting_bytes_ -= note_of(oldest).bytes;
    give_back(oldest);
  }
  waiting_[(first_waiting_ + waiting_count_++) % most_blocks_waiting] = block;
  waiting_bytes_ += note.bytes;
}

void checked_cache::give_back(std::byte* block) {
  block_note& note = note_of(block);
  const std::size_t filled = std::min<std::size_t>(note.bytes, most_filled);
  if (!is_filled(block, filled, released_byte))
    end_program(fmt::format("{} was written at its byte {} after {} had released it", described(block, note),
                            first_changed(block, filled, released_byte),
                            name_of(note.releasing_process, note.releasing_pe)));
  check_guard(block, note);
  // relaxed: no one else may look at it. From now on its address is not that of a block.
  std::atomic_ref(note.state).store(0, std::memory_order_relaxed);
  below_.release(block - note_bytes);
}

void checked_cache::empty_quarantine() {
  for (; waiting_count_ > 0; --waiting_count_) {
    give_back(waiting_[first_waiting_]);
    first_waiting_ = (first_waiting_ + 1) % most_blocks_waiting;
  }
  waiting_bytes_ = 0;
}

}  // namespace tri::arena
