#include "arena/window.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "os/text_file.hpp"

namespace tri::arena {
namespace {

// The mappings in an address range; for the message of a failed mapping.
std::string what_lies_at(std::uintptr_t first, std::uintptr_t last) {
  os::text_file maps("/proc/self/maps");
  for (std::string line; maps.next_line(line);) {
    const auto begin = std::stoull(line, nullptr, 16);
    const auto end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    if (begin < last && first < end) return line;
  }
  return "nothing listed in /proc/self/maps";
}

std::vector<int> guarded_files;
std::size_t guarded_window_bytes = 0;
std::size_t first_guarded = 0;
bool forked_child = false;

// Whether the window is now a view of the child's own.
bool make_private(void* place, int file, int protection) {
  return mmap(place, guarded_window_bytes, protection, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file, 0) != MAP_FAILED;
}

void make_windows_private() {
  forked_child = true;
  for (std::size_t number = 0; number < guarded_files.size(); ++number) {
    const int file = guarded_files[number];
    if (file < 0) continue;
    void* const place = reinterpret_cast<void*>(base_address + (first_guarded + number) * guarded_window_bytes);
    // Under strict overcommit accounting (vm.overcommit_memory=2) the kernel charges private writable mappings, even
    // with MAP_NORESERVE: then the child may only read. If even that fails, nothing is mapped: the child must never
    // continue with the parent's windows.
    if (!make_private(place, file, PROT_READ | PROT_WRITE) && !make_private(place, file, PROT_READ))
      munmap(place, guarded_window_bytes);
  }
}

}  // namespace

int create_window_file(std::size_t window_bytes) {
  // Beyond this limit the kernel does not refuse: it ends the process (SIGXFSZ).
  if (rlimit largest{}; getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < window_bytes) {
    throw std::runtime_error(
        fmt::format("arena: the limit of file sizes (ulimit -f) is {} KiB; a window of shared memory needs {} KiB",
                    largest.rlim_cur >> 10, window_bytes >> 10));
  }
  const int fd = memfd_create("trireme-arena", MFD_CLOEXEC);
  if (fd < 0) throw std::runtime_error(fmt::format("arena: memfd_create failed: {}", std::strerror(errno)));
  if (ftruncate(fd, static_cast<off_t>(window_bytes)) != 0) {
    const int error = errno;
    close(fd);
    throw std::runtime_error(
        fmt::format("arena: cannot size the window file to {} bytes: {}", window_bytes, std::strerror(error)));
  }
  return fd;
}

window map_window(int fd, int number, std::size_t window_bytes, bool own, const error_hints& what_to_do) {
  if (number < 0 || number >= most_windows(window_bytes))
    throw std::runtime_error(
        fmt::format("arena: window {} of {} MiB asked for; a host has windows 0..{} of that size (one per process)",
                    number, window_bytes >> 20, most_windows(window_bytes) - 1));
  const std::uintptr_t place = base_address + static_cast<std::size_t>(number) * window_bytes;
  void* const address = mmap(reinterpret_cast<void*>(place), window_bytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
  if (address == MAP_FAILED || reinterpret_cast<std::uintptr_t>(address) != place) {
    const int error = address == MAP_FAILED ? errno : EEXIST;
    if (address != MAP_FAILED) munmap(address, window_bytes);
    if (error == ENOMEM)
      throw std::runtime_error(fmt::format(
          "arena: cannot map {} MiB of address space at {:#x}: {} (a limit such as 'ulimit -v' forbids it; {})",
          window_bytes >> 20, place, std::strerror(error), what_to_do.address_space));
    throw std::runtime_error(fmt::format("arena: cannot map a window of {} MiB at {:#x}: {}; there lies: {}",
                                         window_bytes >> 20, place, std::strerror(error),
                                         what_lies_at(place, place + window_bytes)));
  }
  if (!own) madvise(address, window_bytes, MADV_DONTDUMP);
  return {static_cast<std::byte*>(address), window_bytes};
}

void install_fork_guard(std::vector<int> fds, std::size_t window_bytes, int first) {
  const bool first_time = guarded_window_bytes == 0;
  guarded_files = std::move(fds);
  guarded_window_bytes = window_bytes;
  first_guarded = static_cast<std::size_t>(first);
  if (first_time) pthread_atfork(nullptr, nullptr, &make_windows_private);
}

bool in_forked_child() { return forked_child; }

}  // namespace tri::arena
