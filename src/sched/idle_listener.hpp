// The PE of a host that wants to hear when others fall idle, because it waits until all messages are processed.
//
// A PE that falls asleep has counted what it processed; the listener has said that it listens. At most one of the two
// may miss the other's write (store buffering, as in Dekker's algorithm), or the listener sleeps on although everything
// is processed. The counts are written all the time and without a fence; so the PE that falls asleep pays for one,
// between its last count and its look at the listener, and the listener reads the counts seq_cst after its own mark,
// which costs nothing on x86. If the read misses a count, then it comes before the fence in the one order of seq_cst
// (C++20, [atomics.order] 4), so the mark comes before the look.
#pragma once

#include <atomic>
#include <cstdint>

namespace tri::sched {

class idle_listener {
 public:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  /// The PE `pe` of this host listens from now on. Afterwards it reads the counters (counter::read), and again whenever
  /// it was rung.
  void listen(std::uint32_t pe) { listener_.store(pe + 1, std::memory_order_seq_cst); }  // pairs: idle.listener
  void stop() { listener_.store(0, std::memory_order_relaxed); }  // relaxed: a ring too many does no harm

  /// Called by a PE that falls asleep, after its counters: the PE that it has to ring.
  std::uint32_t to_ring() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs: idle.listener, counter.read
    return listener_.load(std::memory_order_seq_cst) - 1;
  }

 private:
  std::atomic<std::uint32_t> listener_{0};  // 1 + its number; 0: no PE listens
};

}  // namespace tri::sched
