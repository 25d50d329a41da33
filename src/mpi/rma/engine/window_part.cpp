#include "mpi/rma/engine/window_part.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

namespace tri::mpi {

window_part* make_window_part(arena::block_cache& from, endpoint& rank, std::uint32_t ranks) {
  const std::uint32_t sleepers = std::bit_ceil(ranks);
  const std::size_t posts_at = sizeof(window_part) + sleepers * sizeof(std::atomic<endpoint*>);
  auto* const block = static_cast<std::byte*>(from.allocate(posts_at + ranks * sizeof(std::atomic<std::uint32_t>)));
  auto* const made = new (block) window_part;
  auto* const sleeper = reinterpret_cast<std::atomic<endpoint*>*>(block + sizeof(window_part));
  std::uninitialized_value_construct_n(sleeper, sleepers);
  made->posts = reinterpret_cast<std::atomic<std::uint32_t>*>(block + posts_at);
  std::uninitialized_value_construct_n(made->posts, ranks);
  made->rank = &rank;
  made->lock.initialise(sleeper, sleepers);
  return made;
}

void release_window_part(arena::block_cache& to, window_part* part) {
  part->attached.release(to);
  part->~window_part();
  to.release(part);
}

}  // namespace tri::mpi
