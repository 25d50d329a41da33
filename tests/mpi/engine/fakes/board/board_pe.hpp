// In place of the board, whose own protocol is explored elsewhere (explore/board_protocol_test.cpp): a slot is one
// word, claims and reports are one step each. A task is cut into two chunks, whatever its size.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "board/divisible_task.hpp"
#include "board/operation_table.hpp"

namespace tri::board {

struct task_handle {
  std::uint32_t slot = ~std::uint32_t{0};
  explicit operator bool() const { return slot != ~std::uint32_t{0}; }
};
struct post_result {
  task_handle handle;
  std::uint32_t useful_helpers = 0;
};

inline constexpr std::uint32_t most_pes = 4;
inline constexpr std::uint32_t chunks_of_task = 2;

/// What the PEs share. Zeroed memory.
struct shared_board {
  struct slot {
    std::atomic<std::uint32_t> claimed;
    std::atomic<std::uint32_t> finished;
    task_spec task;
  };
  struct entry {
    std::atomic<std::uint32_t> holder;
    operation_id operation;
    std::array<std::uint64_t, progress_argument_words> arguments;
  };
  std::atomic<std::uint32_t> open{0};  // slots with chunks that nobody has claimed
  std::atomic<std::uint32_t> offering{0};
  std::array<slot, most_pes * slots_per_pe> slots{};
  std::array<entry, most_pes> entries{};
};

class progress_pe {
 public:
  progress_pe(shared_board& shared, std::uint32_t pe) : shared_(shared), pe_(pe) {}
  void register_entry(operation_id operation, const std::array<std::uint64_t, progress_argument_words>& arguments) {
    shared_.entries[pe_].operation = operation;
    shared_.entries[pe_].arguments = arguments;
  }
  void unregister_entry() {}
  void offer_progress() { shared_.offering.fetch_or(1U << pe_, std::memory_order_seq_cst); }
  void withdraw_progress() { shared_.offering.fetch_and(~(1U << pe_), std::memory_order_seq_cst); }
  bool any_offered() const { return shared_.offering.load(std::memory_order_seq_cst) != 0; }
  bool any_offered_before_sleep() const { return any_offered(); }
  bool help() {
    const std::uint32_t offering = shared_.offering.load(std::memory_order_seq_cst);
    for (std::uint32_t owner = 0; owner < most_pes; ++owner) {
      if (owner == pe_ || (offering >> owner & 1U) == 0) continue;
      shared_board::entry& entry = shared_.entries[owner];
      std::uint32_t free = 0;
      if (!entry.holder.compare_exchange_strong(free, pe_ + 1, std::memory_order_acquire)) continue;
      const progress_function function = operation_table::of_process().progress.find(entry.operation);
      const bool did = function(entry.arguments.data(), static_cast<int>(owner), static_cast<int>(pe_));
      entry.holder.store(0, std::memory_order_release);
      if (did) return true;
    }
    return false;
  }

 private:
  shared_board& shared_;
  std::uint32_t pe_;
};

class board_pe {
 public:
  board_pe(shared_board& shared, std::uint32_t pe) : shared_(shared), pe_(pe), progress_(shared, pe) {}
  progress_pe& progress() { return progress_; }
  bool has_work_before_sleep() const { return shared_.open.load(std::memory_order_seq_cst) != 0; }

  post_result post(const task_spec& spec) {
    for (std::uint32_t slot = pe_ * slots_per_pe; slot < (pe_ + 1) * slots_per_pe; ++slot) {
      if ((taken_ >> slot & 1U) != 0) continue;
      taken_ |= 1U << slot;
      shared_board::slot& at = shared_.slots[slot];
      at.task = spec;
      at.finished.store(0, std::memory_order_relaxed);
      at.claimed.store(0, std::memory_order_release);
      shared_.open.fetch_or(1U << slot, std::memory_order_seq_cst);
      return {{slot}, most_pes - 1};
    }
    return {};
  }
  bool finished(task_handle handle) const {
    return shared_.slots[handle.slot].finished.load(std::memory_order_acquire) == chunks_of_task;
  }
  template <class Wait>
  void finish(task_handle handle, Wait&&) {
    while (run_chunk(handle.slot)) {
    }
    while (!finished(handle)) {
    }
    taken_ &= ~(1U << handle.slot);
  }
  void finish(task_handle handle) {
    finish(handle, [] {});
  }
  template <class Again>
  std::uint32_t help(Again&& again) {
    return help(again, [](std::uint32_t) { return true; });
  }
  // Every rank has its memory near: there is nobody whose copies are left alone.
  template <class Again, class TakesPart>
  std::uint32_t help(Again&& again, TakesPart&&) {
    std::uint32_t chunks = 0;
    const std::uint32_t open = shared_.open.load(std::memory_order_seq_cst);
    for (std::uint32_t slot = 0; slot < most_pes * slots_per_pe; ++slot) {
      if ((open >> slot & 1U) == 0) continue;
      while (run_chunk(slot)) {
        ++chunks;
        if (!again()) return chunks;
      }
    }
    // All is claimed, and who claimed the last chunk is about to say so: nothing changes for us before that.
    while (open != 0 && chunks == 0 && shared_.open.load(std::memory_order_relaxed) == open) {
    }
    return chunks;
  }

 private:
  bool run_chunk(std::uint32_t slot) {
    shared_board::slot& at = shared_.slots[slot];
    std::uint32_t next = at.claimed.load(std::memory_order_relaxed);
    do {
      if (next >= chunks_of_task) return false;
    } while (!at.claimed.compare_exchange_strong(next, next + 1, std::memory_order_acq_rel));
    // Before the chunk is reported: until then the slot is this task's.
    if (next + 1 == chunks_of_task) shared_.open.fetch_and(~(1U << slot), std::memory_order_seq_cst);
    const task_spec& task = at.task;
    const std::uint64_t piece = (task.total + chunks_of_task - 1) / chunks_of_task;
    const std::uint64_t last = next + 1 == chunks_of_task ? task.total : piece * (next + 1);
    const task_view view{task.arguments.data(), task.total, piece, task.first_participant};
    operation_table::of_process().chunks.find(task.operation)(view, piece * next, last, static_cast<int>(pe_));
    at.finished.fetch_add(1, std::memory_order_acq_rel);
    return true;
  }

  shared_board& shared_;
  std::uint32_t pe_;
  std::uint32_t taken_ = 0;
  progress_pe progress_;
};

}  // namespace tri::board
