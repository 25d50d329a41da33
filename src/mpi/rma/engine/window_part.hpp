// The shared state of one rank of a window: its lock, its side of the barrier, and which ranks have posted to it and
// completed towards it. In the arena, one block per rank and window, at the same address in all processes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "arena/block_cache.hpp"
#include "arena/host_lock.hpp"
#include "mpi/engine/endpoint.hpp"
#include "mpi/rma/engine/attached_regions.hpp"
#include "mpi/rma/engine/window_lock.hpp"

namespace tri::mpi {

inline constexpr std::uint32_t most_barrier_rounds = 9;  // 2^9 ranks

struct window_part {
  endpoint* rank = nullptr;
  window_lock lock;
  /// For accumulates that are not a single instruction (accumulate_order.hpp). Its holder waits only for others'
  /// instructions and chunks of its own work.
  alignas(64) arena::host_lock accumulating;
  /// Not 0: even instructions are kept out.
  std::atomic<std::uint32_t> keeps_out{0};
  /// Whose elements this rank is changing by instructions at the moment. Written by it alone.
  alignas(64) std::atomic<const window_part*> changes{nullptr};
  /// Per round of the barrier: how often the rank before us has reached it.
  alignas(64) std::array<std::atomic<std::uint32_t>, most_barrier_rounds> arrivals{};
  /// How many accesses to this rank were completed since the window was made.
  alignas(64) std::atomic<std::uint32_t> completed{0};
  /// Of dynamic windows.
  alignas(64) attached_regions attached;
  /// [rank]: how often that rank has posted to this one.
  std::atomic<std::uint32_t>* posts = nullptr;
};

/// A block of the caller's cache, for a window of `ranks` ranks.
window_part* make_window_part(arena::block_cache& from, endpoint& rank, std::uint32_t ranks);
void release_window_part(arena::block_cache& to, window_part* part);

}  // namespace tri::mpi
