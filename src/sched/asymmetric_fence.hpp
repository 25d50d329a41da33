// A pair of fences of which one side costs nothing: the side that runs all the time (a sender after it published a
// message) only keeps the compiler from reordering; the side that runs seldom (a PE about to sleep) asks the kernel to
// put a full fence into every running thread of the processes that registered: membarrier(2), global expedited,
// Linux 4.16.
//
// With W1, light(), R1 in one thread and W2, heavy(), R2 in another, not both reads can miss the other's write: the
// kernel's fence falls before or after light() in the first thread; if before, R1 comes after W2, else R2 after W1.
#pragma once

#include <atomic>

namespace tri::sched {

/// Registers this process; false where the kernel does not offer it. Every process whose threads call light() has to.
bool enable_asymmetric_fence();

inline void light_fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }
/// About a microsecond. The calling process must have been registered. False: the kernel refused (no memory, or a
/// filter that was installed since), and nothing is ordered.
[[nodiscard]] bool heavy_fence();

}  // namespace tri::sched
