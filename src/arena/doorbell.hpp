// A doorbell: one futex word on which threads sleep, mostly one, and which any thread that reaches it may ring, of any
// process of the host where it is in the arena. A ring wakes all of them. The caller owns the protocol that decides
// when ringing is needed (see sched/inbox.hpp); the doorbell only guarantees that a ring after `listen` is never lost.
// It is what puts a PE, a rank or a thread of a loop team to sleep in the end.
//
// One sleeper: rung by sched/inbox.cpp (wake_if_asleep) and arena/sleeper.hpp. Several: the threads of an MPI rank,
// rung by mpi/engine (rank_inbox.hpp, and threads that wake), and the carriers of a region, by
// omp/fibers/virtual_region.cpp.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

namespace tri::arena {

class doorbell {
 public:
  /// Sleeper: remember the ring count, then check for work, then `sleep`.
  std::uint32_t listen() const { return rings_.load(std::memory_order_acquire); }  // pairs: doorbell.ring

  /// Sleeper: returns at once if rung since `heard`; otherwise sleeps until rung or `timeout_ns` passed. A negative
  /// timeout means for ever. May return spuriously.
  void sleep(std::uint32_t heard, std::int64_t timeout_ns) {
    timespec limit{static_cast<time_t>(timeout_ns / 1'000'000'000), static_cast<long>(timeout_ns % 1'000'000'000)};
    syscall(SYS_futex, address(), FUTEX_WAIT, heard, timeout_ns < 0 ? nullptr : &limit, nullptr, 0);
  }

  /// Any thread: wakes the sleepers. Earlier writes are visible to them.
  void ring() {
    rings_.fetch_add(1, std::memory_order_release);  // pairs: doorbell.ring
    syscall(SYS_futex, address(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

 private:
  std::uint32_t* address() { return reinterpret_cast<std::uint32_t*>(&rings_); }
  std::atomic<std::uint32_t> rings_{0};
  static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);
};

}  // namespace tri::arena
