#include "omp/fibers/virtual_watchdog.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace tri::omp {

double stall_seconds(const char* text) {
  constexpr double usual = 10.0;
  constexpr double most = 1e6;
  if (text == nullptr || *text == '\0') return usual;
  double seconds = 0.0;
  const char* const end = text + std::strlen(text);
  const auto [stopped, problem] = std::from_chars(text, end, seconds);
  if (problem != std::errc{} || stopped != end || !(seconds >= 0.0 && seconds <= most) ||
      (seconds > 0.0 && seconds < 0.001)) {
    throw std::invalid_argument(
        fmt::format("{} is '{}'; it must be a number of seconds from 0.001 to 1000000, such as 10, or 0 for no watch",
                    stall_variable, text));
  }
  return seconds;
}

std::uint64_t virtual_watchdog::steps_so_far() const {
  std::uint64_t sum = 0;
  for (const step_count& each : steps_) sum += each.count.load(std::memory_order_relaxed);  // relaxed: see note_step()
  return sum;
}

void virtual_watchdog::region_begins() {
  in_region_.store(true, std::memory_order_relaxed);  // relaxed: only looked at
  if (!started_) start();
}

void virtual_watchdog::start() {
  started_ = true;
  if (most_.count() == 0) return;
  // The program's signals are for its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  pthread_create(&thread, &attributes, &watch, this);  // if this fails only the message is missing
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* virtual_watchdog::watch(void* self) {
  const virtual_watchdog& watched = *static_cast<virtual_watchdog*>(self);
  constexpr int looks = 4;  // until it speaks
  std::uint64_t seen = 0;
  for (int unchanged = 0; unchanged < looks;) {
    std::this_thread::sleep_for(std::max(watched.most_ / looks, std::chrono::milliseconds(1)));
    const std::uint64_t now = watched.steps_so_far();
    const bool stands = watched.in_region_.load(std::memory_order_relaxed) && now == seen;  // relaxed: only looked at
    unchanged = stands ? unchanged + 1 : 0;
    seen = now;
  }
  fmt::print(stderr,
             "trireme omp: process {}: no virtual thread has begun, waited or ended for {} s. If threads of the "
             "program wait for each other by polling variables, it will never end: such a program "
             "needs real threads, so run it without --virtual ({}=0 leaves this line out)\n",
             getpid(), static_cast<double>(watched.most_.count()) / 1e3, stall_variable);
  return nullptr;
}

}  // namespace tri::omp
