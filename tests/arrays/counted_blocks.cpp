#include "counted_blocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tri::testing {
namespace {

thread_local std::int64_t held = 0;
thread_local std::int64_t most = 0;

}  // namespace

std::int64_t blocks_held() { return held; }
std::int64_t most_blocks_held() { return most; }
void reset_most_blocks_held() { most = held; }

namespace {

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  most = std::max(most, ++held);
  return block;
}
void release(void* block) {
  if (block != nullptr) --held;
  std::free(block);
}

}  // namespace
}  // namespace tri::testing

void* operator new(std::size_t bytes) { return tri::testing::counted(std::malloc(bytes == 0 ? 1 : bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
  return operator new(bytes);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* block) noexcept { tri::testing::release(block); }
void operator delete(void* block, std::size_t) noexcept { tri::testing::release(block); }
