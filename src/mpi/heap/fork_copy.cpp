#include "mpi/heap/fork_copy.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "mpi/heap/addresses.hpp"
#include "mpi/heap/heap_parts.hpp"
#include "mpi/heap/job/slot_claim.hpp"
#include "mpi/heap/kernel_memory.hpp"
#include "mpi/heap/memory_limits.hpp"
#include "mpi/heap/static_data.hpp"
#include "mpi/heap/user_heap.hpp"

namespace tri::mpi {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
// While copying, the free memory is read again after this many bytes: other ranks may fork at the same time.
constexpr std::size_t bytes_between_checks = std::size_t{32} << 20;
// Stays free beside a copy, for page tables and for what parent and child do next.
constexpr std::size_t smallest_reserve_bytes = std::size_t{32} << 20;
// Of a parent, for a child with a view of its pages to begin another program.
constexpr int longest_wait_ms = 1000;

constinit heap_window own_window;
constinit fork_copy_use cost;
dev_t file_device = 0;
ino_t file_number = 0;

// The heap of a child.
enum class child_heap : std::uint8_t {
  copy,  // made by the parent, before the fork
  view,  // the window's file, mapped privately: pages that the child writes are its own, the others are the parent's
  none
};

// From prepare to the end of the fork; the locks of the heap are held, so there is one fork at a time.
child_heap child_gets = child_heap::none;
void* copy = nullptr;
std::size_t copy_bytes = 0;  // of the copy or the view, from the start of the window
std::size_t copied_bytes = 0;
std::size_t processes = 1;      // of the job on this host
std::size_t checked_bytes = 0;  // the free memory was last read after copying this much
int child_lives[2];             // a pipe: the child has the end to write, which exec and exit close
sigset_t signals_before;
constinit std::atomic_flag warned;

bool is_shared() { return user_heap().phase == heap_phase::shared; }

// A program may have closed all descriptors, and the number may be another file now.
bool owns_file() {
  struct stat status {};
  return fstat(own_window.file, &status) == 0 && status.st_dev == file_device && status.st_ino == file_number;
}

// All processes of the job may be forking now, with heaps like this one.
bool memory_is_left_for(std::size_t bytes) {
  return memory_left() >= bytes * processes + std::max(smallest_reserve_bytes, bytes / 8);
}

// Upper bound of the window's resident memory: all ranges in use, and free pages that were kept.
std::size_t resident_bytes() {
  struct stat status {};
  return fstat(own_window.file, &status) == 0 ? static_cast<std::size_t>(status.st_blocks) * 512 : 0;
}

void copy_bytes_at(std::size_t offset, std::size_t bytes) {
  auto* const to = static_cast<std::byte*>(copy) + offset;
  if (bytes >= 2 * huge_page_bytes) {  // otherwise page faults of the copy take a quarter of the time
    const auto first = (reinterpret_cast<std::uintptr_t>(to) + huge_page_bytes - 1) & ~(huge_page_bytes - 1);
    const auto end = (reinterpret_cast<std::uintptr_t>(to) + bytes) & ~(huge_page_bytes - 1);
    kernel_madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  }
  std::memcpy(to, own_window.address + offset, bytes);
  copied_bytes += bytes;
}

// False: the memory for it is used up.
bool copy_range_in_use(std::size_t offset, std::size_t bytes) {
  for (const std::size_t end = offset + bytes; offset < end;) {
    if (copied_bytes >= checked_bytes + bytes_between_checks) {
      checked_bytes = copied_bytes;
      if (!memory_is_left_for(bytes_between_checks)) return false;
    }
    const std::size_t portion = std::min(end - offset, bytes_between_checks);
    copy_bytes_at(offset, portion);
    offset += portion;
  }
  return true;
}

// Copies the existing pages of a range. Without the file the holes are unknown, and all pages are copied.
bool copy_range(std::size_t offset, std::size_t bytes, bool know_holes) {
  if (!know_holes) return copy_range_in_use(offset, bytes);
  const std::size_t end = offset + bytes;
  while (offset < end) {
    const off_t data = lseek(own_window.file, static_cast<off_t>(offset), SEEK_DATA);
    if (data < 0 || static_cast<std::size_t>(data) >= end) return true;
    const off_t hole = lseek(own_window.file, data, SEEK_HOLE);
    const std::size_t until = hole < 0 ? end : std::min(static_cast<std::size_t>(hole), end);
    if (!copy_range_in_use(static_cast<std::size_t>(data), until - static_cast<std::size_t>(data))) return false;
    offset = until;
  }
  return true;
}

bool copy_heap(bool know_holes) {
  processes = processes_of_job(user_heap().slot_file, user_heap().job);
  if (know_holes && !memory_is_left_for(resident_bytes())) return false;
  copy = map_private(nullptr, copy_bytes, 0);
  if (copy == MAP_FAILED) return false;
  copied_bytes = checked_bytes = 0;
  bool whole = true;
  heap_pages.for_each_range_in_use([&](const std::byte* first, std::size_t bytes) {
    whole = whole && copy_range(static_cast<std::size_t>(first - own_window.address), bytes, know_holes);
  });
  if (!whole) kernel_munmap(copy, copy_bytes);
  return whole;
}

// The copy is made here, in the parent before the fork, not by the child: the parent need not wait for a process that
// may die, all memory is allocated before the child exists, and the fork itself hands the copy over.
void before_fork() {
  const int saved_errno = errno;
  heap_blocks.lock_for_fork();
  heap_pages.lock_for_fork();
  child_gets = child_heap::none;
  if (!is_shared()) return;
  // No handler of a signal may run in the child before it has its heap.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &signals_before);
  copy_bytes = std::max(heap_pages.reach_bytes(), page_bytes);
  const bool know_holes = owns_file();
  if (copy_heap(know_holes)) {
    child_gets = child_heap::copy;
    ++cost.copies;
    cost.copied_bytes += copied_bytes;
  } else if (know_holes) {
    child_gets = child_heap::view;
    ++cost.views;
    if (pipe2(child_lives, O_CLOEXEC) != 0) child_lives[0] = child_lives[1] = -1;
  }
  errno = saved_errno;
}

// What a child reads in a view before exec (the arguments, for example) must not change meanwhile. The parent can wait
// only briefly: the child may be waiting for it.
void wait_until_view_is_gone(int alive, std::size_t needed_bytes) {
  pollfd end_of_child{alive, POLLIN, 0};
  int ended = 0;
  while (alive >= 0 && (ended = poll(&end_of_child, 1, longest_wait_ms)) < 0 && errno == EINTR) {
  }
  // Relaxed: it only keeps the line from coming twice.
  if (ended > 0 || warned.test_and_set(std::memory_order_relaxed)) return;
  text_line line;
  line << "trireme: fork: the memory that is left is too small for a copy of the heap of process "
       << static_cast<std::uint64_t>(getpid()) << " (" << (needed_bytes >> 20) << " MiB, " << (memory_left() >> 20)
       << " MiB left), and the child has not called exec: pages that it has not written may change "
          "from now on. Begin programs by posix_spawn or system, raise the memory limit, or set TRIREME_MPI_HEAP=off\n";
  const ssize_t ignored = write(STDERR_FILENO, line.c_str(), line.view().size());
  static_cast<void>(ignored);
}

void after_fork_in_parent() {
  const int saved_errno = errno;
  const bool shared = is_shared();
  const child_heap gets = child_gets;
  void* const done = copy;
  const std::size_t done_bytes = copy_bytes;
  const int alive = child_lives[0];
  const sigset_t signals = signals_before;
  if (gets == child_heap::view && alive >= 0) close(child_lives[1]);
  heap_pages.unlock_after_fork();
  heap_blocks.unlock_after_fork();
  if (gets == child_heap::copy) kernel_munmap(done, done_bytes);
  if (gets == child_heap::view) {
    wait_until_view_is_gone(alive, resident_bytes());
    if (alive >= 0) close(alive);
  }
  if (shared) pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  errno = saved_errno;
}

[[noreturn]] void end_child(const char* line) {
  const ssize_t ignored = write(STDERR_FILENO, line, std::strlen(line));
  static_cast<void>(ignored);
  _exit(127);
}

// The copy or the view replaces the window, with private memory behind it as far as limits allow. Returns the new size
// of the window; 0: the kernel refused.
std::size_t take_place_of_window() {
  std::size_t bytes = own_window.bytes;
  if (map_private(own_window.address, bytes, MAP_FIXED) == MAP_FAILED) {
    kernel_munmap(own_window.address, bytes);
    bytes = copy_bytes;
  }
  if (child_gets == child_heap::copy)
    return kernel_mremap(copy, copy_bytes, own_window.address) == MAP_FAILED ? 0 : bytes;
  // A core dump would fill the holes of the file.
  return kernel_mmap(own_window.address, copy_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
                     own_window.file, 0) == MAP_FAILED ||
                 kernel_madvise(own_window.address, copy_bytes, MADV_DONTDUMP) != 0
             ? 0
             : bytes;
}

void after_fork_in_child() {
  const int saved_errno = errno;
  if (is_shared()) {
    if (child_gets == child_heap::none)
      end_child(
          "trireme: fork: no memory for the child's copy of the heap, whose file the program has closed; the child "
          "ends here (posix_spawn needs no copy)\n");
    const std::size_t bytes = take_place_of_window();
    if (bytes == 0 || !make_static_data_private())
      end_child(
          "trireme: fork: the kernel refuses the child a private heap (ulimit -d, ulimit -v, vm.overcommit_memory); "
          "the child ends here (posix_spawn needs none)\n");
    if (child_gets == child_heap::copy) {
      heap_pages.window_is_private_now(bytes, page_runs::holes::read_as_zeros);
    } else {
      // Free blocks are linked through their first words, and these are still shared with the parent: only new pages
      // are used.
      heap_pages.window_is_private_now(bytes, page_runs::holes::show_a_file);
      heap_blocks.forget_free_blocks();
      forget_cached_blocks();
      if (child_lives[0] >= 0) {
        close(child_lives[0]);
        move_descriptor_up(child_lives[1]);
      }
    }
    std::fill_n(mapped_heap_bytes, most_slots, 0);
    // The child is out of the job: the slot must not outlive its owner.
    if (owns_heap_descriptors()) {
      close(own_window.file);
      close(user_heap().slot_file);
    }
    user_heap_is_private_now();
    heap_pages.unlock_after_fork();
    heap_blocks.unlock_after_fork();
    pthread_sigmask(SIG_SETMASK, &signals_before, nullptr);
  } else {
    heap_pages.unlock_after_fork();
    heap_blocks.unlock_after_fork();
  }
  errno = saved_errno;
}

}  // namespace

bool guard_forks(const heap_window& own) {
  struct stat status {};
  if (fstat(own.file, &status) != 0) return false;
  file_device = status.st_dev;
  file_number = status.st_ino;
  own_window = own;
  return pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child) == 0;
}

bool owns_heap_descriptors() {
  const user_heap_state& heap = user_heap();
  return heap.phase == heap_phase::shared && owns_file() && is_file_of_slots(heap.slot_file);
}

fork_copy_use use_of_fork_copies() { return cost; }

}  // namespace tri::mpi
