// Engines whose ranks are threads of one process: the same shared structures as between processes, where the sanitizers
// see them.
#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "arena/arena.hpp"
#include "board/board.hpp"
#include "mpi/engine/engine.hpp"

namespace tri::mpi::testing {

inline void* everything_is_shared(const void* address, std::size_t) { return const_cast<void*>(address); }

/// Runs `body(engine of the rank)` on `ranks` threads; every rank stays until all have come to their end. `domains`:
/// the NUMA domain of each, where they have one. `limit_bytes`: of the arena; 0: its own.
inline void run_on_ranks(std::uint32_t ranks, engine_options options, const std::function<void(engine&)>& body,
                         const std::vector<std::int32_t>& domains = {}, std::size_t limit_bytes = 0) {
  constexpr std::size_t window_bytes = std::size_t{1} << 30;
  const int file = arena::create_window_file(window_bytes);
  {
    arena::arena_space space({.window_bytes = window_bytes, .limit_bytes = limit_bytes}, {file}, 0, [] {});
    std::vector<endpoint*> endpoints;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      endpoints.push_back(make_endpoint(space.heap(), rank, ranks, domains.empty() ? no_domain : domains[rank]));
    const board::board_shape shape{std::vector<std::uint32_t>(ranks, 0)};
    const std::size_t bytes = board::board::required_bytes(shape);
    board::board work = board::board::initialise({static_cast<std::byte*>(space.heap().reserve(bytes)), bytes}, shape);
    std::atomic<std::uint32_t> at_end{0};
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        board::board_pe pe = work.join(rank, order_of_ranks(endpoints, rank));
        arena::block_cache blocks(space.heap(), static_cast<std::uint16_t>(rank));
        engine mine(endpoints, rank, pe, blocks, options);
        mine.set_shared_memory(&everything_is_shared);
        body(mine);
        at_end.fetch_add(1, std::memory_order_acq_rel);  // pairs: the other ranks' looks
        for (endpoint* const other : endpoints) other->inbox.wake();
        mine.wait([&] { return at_end.load(std::memory_order_acquire) == ranks; });
      });
    }
    for (std::thread& each : threads) each.join();
  }
  close(file);
}

}  // namespace tri::mpi::testing
