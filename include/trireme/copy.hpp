// Elements of one global array into another.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "trireme/fence.hpp"
#include "trireme/global_array.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Copies the elements of `box` to those of `to` from `first` on, as often as the distributions want it: each PE
/// fetches what lies in its tiles of `to`, one message for each of them and PE that has a part. Collective, for
/// programs in SPMD style: it waits, at the beginning and at the end for all PEs. The regions of one array must not
/// overlap: std::invalid_argument. std::out_of_range outside of the extents.
template <class T, int N>
void copy(const global_array<T, N>& from, const region<N>& box, const global_array<T, N>& to,
          const position<N>& first) {
  region<N> target(first, first);
  for (int d = 0; d < N; ++d) target.last[d] += box.extents()[d];
  from.check_region(box);
  to.check_region(target);
  if (from == to && box.intersection(target).volume() != 0)
    throw std::invalid_argument("global array: a section is copied onto elements of itself");
  barrier().get();  // what others have written before
  struct arriving {
    local_tile<T, N> tile;
    region<N> part;               // of the tile, in the array
    std::unique_ptr<T[]> packed;  // unless the part is the tile, whose rows lie one behind the other
    future<void> done;
  };
  constexpr std::size_t most_under_way = 512;
  std::vector<arriving> under_way;
  under_way.reserve(most_under_way);
  std::exception_ptr error;  // the first; kept until no answer is under way to memory that this function frees
  const auto keep_error = [&](auto&& run) {
    try {
      run();
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
  };
  const auto finish = [&] {
    for (arriving& one : under_way) keep_error([&one] { one.done.get(); });
    if (error != nullptr) std::rethrow_exception(error);
    for (const arriving& one : under_way) {
      if (one.packed == nullptr) continue;
      const position<N> extents = one.part.extents();
      arrays::copy_box<N>(reinterpret_cast<std::byte*>(&one.tile.at(one.part.first)), to.where().strides_in_tile(),
                          reinterpret_cast<const std::byte*>(one.packed.get()), arrays::row_major_strides(extents),
                          extents, sizeof(T));
    }
    under_way.clear();
  };
  for (const local_tile<T, N> tile : to.own_tiles()) {
    const region<N> part = tile.elements().intersection(target);
    if (part.volume() == 0) continue;
    region<N> source = part;
    for (int d = 0; d < N; ++d) {
      source.first[d] += box.first[d] - first[d];
      source.last[d] += box.first[d] - first[d];
    }
    const bool is_in_place = arrays::row_major_strides(part.extents()) == to.where().strides_in_tile();
    auto packed = is_in_place ? nullptr : std::make_unique<T[]>(static_cast<std::size_t>(part.volume()));
    T* const into = is_in_place ? &tile.at(part.first) : packed.get();
    keep_error([&] { under_way.push_back({tile, part, std::move(packed), from.get(source, into)}); });
    if (error != nullptr || under_way.size() == most_under_way) finish();
  }
  finish();
  barrier().get();
}

}  // namespace tri

#pragma GCC visibility pop
