#include "mpi/heap/core_dumps.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "mpi/heap/kernel_memory.hpp"
#include "mpi/heap/static_data.hpp"
#include "mpi/heap/user_heap.hpp"

namespace tri::mpi {
namespace {

// Smaller holes are dumped, and filled: each border is a mapping of the kernel's, which are limited (vm.max_map_count).
constexpr std::size_t smallest_hole_bytes = std::size_t{64} << 10;
constexpr int most_dumped_ranges = 16384;

struct guarded_signal {
  int number;
  struct sigaction before;  // the previous action
};
constinit guarded_signal guarded[] = {{SIGQUIT, {}}, {SIGILL, {}},  {SIGTRAP, {}}, {SIGABRT, {}}, {SIGBUS, {}},
                                      {SIGFPE, {}},  {SIGSEGV, {}}, {SIGXCPU, {}}, {SIGXFSZ, {}}, {SIGSYS, {}}};

// `place` maps the window's file from `offset` on. Pages that the kernel refuses are missing in the core dump, nothing
// else.
void leave_holes_out(std::byte* place, std::size_t offset, std::size_t bytes) {
  const int file = user_heap().file;
  const std::size_t end = offset + bytes;
  kernel_madvise(place, bytes, MADV_DONTDUMP);
  std::size_t first = 0;  // of the range of data that is being put together
  std::size_t last = 0;
  const auto dump = [&] {
    if (first != last) kernel_madvise(place + (first - offset), last - first, MADV_DODUMP);
  };
  int ranges = 0;
  for (std::size_t at = offset; at < end && ranges < most_dumped_ranges;) {
    const off_t data = lseek(file, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 || static_cast<std::size_t>(data) >= end) break;
    const off_t hole = lseek(file, data, SEEK_HOLE);
    at = hole < 0 || static_cast<std::size_t>(hole) > end ? end : static_cast<std::size_t>(hole);
    if (first == last || static_cast<std::size_t>(data) - last >= smallest_hole_bytes) {
      dump();
      ++ranges;
      first = static_cast<std::size_t>(data);
    }
    last = at;
  }
  dump();
}

// Only system calls: the program may have crashed anywhere, in malloc for example.
void before_core_dump(int number, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const user_heap_state& heap = user_heap();
  // In a forked child the heap is private memory, which is dumped without reading holes.
  if (heap.phase == heap_phase::shared && owns_heap_descriptors()) {
    leave_holes_out(heap.window, 0, heap.window_bytes);
    for (const static_range& range : shared_static_data()) {
      leave_holes_out(range.place, static_cast<std::size_t>(range.alias - heap.window), range.bytes);
      kernel_madvise(range.alias, range.bytes, MADV_DONTDUMP);  // it is dumped at its own place
    }
  }
  // The signal is raised again, unchanged, as soon as this handler returns: before the program runs on.
  for (const guarded_signal& each : guarded)
    if (each.number == number) sigaction(number, &each.before, nullptr);
  syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), number, info);
  errno = saved_errno;
}

bool crashes_dump_core() {
  rlimit limit{};
  if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur != 0) return true;
  // A program that receives core dumps gets them without limit.
  const int file = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
  char first = 0;
  const bool to_program = file >= 0 && read(file, &first, 1) == 1 && first == '|';
  if (file >= 0) close(file);
  return to_program;
}

}  // namespace

void keep_core_dumps_small() {
  if (user_heap().phase != heap_phase::shared || !crashes_dump_core()) return;
  for (guarded_signal& each : guarded) {
    struct sigaction now {};
    if (sigaction(each.number, nullptr, &now) != 0) continue;
    const bool takes_information = (now.sa_flags & SA_SIGINFO) != 0;
    if (takes_information ? now.sa_sigaction == &before_core_dump : now.sa_handler == SIG_IGN) continue;
    each.before = now;
    struct sigaction ours {};
    ours.sa_sigaction = &before_core_dump;
    // On the alternate stack where the program has one: its own may have overflowed.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&ours.sa_mask);
    sigaction(each.number, &ours, nullptr);
  }
}

}  // namespace tri::mpi
