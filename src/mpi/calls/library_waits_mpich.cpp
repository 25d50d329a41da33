// MPICH keeps the core while it waits. With more ranks than cores that costs a slice of the scheduler's, milliseconds,
// in every meeting inside the library: a communicator or a window is made, a scan, MPI_Init itself. In each turn of
// such a wait it asks UCX for progress; ours stands before that function and gives the core away when there has been
// none for a while. Builds of MPICH that do not take UCX from its shared library never come here.
#include <dlfcn.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "host/clock.hpp"
#include "mpi/calls/abi.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/calls/user_settings.hpp"

namespace {

using progress_function = unsigned(void* worker);

progress_function& next_progress() {
  static progress_function* const found = [] {
    void* next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    // An MPI library that came by dlopen, and all it needs, are not in the order of search.
    if (next == nullptr)
      if (void* const ucx = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD)) next = dlsym(ucx, "ucp_worker_progress");
    if (next == nullptr) std::abort();  // who called it, then?
    return reinterpret_cast<progress_function*>(next);
  }();
  return *found;
}

// A yield after each look would be slow where several threads of a rank wait in the library: one that looks has its
// lock, and gives it to the others after a number of looks.
constexpr std::uint32_t looks_before_giving_way = 16;
// Looks of one wait follow each other within this time; a program that computes between its calls does not wait.
constexpr std::uint64_t most_ticks_between = 20'000;

// Relaxed: a wish; nothing else hangs on it. Until the ranks have been counted, they may be more than the cores.
std::atomic<bool> gives_way{!tri::mpi::is_switched_off()};

}  // namespace

namespace tri::mpi::abi {

thread_local bool without_yields::active_ = false;

void set_more_ranks_than_cores(bool more) { gives_way.store(more, std::memory_order_relaxed); }

}  // namespace tri::mpi::abi

TRIREME_EXPORTED unsigned ucp_worker_progress(void* worker) {
  static thread_local std::uint64_t last_look = 0;
  static thread_local std::uint32_t looks = 0;
  const unsigned done = next_progress()(worker);
  if (!gives_way.load(std::memory_order_relaxed) || tri::mpi::abi::without_yields::is_active()) return done;
  const std::uint64_t now = tri::host::ticks();
  const bool waits_on = done == 0 && now - last_look < most_ticks_between;
  last_look = now;
  looks = waits_on ? looks + 1 : 0;
  if (looks >= looks_before_giving_way) {
    sched_yield();
    looks = 0;
    last_look = tri::host::ticks();
  }
  return done;
}
