// See task_clock.hpp.
#include "os/task_clock.hpp"

#include <ctime>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

namespace tri::os {
namespace {

#if __has_include(<sys/rseq.h>)

// What the description points at: data, as nothing of it is ever executed. The kernel sees at a switch that the thread
// is not inside of the sequence, and resets the thread's word; before, it checks the signature in front of the address
// at which a thread would continue.
struct never_executed {
  std::uint32_t signature = RSEQ_SIG;
  std::uint32_t continue_here = 0;
  std::uint32_t sequence = 0;
};
constinit const never_executed nothing;

// Null: glibc was told not to register this thread, or the kernel has none.
std::uint64_t* word_of_this_thread() {
  if (__rseq_size == 0) return nullptr;
  auto* const area = reinterpret_cast<struct rseq*>(static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset);
  return reinterpret_cast<std::uint64_t*>(&area->rseq_cs);
}

#else

struct never_executed {
  std::uint32_t continue_here = 0;
  std::uint32_t sequence = 0;
};
constinit const never_executed nothing;

std::uint64_t* word_of_this_thread() { return nullptr; }

#endif

}  // namespace

std::int64_t cpu_time_of_this_thread_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

task_clock& task_clock::of_this_thread() {
  thread_local task_clock clock;
  return clock;
}

task_clock::task_clock() : task_clock(way::restartable_sequences) {}

task_clock::task_clock(way wished) {
  if (wished == way::restartable_sequences) {
    word_ = word_of_this_thread();
    description_.begin = reinterpret_cast<std::uint64_t>(&nothing.sequence);
    description_.bytes = sizeof nothing.sequence;
    description_.continue_at = reinterpret_cast<std::uint64_t>(&nothing.continue_here);
    if (word_ != nullptr && works())
      way_ = way::restartable_sequences;
    else
      word_ = nullptr;
  }
  read_after_switch();
}

task_clock::~task_clock() {
  if (is_unswitched()) set_word(0);
}

// Read by the kernel at a switch of this thread: in program order.
void task_clock::set_word(std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(*word_).store(value, std::memory_order_relaxed);
}

// A thread that sleeps is switched off.
bool task_clock::works() {
  set_word(address_of_description());
  const timespec shortest{.tv_sec = 0, .tv_nsec = 1};
  nanosleep(&shortest, nullptr);
  return !is_unswitched();
}

// Both clocks at one moment: a thread that is switched off between the two readings tries again. The fourth try counts
// in any case.
std::uint64_t task_clock::read_after_switch() {
  std::int64_t cpu_ns = 0;
  std::uint64_t tick = 0;
  for (int tries = 0; tries < 4; ++tries) {
    if (word_ != nullptr) set_word(address_of_description());
    ++system_readings_;
    cpu_ns = cpu_time_of_this_thread_ns();
    tick = ticks();
    if (word_ == nullptr || is_unswitched()) break;
  }
  const std::uint64_t now = ns_to_ticks(static_cast<double>(cpu_ns));
  if (now > last_) last_ = now;
  away_ = tick - last_;
  return last_;
}

}  // namespace tri::os
