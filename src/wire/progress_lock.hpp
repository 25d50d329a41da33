// The lock of the wire: one thread at a time makes progress, and no other waits. A thread that does not get it leaves
// its work for the holder (outbox.hpp) and then tries once more.
#pragma once

#include <atomic>

namespace tri::wire {

class progress_lock {
 public:
  bool try_acquire() {
    // seq_cst, both: a thread that left work before this either gets the lock or is seen by the holder, which checks
    // for work after releasing it. The load alone is enough to fail, and does not move the cache line. pairs:
    // progress_lock.taken, outbox.push
    if (taken_.load(std::memory_order_seq_cst)) return false;
    return !taken_.exchange(true, std::memory_order_seq_cst);
  }
  void release() { taken_.store(false, std::memory_order_seq_cst); }  // pairs: progress_lock.taken

 private:
  alignas(64) std::atomic<bool> taken_{false};
};

}  // namespace tri::wire
