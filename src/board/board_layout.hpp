// The layout of the board in its memory, and the header by which a process checks it before use. All offsets follow
// from the shape, so the header stores the shape and is compared, not followed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "board/operation_table.hpp"

namespace tri::board {

// Which process each PE of the host belongs to; PEs of a process need not be neighbours.
struct board_shape {
  std::vector<std::uint32_t> process_of_pe;
  std::uint32_t pe_count() const { return static_cast<std::uint32_t>(process_of_pe.size()); }
  std::uint32_t process_count() const;  // largest process number + 1
};

inline constexpr std::uint32_t most_pes = 1024;  // 64 words of 16 PEs with slots_per_pe bits each

struct alignas(64) board_header {
  std::atomic<std::uint64_t> magic;  // written last
  std::uint32_t version;
  std::uint32_t pe_count;
  std::uint32_t process_count;
  std::uint32_t slots_of_pe;
  std::uint64_t bytes;
  std::uint32_t chunk_operations;     // known to the process that initialised the board,
  std::uint32_t progress_operations;  // with the fingerprints of their names
  std::uint64_t chunk_fingerprint;
  std::uint64_t progress_fingerprint;
};
static_assert(sizeof(board_header) == 64);

inline constexpr std::uint64_t board_magic = 0x31647261'6f427254u;  // "TrBoard1" in memory order
inline constexpr std::uint32_t board_version = 2;

struct board_layout {
  std::uint32_t task_words;      // per scope: the host, then each process
  std::uint32_t progress_words;  // per scope
  std::size_t process_of_pe;     // offsets in bytes from here on
  std::size_t scopes;
  std::size_t scope_bytes;
  std::size_t entries;
  std::size_t slots;
  std::size_t lines;
  std::size_t bytes;

  // Throws std::invalid_argument with the value when the counts are not possible.
  static board_layout of(std::uint32_t pe_count, std::uint32_t process_count);
};

// Throws std::invalid_argument when the memory can not hold a board of that many bytes: too small or not on a line.
void check_memory(std::span<const std::byte> memory, std::size_t bytes);

// Throws std::invalid_argument naming the field that is wrong. `memory` may hold anything.
const board_header& check_header(std::span<const std::byte> memory, const operation_table& operations);

}  // namespace tri::board
