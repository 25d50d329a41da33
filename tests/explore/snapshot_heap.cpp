#include "explore/snapshot_heap.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

namespace tri::explore::snapshot_heap {
namespace {

constexpr std::size_t grain = 16;           // the alignment of operator new, and the step from class to class
constexpr std::size_t largest_kept = 1024;  // with the grain in front of it
constexpr std::size_t most_alignment = 128;
constexpr std::size_t capacity = std::size_t{1} << 20;

// Free blocks of one size, linked by their offsets; 0: none.
struct header {
  std::size_t used;
  std::array<std::uint32_t, largest_kept / grain + 1> free;
};
constexpr std::size_t header_bytes = (sizeof(header) + grain - 1) / grain * grain;

alignas(most_alignment) std::byte memory[capacity];
header& head() { return *reinterpret_cast<header*>(memory); }
int depth = 0;  // of `inside`

// Constructors of other files may allocate before this file's run.
void make_ready() {
  if (head().used == 0) head().used = header_bytes;
}

bool is_here(const void* address) {
  return !std::less<>()(address, memory) && std::less<>()(address, memory + capacity);
}

// In front of each block is a grain with its size, which the unsized operator delete does not know: 0 for one that is
// not used again before a restore.
void* append(std::size_t size, std::size_t skipped, std::size_t size_to_keep) {
  if (capacity - head().used < size + skipped) {
    std::fputs("snapshot heap: the model is larger than 1 MiB\n", stderr);
    std::abort();
  }
  std::byte* const block = memory + head().used + skipped;
  head().used += size + skipped;
  std::memcpy(block, &size_to_keep, sizeof size_to_keep);
  return block + grain;
}

void* allocate(std::size_t bytes) {
  make_ready();
  const std::size_t size = (bytes == 0 ? grain : (bytes + grain - 1) / grain * grain) + grain;
  if (size <= largest_kept) {
    if (std::uint32_t& first = head().free[size / grain]; first != 0) {
      std::byte* const block = memory + first;
      std::memcpy(&first, block + grain, sizeof first);
      return block + grain;
    }
  }
  return append(size, 0, size <= largest_kept ? size : 0);
}

void* allocate_aligned(std::size_t bytes, std::size_t alignment) {
  if (alignment > most_alignment) throw std::bad_alloc();
  make_ready();
  const std::size_t skipped = (alignment - (head().used + grain) % alignment) % alignment;
  return append((bytes + grain - 1) / grain * grain + grain, skipped, 0);
}

void release(void* address) {
  std::byte* const block = static_cast<std::byte*>(address) - grain;
  std::size_t size;
  std::memcpy(&size, block, sizeof size);
  if (size == 0) return;
  std::uint32_t& first = head().free[size / grain];
  std::memcpy(block + grain, &first, sizeof first);
  first = static_cast<std::uint32_t>(block - memory);
}

}  // namespace

inside::inside() { ++depth; }
inside::~inside() { --depth; }
std::size_t bytes() {
  make_ready();
  return head().used;
}
void save(std::byte* to) { std::memcpy(to, memory, bytes()); }
void restore(const std::byte* from, std::size_t bytes) { std::memcpy(memory, from, bytes); }
void clear() {
  head() = {};
  make_ready();
}

}  // namespace tri::explore::snapshot_heap

using namespace tri::explore::snapshot_heap;

void* operator new(std::size_t bytes) {
  if (depth > 0) return allocate(bytes);
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto wanted = static_cast<std::size_t>(alignment);
  if (depth > 0) return allocate_aligned(bytes, wanted);
  void* const block = std::aligned_alloc(wanted, (bytes + wanted - 1) / wanted * wanted);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* address) noexcept {
  if (is_here(address))
    release(address);
  else
    std::free(address);
}
void operator delete(void* address, std::size_t) noexcept { operator delete(address); }
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete[](void* address) noexcept { operator delete(address); }
void operator delete[](void* address, std::size_t) noexcept { operator delete(address); }
void operator delete(void* address, std::align_val_t) noexcept { operator delete(address); }
void operator delete(void* address, std::size_t, std::align_val_t) noexcept { operator delete(address); }
