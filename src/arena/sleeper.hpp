// How a thread sleeps until another makes work for it, where the work itself does not show that the thread sleeps (in a
// ticket_ring it does): a mark and a doorbell.
//
//   sleeper:  prepare_sleep(); look for work; if none, sleep(); awake()
//   producer: make the work visible (seq_cst); wake()
//
// The mark and the work are written and read in the one order of seq_cst: at most one of the two may miss the other's
// write (store buffering, as in Dekker's algorithm).
#pragma once

#include <atomic>
#include <cstdint>

#include "arena/doorbell.hpp"

namespace tri::arena {

/// One thread sleeps, any number wake it. In private or shared memory.
class sleeper {
 public:
  /// The thread marks itself asleep. Then it looks for work once more, seq_cst.
  void prepare_sleep() {
    heard_ = bell_.listen();                      // before the look: a ring after it is not slept through
    asleep_.store(1, std::memory_order_seq_cst);  // pairs: sleeper.mark
  }
  /// Until woken; at once if that has happened since prepare_sleep. May return for no reason.
  void sleep() { bell_.sleep(heard_, -1); }
  /// The thread looks for work again. relaxed: a stale mark costs one needless ring
  void awake() { asleep_.store(0, std::memory_order_relaxed); }

  /// Wakes the thread if it is marked asleep. Returns true to the one caller that cleared the
  /// mark, so two producers wake two sleepers.
  bool wake() {
    if (asleep_.load(std::memory_order_seq_cst) == 0 ||       // pairs: sleeper.mark
        asleep_.exchange(0, std::memory_order_relaxed) == 0)  // relaxed: the bell orders what the woken reads
      return false;
    bell_.ring();
    return true;
  }
  /// Whether or not it is marked.
  void ring() { bell_.ring(); }

 private:
  std::atomic<std::uint32_t> asleep_{0};  // or about to be
  doorbell bell_;
  std::uint32_t heard_ = 0;  // the sleeper's own
};

}  // namespace tri::arena
