// mlockall of the C library would touch every page of every window, which are 64 GiB each and almost all holes. So
// pages of a process with a shared heap are locked when they are touched, not in advance.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cerrno>

#include "mpi/heap/user_heap.hpp"

extern "C" [[gnu::visibility("default")]] int mlockall(int flags) noexcept {
  using function = int(int);
  auto* const next = reinterpret_cast<function*>(dlsym(RTLD_NEXT, "mlockall"));
  if (next == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  return next(tri::mpi::user_heap().phase == tri::mpi::heap_phase::shared ? flags | MCL_ONFAULT : flags);
}
