// Static loops of a region by weights. OpenMP promises that two static loops of one region with equally many iterations
// give every thread the same iterations, and programs drop barriers for that. So the shares of an iteration count are
// decided once per region, by the first thread, and stay until its end; the threads' times change the weights only
// between regions. Beyond `capacity` different iteration counts in one region, the later ones get equal blocks from the
// native runtime, on every thread of the region alike.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedules/learning/weights.hpp"

namespace tri::omp {

// Weights of the threads that meet at one place of the program, from region to region.
class static_memory {
 public:
  explicit static_memory(std::uint32_t threads) : weights_(threads) {}

  // Where the share of each thread begins, and the end: threads + 1 numbers. False when another region uses the memory
  // at this moment: then nothing was written.
  bool shares(std::uint64_t items, std::vector<std::uint64_t>& starts);
  void learn(std::span<const double> times, std::span<const std::uint64_t> items);
  // "0.80 1.20", or empty when it is in use.
  std::string text();

 private:
  bool take() { return !in_use_.exchange(true, std::memory_order_acquire); }  // pairs: static_memory.release
  void release() { in_use_.store(false, std::memory_order_release); }         // static_memory.release

  std::atomic<bool> in_use_{false};
  schedules::weight_tracker weights_;
};

// The shares of one number of iterations in one region. Each thread writes its own time.
class static_share {
 public:
  std::uint64_t first_of(std::uint32_t thread) const { return starts_[thread]; }
  std::uint64_t last_of(std::uint32_t thread) const { return starts_[thread + std::size_t{1}]; }
  void took(std::uint32_t thread, std::uint64_t ticks) {
    times_[thread].ticks += ticks;
    times_[thread].items += last_of(thread) - first_of(thread);
  }

 private:
  friend class static_shares;
  struct alignas(64) thread_time {
    std::uint64_t ticks = 0;
    std::uint64_t items = 0;
  };
  std::atomic<std::uint64_t> items_{0};  // iterations it is for; 0: free
  std::atomic<bool> ready_{false};
  static_memory* memory_ = nullptr;
  std::vector<std::uint64_t> starts_;
  std::vector<thread_time> times_;
};

class static_shares {
 public:
  static constexpr std::size_t capacity = 8;

  // The shares of `items` (not 0) iterations among this many threads, decided now if they are not yet. The deciding
  // thread calls memory(); null: equal shares. Null when there is no room. Waits only for the deciding thread.
  template <class Memory>
  static_share* of(std::uint64_t items, std::uint32_t threads, Memory&& memory) {
    for (static_share& each : shares_) {
      std::uint64_t there = each.items_.load(std::memory_order_relaxed);  // relaxed: `ready` orders the rest
      if (there == 0 && each.items_.compare_exchange_strong(there, items, std::memory_order_relaxed,
                                                            std::memory_order_relaxed)) {  // relaxed: as above
        decide(each, items, threads, memory());
        return &each;
      }
      if (there != items) continue;
      wait(each);
      return &each;
    }
    return nullptr;
  }

  // The region is over, all threads have left it, and what they did is visible.
  void end() {
    if (shares_[0].items_.load(std::memory_order_relaxed) != 0) learn_and_forget();  // relaxed: we are alone
  }

 private:
  static void decide(static_share& share, std::uint64_t items, std::uint32_t threads, static_memory* memory);
  static void wait(const static_share& share);
  void learn_and_forget();

  std::array<static_share, capacity> shares_;
};

}  // namespace tri::omp
