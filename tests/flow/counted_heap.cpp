#include "counted_heap.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace tri::flow {
namespace {

bool is_counting = false;
std::int64_t in_use = 0;
std::int64_t most_in_use = 0;

constexpr std::size_t front = 16;  // of each block: how much was counted for it, and the alignment kept

}  // namespace

counting::counting() { is_counting = true; }
counting::~counting() { is_counting = false; }
std::int64_t counted() { return in_use; }
std::int64_t most_counted() { return most_in_use; }
void reset_count() { in_use = most_in_use = 0; }

}  // namespace tri::flow

using namespace tri::flow;

void* operator new(std::size_t bytes) {
  void* const block = std::malloc(bytes + front);
  if (block == nullptr) throw std::bad_alloc();
  // glibc's own: eight bytes of size, sixteen of alignment.
  const auto size = is_counting ? static_cast<std::int64_t>((bytes + 8 + 15) / 16 * 16) : 0;
  *static_cast<std::int64_t*>(block) = size;
  in_use += size;
  most_in_use = std::max(most_in_use, in_use);
  return static_cast<char*>(block) + front;
}

void operator delete(void* address) noexcept {
  if (address == nullptr) return;
  void* const block = static_cast<char*>(address) - front;
  in_use -= *static_cast<std::int64_t*>(block);
  std::free(block);
}

void operator delete(void* address, std::size_t) noexcept { operator delete(address); }

// A sanitizer's runtime has its own of these, which would not come here.
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete[](void* address) noexcept { operator delete(address); }
void operator delete[](void* address, std::size_t) noexcept { operator delete(address); }
