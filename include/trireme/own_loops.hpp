// Loops over the elements that a PE has, shared by the idle PEs of its process; and loops whose iterations are dealt by
// affinity, as upc_forall deals them.
//
//   tri::parallel_for_own(a, [](const auto& at, double& element) { element = f(at); });
//   tri::parallel_for_tiles(a, [](const auto& tile) { dgemm(tile.data(), tile.leading_dimension()); });
//   tri::forall(n, tri::by_number, [&](std::int64_t i) { ... });      // on PE i % pe_count()
//   tri::forall(n, a, [&](std::int64_t i) { ... });                   // where a(i) is
//   tri::forall(n, [&](std::int64_t i) { return a.pointer_to(i); }, body);
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "trireme/global_array.hpp"
#include "trireme/global_pointer.hpp"
#include "trireme/loops.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Calls f(tile) for each tile of this PE; idle PEs of its process help, so f may run on them, several at a time.
/// Returns when all have run. f may throw: see parallel_for.
template <class T, int N, class F>
void parallel_for_tiles(const global_array<T, N>& array, F&& f, const loop_options& options = {}) {
  const auto tiles = array.own_tiles();
  parallel_for(
      tiles.slots(), [&](std::int64_t slot) { tiles.visit(slot, f); }, options);
}

/// Calls f(position, element&) for each element of this PE, in any order; idle PEs of its process help. Returns when
/// all have run. What f writes into elements of this host is memory; other accesses are those of the PE that runs it,
/// and so are the fences behind them.
template <class T, int N, class F>
void parallel_for_own(const global_array<T, N>& array, F&& f, const loop_options& options = {}) {
  const auto tiles = array.own_tiles();
  const position<N>& whole = array.tile();
  const std::int64_t volume = whole.volume();
  // Elements in the order of memory, with padding: tiles of any number and shape can be cut anywhere.
  const auto run = [&](const loop_chunk<std::int64_t>& chunk) {
    for (std::int64_t index = chunk.front(); index < chunk.stop();) {
      const position<N> first = arrays::position_of(index % volume, whole);
      const std::int64_t length = std::min(whole[N - 1] - first[N - 1], chunk.stop() - index);
      tiles.visit(index / volume, [&](const local_tile<T, N>& tile) {
        for (int d = 0; d < N - 1; ++d)
          if (first[d] >= tile.extent(d)) return;
        T* element = tile.data();
        position<N> at = first;
        for (int d = 0; d < N; ++d) {
          element += first[d] * tile.stride(d);
          at[d] += tile.elements().first[d];
        }
        const std::int64_t last = std::min(at[N - 1] + length, tile.elements().last[N - 1]);
        for (; at[N - 1] < last; ++at[N - 1]) f(at, *element++);
      });
      index += length;
    }
  };
  parallel_for(tiles.slots() * volume, run, options);
}

/// For forall: iteration i is of PE i % pe_count().
struct by_number_t {};
inline constexpr by_number_t by_number{};
/// For forall: every PE runs all iterations (upc_forall's `continue`).
struct by_all_t {};
inline constexpr by_all_t by_all{};

namespace arrays {
template <class A>
inline constexpr bool is_global_array = false;
template <class T, int N>
inline constexpr bool is_global_array<global_array<T, N>> = true;
}  // namespace arrays

// Loops of all PEs together, in SPMD style: each PE calls forall with the same count, and runs the iterations 0 to
// count - 1 that are its own, in ascending order. No message, no wait.
template <std::integral Index, class Body>
void forall(Index count, by_number_t, Body&& body) {
  for (auto i = static_cast<std::int64_t>(this_pe()); i < static_cast<std::int64_t>(count); i += pe_count())
    body(static_cast<Index>(i));
}
template <std::integral Index, class Body>
void forall(Index count, by_all_t, Body&& body) {
  for (Index i = 0; i < count; ++i) body(i);
}
/// Iteration i is of the PE that has element i of the array. Throws std::out_of_range when there are not so many.
template <std::integral Index, class T, class Body>
void forall(Index count, const global_array<T, 1>& array, Body&& body) {
  const auto last = static_cast<std::int64_t>(count);
  if (last > array.size()) arrays::report_outside(&last, array.extents().at.data(), 1);
  for (const local_tile<T, 1> tile : array.own_tiles())  // ascending, and no test for each iteration
    for (std::int64_t i = tile.elements().first[0]; i < std::min(tile.elements().last[0], last); ++i)
      body(static_cast<Index>(i));
}
/// `affinity(i)` names whose iteration it is: a number, of PE number % pe_count(); or a global_pointer or an element,
/// of its owner. Each PE asks for all iterations.
template <std::integral Index, class Affinity, class Body>
  requires(std::is_invocable_v<Affinity&, Index> && !arrays::is_global_array<std::decay_t<Affinity>>)
void forall(Index count, Affinity&& affinity, Body&& body) {
  const auto owner = [](const auto& of) {
    if constexpr (std::integral<std::decay_t<decltype(of)>>)
      return static_cast<int>(of % pe_count());
    else
      return of.owner();
  };
  const int own = this_pe();
  for (Index i = 0; i < count; ++i)
    if (owner(affinity(i)) == own) body(i);
}

}  // namespace tri

#pragma GCC visibility pop
