// A global array dealt otherwise.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/fence.hpp"
#include "trireme/global_array.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// A new array with the same elements, dealt otherwise. Collective, for programs in SPMD style: it waits, at the end
/// for all PEs.
template <class T, int N, class... Options>
global_array<T, N> redistribute(const global_array<T, N>& from, const Options&... options) {
  barrier().get();  // what others have written before
  global_array<T, N> to(from.extents(), options...);
  struct arriving {
    local_tile<T, N> tile;
    std::unique_ptr<T[]> packed;  // of a partial tile, whose rows do not lie one behind the other
    future<void> done;
  };
  constexpr std::size_t most_under_way = 512;
  std::vector<arriving> under_way;
  const auto finish = [&] {
    for (arriving& one : under_way) {
      one.done.get();
      if (one.packed != nullptr) to.put(one.tile.elements(), one.packed.get()).get();
    }
    under_way.clear();
  };
  for (const local_tile<T, N> tile : to.own_tiles()) {
    const bool is_whole = tile.elements().extents() == to.tile();
    auto packed = is_whole ? nullptr : std::make_unique<T[]>(static_cast<std::size_t>(tile.elements().volume()));
    T* const into = is_whole ? tile.data() : packed.get();
    under_way.push_back({tile, std::move(packed), from.get(tile.elements(), into)});
    if (under_way.size() == most_under_way) finish();
  }
  finish();
  barrier().get();
  return to;
}

}  // namespace tri

#pragma GCC visibility pop
