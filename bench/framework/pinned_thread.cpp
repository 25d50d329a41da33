#include "framework/pinned_thread.hpp"

#include <sys/resource.h>

#include <utility>

#include "os/cpu/pinning.hpp"

namespace tri::bench {
namespace {

long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

pinned_thread::pinned_thread(int cpu) : thread_([this, cpu] { run(cpu); }) {}

pinned_thread::~pinned_thread() {
  work_ = nullptr;
  start_.release();
  thread_.join();
}

void pinned_thread::start(std::function<void()> work) {
  work_ = std::move(work);
  start_.release();
}

bool pinned_thread::wait() {
  done_.acquire();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return disturbed_;
}

void pinned_thread::run(int cpu) {
  std::exception_ptr cannot_pin;
  try {
    os::pin_this_thread(cpu);
  } catch (...) {
    cannot_pin = std::current_exception();
  }
  for (;;) {
    start_.acquire();
    if (!work_) return;
    const long before = involuntary_switches();
    try {
      if (cannot_pin) std::rethrow_exception(cannot_pin);
      work_();
    } catch (...) {
      failure_ = std::current_exception();
    }
    disturbed_ = involuntary_switches() != before;
    done_.release();
  }
}

}  // namespace tri::bench
