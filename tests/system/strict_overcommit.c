// Preloaded, mmap counts as a kernel does under vm.overcommit_memory=2: private memory that may be written must be there
// in full, MAP_NORESERVE or not. Here at most a GiB a time is. A program looks strict_overcommit_refusals up to see that
// something was refused (fork_cases.cpp).
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int strict_overcommit_refusals = 0;

static int is_counted(int protection, int flags) { return (flags & MAP_PRIVATE) != 0 && (protection & PROT_WRITE) != 0; }

void* mmap(void* place, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (is_counted(protection, flags) && bytes > (size_t)1 << 30) {
    __atomic_fetch_add(&strict_overcommit_refusals, 1, __ATOMIC_RELAXED);
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void*)syscall(SYS_mmap, place, bytes, protection, flags, file, offset);
}

void* mmap64(void* place, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap(place, bytes, protection, flags, file, offset);
}
