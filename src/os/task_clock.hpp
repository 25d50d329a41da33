// CPU time of one thread at the price of reading ticks(). The system's own clock of a thread is a system call, and
// pauses when the thread does not run. This one counts ticks() and asks the system only where the thread was switched
// off since: the system then has reset a word of the thread's restartable sequences (rseq, Linux 4.18, registered by
// glibc 2.35), which is how code on one CPU sees that it was interrupted. Where they are missing (older systems,
// gVisor), every reading is a system call.
//
// Made, used and destroyed by one thread; of_this_thread() is the one to share. Another task_clock of the same thread,
// or a library that has its own restartable sequences (tcmalloc), costs readings that ask the system, and no accuracy.
//
// Measured on a virtual machine (AMD EPYC, Linux 6.18, roughly): ticks() 9 ns, a reading 9 ns;
// clock_gettime(CLOCK_THREAD_CPUTIME_ID) 360 ns, getrusage 200 ns (in steps of the scheduler), pread of schedstat
// 540 ns, read of a task-clock event 460 ns; the page of such an event gives no time here (kvm-clock: cap_user_time 0).
#pragma once

#include <atomic>
#include <cstdint>

#include "os/clock.hpp"

namespace tri::os {

class task_clock {
 public:
  enum class way {
    /// Ticks, and the system's clock after a switch.
    restartable_sequences,
    /// The system's clock for each reading.
    system_calls,
  };

  /// The clock of the calling thread, made at the first call, valid until the thread ends. Keep the reference: the
  /// look-up costs as much as a reading.
  static task_clock& of_this_thread();

  /// The cheapest way that works for the calling thread.
  task_clock();
  /// That way; `restartable_sequences` where they are missing is the same as `system_calls`.
  explicit task_clock(way wished);
  /// By the thread that made it: takes its description away from the kernel.
  ~task_clock();
  task_clock(const task_clock&) = delete;
  task_clock& operator=(const task_clock&) = delete;

  /// CPU time of this thread, user and system, in ticks() since some moment: only differences mean something. Never
  /// less than before. Convert differences by ticks_to_ns(). What is counted too much: what a hypervisor took, and time
  /// in interrupts, until the next switch; afterwards both are the system's matter. A difference that looks longer than
  /// the thread ran is never made up for later.
  std::uint64_t read() {
    const std::uint64_t tick = ticks();
    // The compiler keeps this order: a switch behind the ticks only costs a system call.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (is_unswitched()) [[likely]]
      return last_ = tick - away_;
    return read_after_switch();
  }

  way used() const { return way_; }
  /// How often the system was asked.
  std::uint64_t system_readings() const { return system_readings_; }

 private:
  // The word is written by the kernel before it lets this thread run again, so relaxed order is enough.
  bool is_unswitched() const {
    return word_ != nullptr &&
           std::atomic_ref<std::uint64_t>(*word_).load(std::memory_order_relaxed) == address_of_description();
  }
  std::uint64_t address_of_description() const { return reinterpret_cast<std::uint64_t>(&description_); }
  std::uint64_t read_after_switch();
  void set_word(std::uint64_t value);
  bool works();

  // Of a sequence of instructions that no thread ever executes; the layout is the kernel's (struct rseq_cs). The word
  // points to it until a switch. One for each clock, so that none takes another's word for its own.
  struct alignas(32) sequence_description {
    std::uint32_t version = 0;
    std::uint32_t flags = 0;
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::uint64_t continue_at = 0;
  };

  sequence_description description_;
  std::uint64_t* word_ = nullptr;  // the thread's rseq_cs; null: system calls
  std::uint64_t away_ = 0;         // ticks that were not the thread's
  std::uint64_t last_ = 0;
  std::uint64_t system_readings_ = 0;
  way way_ = way::system_calls;
};

/// CPU time of the calling thread by the system's clock, in nanoseconds: a system call.
std::int64_t cpu_time_of_this_thread_ns();

}  // namespace tri::os
