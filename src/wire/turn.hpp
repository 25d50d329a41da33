// Whose turn it is at the wire: one thread at a time, and nobody waits. Who does not get the turn leaves its work where
// the holder finds it (outbox.hpp) and tries once more after that.
#pragma once

#include <atomic>

namespace tri::wire {

class turn {
 public:
  bool try_take() {
    // seq_cst, both: whoever left work before this either gets the turn or is seen by the holder, who looks for work
    // after giving the turn back. The load alone is enough to fail, and leaves the line where it is. pairs: turn.taken,
    // outbox.push
    if (taken_.load(std::memory_order_seq_cst)) return false;
    return !taken_.exchange(true, std::memory_order_seq_cst);
  }
  void give_back() { taken_.store(false, std::memory_order_seq_cst); }  // pairs: turn.taken

 private:
  alignas(64) std::atomic<bool> taken_{false};
};

}  // namespace tri::wire
