// The addresses of a job's user heaps: one window per process, at the place given by the process's slot, in every
// process of the job on the host. So a pointer that malloc returned means the same in all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tri::mpi {

inline constexpr std::uintptr_t heap_base_address = 0x310000000000;  ///< see docs/dev/decisions/0003-user-heap.md
inline constexpr unsigned heap_stride_shift = 36;                    ///< 64 GiB from one window to the next
inline constexpr std::size_t heap_stride_bytes = std::size_t{1} << heap_stride_shift;
inline constexpr unsigned most_slots =
    256;  ///< processes of one job on one host; the addresses of the arena end where ours begin

/// First address of the window of `slot`.
inline std::byte* heap_window_address(unsigned slot) {
  return reinterpret_cast<std::byte*>(heap_base_address + slot * heap_stride_bytes);
}

/// The slot whose window holds `address`; `most_slots` or more when none does. The window need not be mapped.
inline std::size_t heap_slot_of(const void* address) {
  return (reinterpret_cast<std::uintptr_t>(address) - heap_base_address) >> heap_stride_shift;
}

/// Bytes of each slot's window that this process has mapped, from the window's start; 0: not mapped. Written before
/// main (own window) and in MPI_Init (windows of peers), then only read.
extern std::size_t mapped_heap_bytes[most_slots];

/// Whether all of `bytes` from `address` on are in one window that is mapped here, and so in all processes that mapped
/// it.
inline bool in_mapped_heap(const void* address, std::size_t bytes) {
  const std::size_t slot = heap_slot_of(address);
  if (slot >= most_slots) return false;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) & (heap_stride_bytes - 1);
  return offset < mapped_heap_bytes[slot] && bytes <= mapped_heap_bytes[slot] - offset;
}

}  // namespace tri::mpi
