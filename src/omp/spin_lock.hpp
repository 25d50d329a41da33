// A lock that is held for a few instructions, by threads of the native runtime. Never while a context is switched.
#pragma once

#include <sched.h>

#include <atomic>

#include "os/cpu/cpu_hints.hpp"

namespace tri::omp {

class spin_lock {
 public:
  void lock() {
    int spins = 0;
    while (taken_.exchange(true, std::memory_order_acquire)) {  // pairs: spin_lock.unlock
      while (taken_.load(std::memory_order_relaxed)) {          // relaxed: the exchange decides
        if (++spins < spins_before_yield) {
          os::cpu_relax();
        } else {
          sched_yield();  // its holder may have lost its core
        }
      }
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }  // spin_lock.unlock

 private:
  static constexpr int spins_before_yield = 200;
  std::atomic<bool> taken_{false};
};

}  // namespace tri::omp
