// Which loops were intercepted and which were left to the OpenMP runtime, by call site; printed at the end on request.
// Any thread counts; one thread prints.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tri::omp {

enum class left_because : std::uint8_t {
  outside,  // the drop-in did not intercept the start of its parallel region
  ordered,
  doacross,
  reduction,         // task reduction or scan
  distributed,       // a distribute loop of a teams construct: the native runtime computes the bounds
  too_long,          // 2^64 iterations
  too_many_threads,  // more threads than a loop can have
  asked,             // the schedule is `native`
  equal_blocks,      // static, and no weights
  asked_static,  // schedule(runtime) with static from OMP_SCHEDULE or omp_set_schedule: distributed as by the native
                 // runtime
  unknown        // a schedule kind that we do not know
};
inline constexpr std::size_t left_reasons = 11;
const char* to_text(left_because reason);

struct call_site {
  std::atomic<const void*> address{nullptr};
  std::atomic<const char*> source{nullptr};  // libomp: ";file;function;line;column;;", or null
  std::atomic<std::uint64_t> taken{0};       // executions
  std::atomic<std::uint64_t> by_weights{0};  // of a static loop
  std::array<std::atomic<std::uint64_t>, left_reasons> left{};
};

// The site of this return address. Never fails: sites beyond the table's size share one last entry.
call_site& site_of(const void* address, const char* source = nullptr);

inline void count_taken(const void* address, const char* source = nullptr) {
  site_of(address, source).taken.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
}
inline void count_by_weights(const void* address, const char* source) {
  site_of(address, source).by_weights.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
}
inline void count_left(left_because reason, const void* address, const char* source = nullptr) {
  // relaxed: a count
  site_of(address, source).left[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

// Writes the table to standard error. `always`: also when no loop was seen.
void print_report(const char* schedule, bool always);
void forget_counts();

}  // namespace tri::omp
