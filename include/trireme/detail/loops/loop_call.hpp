// One execution of a loop on the board, from its post to its end. Owned by the poster (on its stack, or in a loop
// handle) until the poster has seen every chunk finished. Helpers get their data with the task (loop_arguments) and
// access the call itself only in exceptional cases.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#pragma GCC visibility push(default)

namespace tri::board {
struct task_handle;
}  // namespace tri::board
namespace tri::schedules {
class loop_times;
struct loop_layout;
}  // namespace tri::schedules

namespace tri::loops {

class loop_participant;

/// Runs iterations [first, last) as participant `number`. May throw.
using loop_body = void (*)(const void* context, std::uint64_t first, std::uint64_t last, int number);

/// A trivially copyable context of at most this size is copied with the task, so that a helper has it as soon as it has
/// found the loop. Dependent cache misses are the cost of fork and join.
inline constexpr std::size_t travelling_bytes = 96;

class alignas(64) loop_call {
 public:
  /// `bytes`: of the context, if it may be copied for every participant and is not larger than travelling_bytes; 0: all
  /// use the one at `context`.
  loop_call(loop_body body, const void* context, std::size_t bytes) : body_(body), context_(context), bytes_(bytes) {}
  loop_call(const loop_call&) = delete;
  loop_call& operator=(const loop_call&) = delete;

  /// Runs all iterations in the calling thread; stores an exception of a body.
  void run_here(std::uint64_t items, int number) noexcept;
  /// After the end.
  bool failed() const { return error_ != nullptr; }
  /// After the end: rethrows a body's exception, once.
  void rethrow() {
    if (error_ != nullptr) [[unlikely]]
      std::rethrow_exception(std::exchange(error_, nullptr));
  }

  /// After the end: CPU time of others, if they were to count it (loop_participant).
  std::uint64_t help_ticks() const { return help_ticks_.load(std::memory_order_relaxed); }  // relaxed: after the end

  schedules::loop_times* times = nullptr;   ///< when this execution is measured
  std::uint32_t* tasklet_owners = nullptr;  ///< when the tasklets of the layout remember their last participant

 private:
  friend board::task_handle post_loop(loop_participant&, loop_call&, const schedules::loop_layout&, bool);
  friend struct loop_arguments;
  void run_measured(const void* context, std::uint64_t first, std::uint64_t last, int number);
  void run_claims(const void* context, std::uint64_t first, std::uint64_t last, int number);
  void run_unusual(const void* context, std::uint64_t first, std::uint64_t last, int number);
  void keep(std::exception_ptr error) noexcept;

  loop_body body_;
  const void* context_;
  std::size_t bytes_;
  const schedules::loop_layout* layout_ = nullptr;  // when claim numbers must be looked up in a table
  int poster_ = -1;                                 // its number, when the others count their work
  std::atomic<std::uint64_t> help_ticks_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

}  // namespace tri::loops

#pragma GCC visibility pop
