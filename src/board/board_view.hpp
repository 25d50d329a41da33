// The board as one process sees it: pointers to its parts and the process's own operation table. Plain values, made
// once by board::initialise or board::attach and shared by all PEs of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "board/board_layout.hpp"
#include "board/divisible_task.hpp"
#include "board/progress_entry.hpp"
#include "board/work_words.hpp"

namespace tri::board {

using host_word = std::atomic<std::uint64_t>;
using host_words = work_words<host_word>;

struct board_view {
  std::byte* memory = nullptr;
  board_layout layout{};
  std::uint32_t pe_count = 0;
  std::uint32_t process_count = 0;
  const operation_table* operations = nullptr;

  static board_view over(std::byte* memory, std::uint32_t pe_count, std::uint32_t process_count,
                         const operation_table& operations) {
    return {memory, board_layout::of(pe_count, process_count), pe_count, process_count, &operations};
  }

  template <class Part>
  Part* at(std::size_t offset) const {
    return reinterpret_cast<Part*>(memory + offset);
  }
  board_header& header() const { return *at<board_header>(0); }
  std::uint32_t* process_of_pe() const { return at<std::uint32_t>(layout.process_of_pe); }
  task_slot* slots() const { return at<task_slot>(layout.slots); }
  progress_entry* entries() const { return at<progress_entry>(layout.entries); }

  // For each slot one line per PE, and then the pool's.
  std::span<claim_line> lines_of_slot(std::uint32_t slot) const {
    const std::size_t count = pe_count + std::size_t{1};
    return {at<claim_line>(layout.lines) + slot * count, count};
  }

  // The PEs with open work that any process may run (any_process), or only the given one. The summaries of tasks and of
  // progress entries share a line, which an idle PE reads; the words follow.
  host_words tasks_open_to(std::int32_t process) const {
    const std::size_t scope = scope_offset(process);
    return {at<host_word>(scope), at<host_word>(scope + 64), layout.task_words};
  }
  host_words progress_open_to(std::int32_t process) const {
    const std::size_t scope = scope_offset(process);
    return {at<host_word>(scope + 8), at<host_word>(scope + 64 + (layout.task_words * std::size_t{8} + 63) / 64 * 64),
            layout.progress_words};
  }

 private:
  std::size_t scope_offset(std::int32_t process) const {
    return layout.scopes + layout.scope_bytes * static_cast<std::size_t>(process + 1);
  }
};

}  // namespace tri::board
