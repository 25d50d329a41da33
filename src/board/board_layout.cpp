// Layout, in lines of 64 bytes: header | process of each PE | per scope {hint line, task words, progress words} |
// progress entries | slots | claim lines. These, pe_count * (pe_count + 1) * slots, are by far the most; only posting
// touches them, so a sparse mapping commits only the used ones.
#include "board/board_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "board/divisible_task.hpp"
#include "board/progress_entry.hpp"

namespace tri::board {
namespace {

constexpr std::size_t to_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

std::uint32_t board_shape::process_count() const {
  return process_of_pe.empty() ? 0 : *std::max_element(process_of_pe.begin(), process_of_pe.end()) + 1;
}

board_layout board_layout::of(std::uint32_t pe_count, std::uint32_t process_count) {
  if (pe_count == 0 || pe_count > most_pes) {
    throw std::invalid_argument(fmt::format("board: {} PEs on the host; it must be 1 to {}", pe_count, most_pes));
  }
  if (process_count == 0 || process_count > pe_count) {
    throw std::invalid_argument(
        fmt::format("board: {} processes with {} PEs; it must be 1 to the number of PEs", process_count, pe_count));
  }
  const std::size_t pes = pe_count;
  board_layout layout{};
  layout.task_words = (pe_count * slots_per_pe + 63) / 64;
  layout.progress_words = (pe_count + 63) / 64;
  layout.process_of_pe = sizeof(board_header);
  layout.scopes = layout.process_of_pe + to_lines(pes * sizeof(std::uint32_t));
  layout.scope_bytes =
      64 + to_lines(layout.task_words * std::size_t{8}) + to_lines(layout.progress_words * std::size_t{8});
  layout.entries = layout.scopes + layout.scope_bytes * (process_count + std::size_t{1});
  layout.slots = layout.entries + pes * sizeof(progress_entry);
  layout.lines = layout.slots + pes * slots_per_pe * sizeof(task_slot);
  layout.bytes = layout.lines + pes * slots_per_pe * (pes + 1) * sizeof(claim_line);
  return layout;
}

void check_memory(std::span<const std::byte> memory, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % 64 != 0 || memory.data() == nullptr) {
    throw std::invalid_argument(
        fmt::format("board: memory at {} is not on a cache line (64 bytes)", static_cast<const void*>(memory.data())));
  }
  if (memory.size() < bytes) {
    throw std::invalid_argument(fmt::format("board: {} bytes of memory given, {} are needed", memory.size(), bytes));
  }
}

const board_header& check_header(std::span<const std::byte> memory, const operation_table& operations) {
  check_memory(memory, sizeof(board_header));
  const auto& header = *reinterpret_cast<const board_header*>(memory.data());
  const std::uint64_t magic = header.magic.load(std::memory_order_acquire);  // pairs: board.initialise
  if (magic != board_magic) {
    throw std::invalid_argument(
        fmt::format("board: magic is {:#x}, not {:#x}: no initialised board at this address", magic, board_magic));
  }
  if (header.version != board_version) {
    throw std::invalid_argument(
        fmt::format("board: version {} in memory, {} in this program", header.version, board_version));
  }
  if (header.slots_of_pe != slots_per_pe) {
    throw std::invalid_argument(
        fmt::format("board: {} slots per PE in memory, {} in this program", header.slots_of_pe, slots_per_pe));
  }
  const board_layout layout = board_layout::of(header.pe_count, header.process_count);
  if (header.bytes != layout.bytes) {
    throw std::invalid_argument(fmt::format("board: {} bytes according to the header, {} PEs and {} processes need {}",
                                            header.bytes, header.pe_count, header.process_count, layout.bytes));
  }
  check_memory(memory, layout.bytes);
  const auto check_table = [](const auto& table, const char* kind, std::uint32_t count, std::uint64_t fingerprint) {
    if (table.size() < count || table.fingerprint(count) != fingerprint) {
      throw std::invalid_argument(
          fmt::format("board: the {} {}s registered when it was made are not the first of the {} of this process; "
                      "every process must register the same ones in the same order",
                      count, kind, table.size()));
    }
  };
  check_table(operations.chunks, "chunk operation", header.chunk_operations, header.chunk_fingerprint);
  check_table(operations.progress, "progress operation", header.progress_operations, header.progress_fingerprint);
  return header;
}

}  // namespace tri::board
