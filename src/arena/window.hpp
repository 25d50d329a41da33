// Windows: the shared memory of the host. Every process creates one memfd and all processes of the host map it at the
// same address, so a pointer into the arena is valid in every process. Nothing has a name in a file system: the memory
// is freed with the last process.
//
// The addresses were chosen by trial (see docs/dev/decisions/0001-arena-addresses.md): the thread sanitizer owns most
// of the address space and leaves 0x7e8000000000 to us; all other builds use 0x110000000000. The heaps of the MPI
// drop-in follow behind the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "arena/error_hints.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace tri::arena {

inline constexpr std::uintptr_t base_address = os::under_thread_sanitizer ? 0x7e8000000000 : 0x110000000000;
inline constexpr std::uintptr_t end_address = os::under_thread_sanitizer ? 0x7ec000000000 : 0x310000000000;
inline constexpr int most_local_pes = 256;  ///< PEs of one process

/// How many processes of a host have a place for their windows: 512 with the default of 64 GiB.
constexpr int most_windows(std::size_t window_bytes) {
  return static_cast<int>((end_address - base_address) / window_bytes);
}

/// One mapped window. The owner maps its own, attachers those of their peers.
struct window {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
};

/// Makes the sparse memory file of one window (no memory is committed). The caller owns the descriptor.
int create_window_file(std::size_t window_bytes);

/// Maps the file at the fixed address of window `number`. Throws when the range is occupied, naming the mapping there.
/// Windows of peers are excluded from core files; for the own one its heap decides (core_dump_units.hpp).
window map_window(int fd, int number, std::size_t window_bytes, bool own, const error_hints& what_to_do = {});

/// In a forked child that continues without exec, makes every window, from number `first` on, a private copy-on-write
/// view: the child can read the contents but never disturb the parent. Under vm.overcommit_memory=2 it cannot write
/// there (SIGSEGV). Registered once by the runtime; see `in_forked_child`.
void install_fork_guard(std::vector<int> fds, std::size_t window_bytes, int first = 0);
bool in_forked_child();

/// Whether `address` lies in any window of the arena (mapped or not).
inline bool in_arena(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - base_address < end_address - base_address;
}

}  // namespace tri::arena
