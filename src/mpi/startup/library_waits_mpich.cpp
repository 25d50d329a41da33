// MPICH keeps the core while it waits. With more ranks than cores that costs a slice of the scheduler's, milliseconds,
// in every synchronisation inside the library: creating a communicator or a window, a scan. In each round of such a
// wait it calls UCX's progress function; ours interposes it and yields the core when there has been no progress for a
// while, and moves messages with other hosts on. Builds of MPICH that do not load UCX as a shared library never come
// here.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "mpi/abi/abi.hpp"
#include "mpi/abi/exported.hpp"
#include "mpi/startup/library_calls.hpp"
#include "os/clock.hpp"

namespace {

using progress_function = unsigned(void* worker);

constexpr const char* progress_name = "ucp_worker_progress";

// The function that the caller would have called without us.
progress_function& next_progress(const void* caller) {
  static progress_function* const found = [&] {
    void* next = dlsym(RTLD_NEXT, progress_name);
    // A library that came by dlopen, and all that it needs, are not in the order of search.
    Dl_info its_library{};
    if (next == nullptr && dladdr(caller, &its_library) != 0)
      if (void* const handle = dlopen(its_library.dli_fname, RTLD_LAZY | RTLD_NOLOAD))
        next = dlsym(handle, progress_name);
    if (next == nullptr) {
      fmt::print(stderr, "trireme mpi: {} calls {}, which is in no library that it needs\n",
                 its_library.dli_fname != nullptr ? its_library.dli_fname : "something", progress_name);
      std::abort();
    }
    return reinterpret_cast<progress_function*>(next);
  }();
  return *found;
}

// A yield after each poll would be slow where several threads of a rank wait in the library: a polling thread holds its
// lock, and passes it on after a number of polls.
constexpr std::uint32_t polls_before_yielding = 16;
// Polls of one wait follow each other within this time; a program that computes between its calls is not waiting.
constexpr std::uint64_t most_ticks_between = 20'000;

// Relaxed: hints; nothing else depends on them.
std::atomic<bool> yields{false};
std::atomic<bool> calls_us{false};

}  // namespace

namespace tri::mpi::abi {

thread_local bool without_yields::active_ = false;

void set_more_ranks_than_cores(bool more) { yields.store(more, std::memory_order_relaxed); }

}  // namespace tri::mpi::abi

namespace tri::mpi::library_waits {

void start() { calls_us.store(true, std::memory_order_relaxed); }
void stop() { calls_us.store(false, std::memory_order_relaxed); }

}  // namespace tri::mpi::library_waits

TRIREME_EXPORTED unsigned ucp_worker_progress(void* worker) {
  static thread_local std::uint64_t last_poll = 0;
  static thread_local std::uint32_t polls = 0;
  // Outside of UCX, which may not be called by what it calls.
  if (calls_us.load(std::memory_order_relaxed) && tri::mpi::library_call::progress()) polls = 0;
  const unsigned done = next_progress(__builtin_return_address(0))(worker);
  if (!yields.load(std::memory_order_relaxed) || tri::mpi::abi::without_yields::is_active()) return done;
  const std::uint64_t now = tri::os::ticks();
  const bool waits_on = done == 0 && now - last_poll < most_ticks_between;
  last_poll = now;
  polls = waits_on ? polls + 1 : 0;
  if (polls >= polls_before_yielding) {
    sched_yield();
    polls = 0;
    last_poll = tri::os::ticks();
  }
  return done;
}
