// Instructions of the processor, named here and nowhere else: two hints that the cost of waiting and of handing over
// work depends on, and the cycle counter. The hints do not change what a program means: on an architecture that has no
// such instruction they compile to the nearest portable one. (Builtins instead of <x86intrin.h>, which has 45,000
// lines.)
#pragma once

#include <cstdint>

namespace tri::os {

// A hint to the core between two polls of a word that another thread will change.
inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

#if defined(__x86_64__)
// Constant rate, the same on all cores; not ordered with the loads and stores around it.
inline std::uint64_t cycle_counter() { return __builtin_ia32_rdtsc(); }
#endif

// Asks for a cache line in a writable state, so that several lines travel at the same time instead of one after the
// other behind the locked instructions that follow. (The builtin emits a read prefetch for baseline x86-64.)
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

// The same to read: what comes from another core's cache travels while the caller does something else.
inline void prefetch_to_read(const void* address) { __builtin_prefetch(address, 0); }

}  // namespace tri::os
