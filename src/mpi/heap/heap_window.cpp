#include "mpi/heap/heap_window.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>

#include "mpi/heap/addresses.hpp"
#include "mpi/heap/job/slot_claim.hpp"

namespace tri::mpi {

std::size_t mapped_heap_bytes[most_slots] = {};

namespace {

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

// Systems may demand that memory files can never be executed (vm.memfd_noexec); kernels before 6.3 do not know the flag
// that requests it.
int create_memory_file() {
  const int file = memfd_create("trireme-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  return file >= 0 || errno != EINVAL ? file : memfd_create("trireme-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

// Maps exactly there, or fails with errno set.
bool map_at(std::byte* place, std::size_t bytes, int file) {
  void* const address =
      mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);
  if (address == place) return true;
  if (address != MAP_FAILED) {  // a kernel before 4.17 treats the address as a hint
    munmap(address, bytes);
    errno = EEXIST;
  }
  return false;
}

}  // namespace

heap_window create_heap_window(unsigned slot, std::size_t bytes) {
  heap_window window;
  const auto failed = [&](const char* what) -> heap_window& {
    window.reason << what << " (errno " << static_cast<std::uint64_t>(errno) << ")";
    if (window.file >= 0) close(window.file);
    window.file = -1;
    return window;
  };
  window.file = create_memory_file();
  if (window.file < 0) return failed("memfd_create refused the memory file of the heap");
  if (ftruncate(window.file, static_cast<off_t>(bytes)) != 0) return failed("the memory file of the heap got no size");
  // With the size sealed, no process can make a peer fault (SIGBUS) behind a moved end of the file. Punching holes is
  // still possible.
  if (fcntl(window.file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return failed("the memory file of the heap could not be sealed");
  window.file = move_descriptor_up(window.file);
  std::byte* const place = heap_window_address(slot);
  if (!map_at(place, bytes, window.file)) {
    text_line what;
    what << (errno == EEXIST ? "something else lies at " : "the kernel refused to map ") << (bytes >> 20) << " MiB at ";
    what.hexadecimal(reinterpret_cast<std::uintptr_t>(place));
    return failed(what.c_str());
  }
  window.address = place;
  window.bytes = bytes;
  mapped_heap_bytes[slot] = bytes;
  return window;
}

int map_peer_heap(unsigned slot, int file, std::size_t bytes) {
  struct stat status {};
  if (slot >= most_slots || bytes > heap_stride_bytes || fstat(file, &status) != 0 ||
      static_cast<std::size_t>(status.st_size) != bytes || (fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK) == 0)
    return EINVAL;
  std::byte* const place = heap_window_address(slot);
  if (!map_at(place, bytes, file)) return errno;
  madvise(place, bytes, MADV_DONTDUMP);
  madvise(place, bytes, MADV_DONTFORK);
  mapped_heap_bytes[slot] = bytes;
  return 0;
}

void unmap_peer_heap(unsigned slot) {
  if (slot >= most_slots || mapped_heap_bytes[slot] == 0) return;
  munmap(heap_window_address(slot), mapped_heap_bytes[slot]);
  mapped_heap_bytes[slot] = 0;
}

}  // namespace tri::mpi
