// One execution of a loop on the board, from its post to its end. Lives where the poster keeps it (its stack, or a loop
// handle) until the poster has seen every chunk finished; helpers touch it only while they run a chunk.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include "board/board_pe.hpp"
#include "loops/crew.hpp"
#include "loops/loop_layout.hpp"
#include "loops/loop_times.hpp"

namespace tri::loops {

/// Runs iterations [first, last) as participant `number`. May throw.
using loop_body = void (*)(void* context, std::uint64_t first, std::uint64_t last, int number);

class alignas(64) loop_call {
 public:
  loop_call(loop_body body, void* context) : body_(body), context_(context) {}
  loop_call(const loop_call&) = delete;
  loop_call& operator=(const loop_call&) = delete;

  /// Runs the iterations, unless a body has thrown; keeps what it throws. Any participant.
  void run(std::uint64_t first, std::uint64_t last, int number) noexcept {
    // relaxed: only saves work; the exception itself is ordered by the end of the loop
    if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
      return;
    try {
      if (times != nullptr) [[unlikely]] {
        times->start(number);
        body_(context_, first, last, number);
        times->stop(number, first, last);
      } else {
        body_(context_, first, last, number);
      }
    } catch (...) {
      // Only the first one is kept; whoever comes second must not write.
      if (!failed_.exchange(true, std::memory_order_relaxed))  // relaxed: as above
        error_ = std::current_exception();
    }
  }
  /// Claim numbers or, without a table, iterations.
  void run_claimed(std::uint64_t first, std::uint64_t last, int number) noexcept;
  /// After the end: what a body threw, once.
  void rethrow() {
    if (error_ != nullptr) [[unlikely]]
      std::rethrow_exception(std::exchange(error_, nullptr));
  }

  const loop_layout* layout = nullptr;      ///< when claim numbers must be looked up in a table
  loop_times* times = nullptr;              ///< when this execution is measured
  std::uint32_t* tasklet_owners = nullptr;  ///< when the tasklets of the layout remember who ran them
  std::uint32_t first_pe = 0;               ///< of the crew
  std::uint32_t participants = 1;

 private:
  loop_body body_;
  void* context_;
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

/// Posts the loop for the crew, which begins at once. `layout` must live until finish_loop, if it has tables.
/// No handle: nothing was posted, because every slot of this thread has a loop in it; run it in place.
/// `strict_owners`: what a layout keeps for an owner is run by nobody else, if the owners are sure to come.
board::task_handle post_loop(crew_member& me, loop_call& call, const loop_layout& layout, bool strict_owners);
/// Takes part until nothing is left to claim, and waits for the chunks of the others. No exception leaves.
void finish_loop(crew_member& me, board::task_handle posted);

}  // namespace tri::loops
