#include "framework/allocation_counter.hpp"

#include <cstdlib>
#include <new>

namespace tri::bench {
namespace {

thread_local std::uint64_t allocations = 1;

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  ++allocations;
  return block;
}

std::size_t rounded(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::uint64_t allocations_of_this_thread() { return allocations; }

}  // namespace tri::bench

// The array forms of the standard library call these, and its nothrow forms do too; but a sanitizer brings nothrow
// forms of its own, whose blocks must not be released by the functions below.
void* operator new(std::size_t bytes) { return tri::bench::counted(std::malloc(bytes == 0 ? 1 : bytes)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return tri::bench::counted(
      std::aligned_alloc(static_cast<std::size_t>(alignment), tri::bench::rounded(bytes, alignment)));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
