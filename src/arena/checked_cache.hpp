// The allocator of one thread for the search for errors (--tri-allocator=checked, M15): finds blocks that are released
// twice, that were never allocated, and writes before, behind and after the life of a block, and ends the program with
// what it found. Takes its memory from the thread's block_cache; like that it has no lock that threads share, and
// blocks keep their addresses, which are the same in all processes of the host.
//
//   | block_note (64 bytes) | the block, as long as it was asked for | guard (16 bytes) |
//
// Memory is filled with one pattern when it is allocated and with another when it is released. A released block waits
// in quarantine before it can be used again; that it is still filled is checked when it leaves.
//
// Thread-safety: one thread at a time, that which uses the block_cache. Any thread of any process of the host may
// release a block by its own checked_cache; all processes must use checked ones, because others do not know the note.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arena/block_cache.hpp"

namespace tri::arena {

/// In front of each block.
struct block_note {
  std::uint64_t state;               ///< what the block is; exchanged by a release, so that only one succeeds
  std::uint64_t bytes;               ///< that were asked for
  std::uint16_t allocating_process;  ///< local rank on the host
  std::uint16_t allocating_pe;       ///< in its process; guest_cache: a thread that is no PE
  std::uint16_t releasing_process;
  std::uint16_t releasing_pe;
};

class checked_cache {
 public:
  /// `process`: local rank on the host; `number`: that of the cache.
  checked_cache(block_cache& below, std::uint16_t process, std::uint16_t number);
  checked_cache(const checked_cache&) = delete;
  checked_cache& operator=(const checked_cache&) = delete;
  /// Checks and gives back what is in quarantine.
  ~checked_cache();

  /// As block_cache::allocate.
  void* allocate(std::size_t bytes);
  /// Ends the program (SIGABRT), with a line on standard error, when the block or its surroundings are not what they
  /// should be.
  void release(void* block);
  /// Checks and gives back all of the quarantine.
  void empty_quarantine();

 private:
  void give_back(std::byte* block);

  static constexpr std::size_t most_blocks_waiting = 256;
  static constexpr std::size_t most_bytes_waiting = std::size_t{1} << 20;

  block_cache& below_;
  const std::uint16_t process_;
  const std::uint16_t number_;
  std::array<std::byte*, most_blocks_waiting> waiting_{};  // a ring
  std::size_t first_waiting_ = 0;
  std::size_t waiting_count_ = 0;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace tri::arena
