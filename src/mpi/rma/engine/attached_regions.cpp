#include "mpi/rma/engine/attached_regions.hpp"

#include <algorithm>
#include <mutex>

namespace tri::mpi {
namespace {

bool lies_before(std::uintptr_t address, const attached_region& region) { return address < region.address; }

}  // namespace

void attached_regions::attach(arena::block_cache& blocks, const attached_region& region) {
  // Only the owner grows the list, so what it reads without the lock is current.
  attached_region* larger = nullptr;
  const std::size_t capacity = capacity_ == 0 ? 8 : 2 * capacity_;
  if (count_ == capacity_) larger = static_cast<attached_region*>(blocks.allocate(capacity * sizeof(attached_region)));
  attached_region* const smaller = list_;
  {
    const std::lock_guard guard(lock_);
    if (larger != nullptr) {
      std::copy_n(list_, count_, larger);
      list_ = larger;
      capacity_ = capacity;
    }
    attached_region* const behind = std::upper_bound(list_, list_ + count_, region.address, lies_before);
    std::copy_backward(behind, list_ + count_, list_ + count_ + 1);
    *behind = region;
    ++count_;
  }
  if (larger != nullptr && smaller != nullptr) blocks.release(smaller);
}

bool attached_regions::detach(std::uintptr_t address) {
  const std::lock_guard guard(lock_);
  attached_region* const behind = std::upper_bound(list_, list_ + count_, address, lies_before);
  if (behind == list_ || (behind - 1)->address != address) return false;
  std::copy(behind, list_ + count_, behind - 1);
  --count_;
  return true;
}

void attached_regions::release(arena::block_cache& blocks) {
  if (list_ != nullptr) blocks.release(list_);
  list_ = nullptr;
  count_ = capacity_ = 0;
}

std::optional<attached_region> attached_regions::find(std::uintptr_t first, std::size_t bytes) {
  const std::lock_guard guard(lock_);
  // The nearest region that begins before, mostly; further back only where regions overlap.
  for (const attached_region* at = std::upper_bound(list_, list_ + count_, first, lies_before); at != list_;)
    if ((--at)->holds(first, bytes)) return *at;
  return std::nullopt;
}

}  // namespace tri::mpi
