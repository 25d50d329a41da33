// The host's board of open work: created in memory that every process of the host maps at the same address, joined by
// PEs. See README.md for states, lines and the proof; board_pe.hpp for a PE's operations on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "board/board_pe.hpp"
#include "board/board_view.hpp"

namespace tri::board {

class board {
 public:
  static std::size_t required_bytes(const board_shape& shape);

  // Once per host, before any process attaches. The memory may hold anything; it must be 64-byte aligned, outlive every
  // user, and is never freed or moved by the board. Throws std::invalid_argument.
  static board initialise(std::span<std::byte> memory, const board_shape& shape,
                          const operation_table& operations = operation_table::of_process());
  // Every other process. Trusts nothing in the memory; throws std::invalid_argument naming the mismatch.
  static board attach(std::span<std::byte> memory, const operation_table& operations = operation_table::of_process());

  // Checks header, states and ranges; true at any moment of normal use, also concurrently. For debug builds and tests.
  bool is_valid() const;

  std::uint32_t pe_count() const { return view_.pe_count; }
  std::uint32_t process_count() const { return view_.process_count; }
  std::uint32_t process_of(std::uint32_t pe) const;

  // A PE's access, for that PE's thread alone; one at a time per PE of the host. `order` lists all other PEs, nearest
  // first (victim_order.hpp). Throws std::invalid_argument when it is not a permutation of them.
  board_pe join(std::uint32_t pe, std::span<const std::uint32_t> order) const;
  board_pe join(std::uint32_t pe) const;  // ring order

 private:
  explicit board(const board_view& view) : view_(view) {}
  board_view view_;
};

}  // namespace tri::board
