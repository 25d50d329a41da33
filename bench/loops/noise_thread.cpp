#include "loops/noise_thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "host/clock.hpp"
#include "host/pinning.hpp"

namespace tri::bench {
namespace {

std::int64_t processor_time_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

}  // namespace

noise_thread::noise_thread(int cpu, double busy_ms, double period_ms)
    : thread_([this, cpu, busy_ms, period_ms] { make_noise(cpu, busy_ms, period_ms); }) {
  began_.wait(false, std::memory_order_acquire);  // pairs: noise.began
}

noise_thread::~noise_thread() {
  stopping_.store(true, std::memory_order_relaxed);  // relaxed: only ends the loop
  thread_.join();
}

void noise_thread::make_noise(int cpu, double busy_ms, double period_ms) {
  host::pin_this_thread(cpu);
  sched_param above{};
  above.sched_priority = 2;  // the measured programs may run with 1
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &above) == 0) priority_ = "SCHED_FIFO";
  began_.store(true, std::memory_order_release);  // pairs: noise.began
  began_.notify_one();
  std::int64_t next_ns = host::now_ns();
  while (!stopping_.load(std::memory_order_relaxed)) {  // relaxed: as in the destructor
    const std::int64_t until_ns = processor_time_ns() + static_cast<std::int64_t>(busy_ms * 1e6);
    while (processor_time_ns() < until_ns) {
    }
    next_ns += static_cast<std::int64_t>(period_ms * 1e6);
    if (const std::int64_t rest_ns = next_ns - host::now_ns(); rest_ns > 0) {
      const timespec rest{rest_ns / 1'000'000'000, rest_ns % 1'000'000'000};
      nanosleep(&rest, nullptr);
    } else {
      next_ns = host::now_ns();
    }
  }
}

}  // namespace tri::bench
