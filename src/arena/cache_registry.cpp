#include "arena/cache_registry.hpp"

#include "arena/block_cache.hpp"

namespace tri::arena {

carved_runs& cache_registry::runs_of(std::uint16_t number) {
  std::lock_guard guard(lock_);
  if (runs_[number] == nullptr) runs_[number] = std::make_unique<carved_runs>(heap_, number);
  return *runs_[number];
}

void cache_registry::add(block_cache& cache) {
  std::lock_guard guard(lock_);
  caches_.push_back(&cache);
}

void cache_registry::remove(block_cache& cache) {
  std::lock_guard guard(lock_);
  std::erase(caches_, &cache);
}

void cache_registry::reclaim(const block_cache& asking) {
  std::lock_guard guard(lock_);
  for (const auto& runs : runs_)
    if (runs != nullptr) runs->collect();
  for (block_cache* const each : caches_)
    if (each != &asking) each->give_to_others();
}

}  // namespace tri::arena
