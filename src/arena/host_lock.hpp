// A small mutex that may be in the arena and be taken by any thread of any process of the host. Three states after
// Drepper, "Futexes Are Tricky" (2011), section 5: 0 free, 1 held, 2 held, with sleepers.
// A holder that dies ends the job (crash rule), so there is no robust variant.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cstdint>

#include "os/cpu/cpu_hints.hpp"

namespace tri::arena {

class host_lock {
 public:
  void lock() {
    std::uint32_t seen = 0;
    if (state_.compare_exchange_strong(seen, 1, std::memory_order_acquire, std::memory_order_relaxed))
      return;  // pairs: host_lock.unlock
    for (int spin = 0; spin < 100; ++spin) {
      os::cpu_relax();
      seen = 0;
      if (state_.load(std::memory_order_relaxed) == 0 &&  // relaxed: a hint; the exchange decides
          state_.compare_exchange_strong(seen, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed))  // pairs: host_lock.unlock
        return;
    }
    while (state_.exchange(2, std::memory_order_acquire) != 0)  // pairs: host_lock.unlock
      syscall(SYS_futex, address(), FUTEX_WAIT, 2, nullptr, nullptr, 0);
  }
  bool try_lock() {
    std::uint32_t seen = 0;
    return state_.compare_exchange_strong(seen, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);  // pairs: host_lock.unlock
  }
  void unlock() {
    if (state_.exchange(0, std::memory_order_release) == 2)  // pairs: host_lock.unlock
      syscall(SYS_futex, address(), FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

 private:
  std::uint32_t* address() { return reinterpret_cast<std::uint32_t*>(&state_); }
  std::atomic<std::uint32_t> state_{0};
};

}  // namespace tri::arena
