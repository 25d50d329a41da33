#include "mpi/heap/fork_copy.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "mpi/heap/addresses.hpp"
#include "mpi/heap/heap_parts.hpp"
#include "mpi/heap/kernel_memory.hpp"
#include "mpi/heap/slot_claim.hpp"
#include "mpi/heap/static_data.hpp"
#include "mpi/heap/user_heap.hpp"

namespace tri::mpi {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

constinit heap_window own_window;
constinit fork_copy_use cost;
dev_t file_device = 0;
ino_t file_number = 0;

// From prepare to the end of the fork; the locks of the heap are held, so there is one fork at a time.
void* copy = nullptr;
std::size_t copy_bytes = 0;
sigset_t signals_before;

bool is_shared() { return user_heap().phase == heap_phase::shared; }

// A program may have closed all descriptors, and the number may be another file now.
bool file_is_ours() {
  struct stat status {};
  return fstat(own_window.file, &status) == 0 && status.st_dev == file_device && status.st_ino == file_number;
}

void copy_bytes_at(std::size_t offset, std::size_t bytes) {
  auto* const to = static_cast<std::byte*>(copy) + offset;
  if (bytes >= 2 * huge_page_bytes) {  // a quarter of the time goes into faults of the copy otherwise
    const auto first = (reinterpret_cast<std::uintptr_t>(to) + huge_page_bytes - 1) & ~(huge_page_bytes - 1);
    const auto end = (reinterpret_cast<std::uintptr_t>(to) + bytes) & ~(huge_page_bytes - 1);
    kernel_madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  }
  std::memcpy(to, own_window.address + offset, bytes);
  cost.copied_bytes += bytes;
}

// Copies the pages of a stretch that exist. Without the file nobody can tell, and all are copied.
void copy_stretch(std::size_t offset, std::size_t bytes, bool know_holes) {
  if (!know_holes) return copy_bytes_at(offset, bytes);
  const std::size_t end = offset + bytes;
  while (offset < end) {
    const off_t data = lseek(own_window.file, static_cast<off_t>(offset), SEEK_DATA);
    if (data < 0 || static_cast<std::size_t>(data) >= end) return;
    const off_t hole = lseek(own_window.file, data, SEEK_HOLE);
    const std::size_t until = hole < 0 ? end : std::min(static_cast<std::size_t>(hole), end);
    copy_bytes_at(static_cast<std::size_t>(data), until - static_cast<std::size_t>(data));
    offset = until;
  }
}

// The copy is made here, in the parent and before the fork, not by the child: nobody has to wait for a process that may
// die, all memory is there before there is a child, and the fork itself hands the copy over.
void before_fork() {
  const int saved_errno = errno;
  heap_blocks.lock_for_fork();
  heap_pages.lock_for_fork();
  copy = nullptr;
  if (!is_shared()) return;
  // No handler of a signal may run in the child before it has its copy.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &signals_before);
  copy_bytes = std::max(heap_pages.reach_bytes(), page_bytes);
  copy = map_private(nullptr, copy_bytes, 0);
  if (copy == MAP_FAILED) {
    copy = nullptr;
  } else {
    const bool know_holes = file_is_ours();
    heap_pages.for_each_stretch_in_use([&](const std::byte* first, std::size_t bytes) {
      copy_stretch(static_cast<std::size_t>(first - own_window.address), bytes, know_holes);
    });
    ++cost.copies;
  }
  errno = saved_errno;
}

void after_fork_in_parent() {
  const int saved_errno = errno;
  const bool shared = is_shared();
  void* const done = copy;
  const std::size_t done_bytes = copy_bytes;
  const sigset_t signals = signals_before;
  heap_pages.unlock_after_fork();
  heap_blocks.unlock_after_fork();
  if (done != nullptr) kernel_munmap(done, done_bytes);
  if (shared) pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  errno = saved_errno;
}

[[noreturn]] void end_child(const char* line) {
  const ssize_t ignored = write(STDERR_FILENO, line, std::strlen(line));
  static_cast<void>(ignored);
  _exit(127);
}

void after_fork_in_child() {
  const int saved_errno = errno;
  if (is_shared()) {
    if (copy == nullptr)
      end_child(
          "trireme: fork: no memory for the child's copy of the heap; the child ends here (posix_spawn needs no "
          "copy)\n");
    // The copy goes to the place of the window, and private memory behind it as far as limits allow.
    std::size_t bytes = own_window.bytes;
    if (map_private(own_window.address, bytes, MAP_FIXED) == MAP_FAILED) {
      kernel_munmap(own_window.address, bytes);
      bytes = copy_bytes;
    }
    if (kernel_mremap(copy, copy_bytes, own_window.address) == MAP_FAILED || !make_static_data_private())
      end_child("trireme: fork: the child's copy of the heap could not be put in place; the child ends here\n");
    heap_pages.window_is_private_now(bytes);
    std::fill_n(mapped_heap_bytes, most_slots, 0);
    // The child is out of the job: the slot must not outlive its owner.
    if (heap_descriptors_are_ours()) {
      close(own_window.file);
      close(user_heap().slot_socket);
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

bool heap_descriptors_are_ours() {
  sockaddr_un address;
  sockaddr_un own;
  socklen_t length = sizeof(address);
  const user_heap_state& heap = user_heap();
  if (heap.phase != heap_phase::shared || !file_is_ours()) return false;
  const socklen_t own_length = slot_address(heap.job, static_cast<unsigned>(heap.slot), own);
  return getsockname(heap.slot_socket, reinterpret_cast<sockaddr*>(&address), &length) == 0 && length == own_length &&
         std::memcmp(&address, &own, length) == 0;
}

fork_copy_use use_of_fork_copies() { return cost; }

}  // namespace tri::mpi
