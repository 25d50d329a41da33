// Random descriptions of datatypes: all constructors nested in each other, with negative strides, zero counts, bounds
// moved anywhere, blocks that touch or overlap. The same seed makes the same types on every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "mpi/datatypes/type_description.hpp"
#include "mpi/datatypes/type_map.hpp"

namespace tri::mpi::test_types {

class random_types {
 public:
  explicit random_types(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  std::uint64_t next() {  // xorshift*
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>((next() >> 11) % static_cast<std::uint64_t>(most - least + 1));
  }
  bool once_in(std::int64_t times) { return between(1, times) == 1; }

  struct limits {
    int depth = 4;
    std::uint64_t entries = 4000;  // of the type map
    std::int64_t reach = 1 << 20;  // bytes that one instance may span
    bool overlaps = true;
    bool empty = true;  // types without bytes, also inside
  };

  /// A type of 1 to limits.entries elements, or 0 if empty ones are allowed.
  type_description type(const limits& within) {
    for (;;) {
      const type_description made = any_type(within.depth, within);
      if (fits(made, within)) return made;
    }
  }

 private:
  static constexpr element_kind kinds[] = {
      element_kind::byte,    element_kind::int16,   element_kind::int32,           element_kind::int64,
      element_kind::float32, element_kind::float64, element_kind::complex_float64, element_kind::float80,
      element_kind::int8,    element_kind::float64, element_kind::int32,
  };

  // Counted without making the map.
  static double entries_of(const type_description& what) {
    double most = 1;
    for (const type_description& part : what.old) most = std::max(most, entries_of(part));
    double times = 1;
    const auto sum = [](const std::vector<std::int64_t>& values) {
      double total = 0;
      for (const std::int64_t value : values) total += static_cast<double>(value);
      return total;
    };
    const auto product = [](const std::vector<std::int64_t>& values) {
      double total = 1;
      for (const std::int64_t value : values) total *= static_cast<double>(value);
      return total;
    };
    switch (what.made_by) {
      case constructor::contiguous:
        times = static_cast<double>(what.count);
        break;
      case constructor::vector:
      case constructor::hvector:
        times = static_cast<double>(what.count) * static_cast<double>(what.block_length);
        break;
      case constructor::indexed:
      case constructor::hindexed:
      case constructor::structure:
        times = sum(what.lengths);
        break;
      case constructor::indexed_block:
      case constructor::hindexed_block:
        times = static_cast<double>(what.block_length) * static_cast<double>(what.displacements.size());
        break;
      case constructor::subarray:
      case constructor::darray:
        times = product(what.sizes);
        break;
      default:
        break;
    }
    return most * std::max(times, 1.0);
  }

  bool fits(const type_description& what, const limits& within) {
    if (entries_of(what) > 4.0 * static_cast<double>(within.entries)) return false;
    const type_map map = map_of(what);
    if (map.entries.size() > within.entries || (map.entries.empty() && !within.empty)) return false;
    return map.true_upper() - map.true_lower() <= within.reach && std::abs(map.extent()) <= within.reach &&
           std::abs(map.true_lower()) <= within.reach && (within.overlaps || !overlaps(map));
  }
  static bool overlaps(const type_map& map) {
    std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
    for (const type_map::entry& one : map.entries)
      pieces.emplace_back(one.displacement, one.displacement + facts_of(one.kind).bytes);
    std::sort(pieces.begin(), pieces.end());
    for (std::size_t i = 1; i < pieces.size(); ++i)
      if (pieces[i].first < pieces[i - 1].second) return true;
    return false;
  }

  // Mostly small; long ones reach the loops for many and for large blocks.
  std::int64_t some(const limits& within) {
    if (within.empty && once_in(25)) return 0;
    return once_in(6) ? between(10, 150) : between(1, 4);
  }

  type_description any_type(int depth, const limits& within) {
    type_description made;
    if (depth == 0 || once_in(8)) {
      made.kind = kinds[between(0, std::size(kinds) - 1)];
      return made;
    }
    made.made_by = static_cast<constructor>(between(1, 12));
    made.old.push_back(any_type(depth - 1, within));
    const bool dense = once_in(3);  // makes neighbours touch
    switch (made.made_by) {
      case constructor::contiguous:
        made.count = some(within);
        break;
      case constructor::vector:
        made.count = some(within);
        made.block_length = some(within);
        made.stride = dense ? made.block_length : between(-5, 12);
        if (!dense && once_in(2)) made.stride += made.block_length;
        break;
      case constructor::hvector:
        made.count = some(within);
        made.block_length = some(within);
        made.stride = between(-100, 600);
        break;
      case constructor::indexed:
      case constructor::hindexed:
      case constructor::indexed_block:
      case constructor::hindexed_block:
        blocks(made, dense, within);
        break;
      case constructor::structure: {
        const std::int64_t parts = between(1, 5);
        for (std::int64_t i = 1; i < parts; ++i) made.old.push_back(any_type(once_in(2) ? 0 : depth - 1, within));
        std::int64_t place = between(-20, 20);
        for (std::int64_t i = 0; i < parts; ++i) {
          made.lengths.push_back(some(within));
          made.displacements.push_back(place);
          place += dense ? 8 * between(0, 6) : between(-40, 300);
        }
        break;
      }
      case constructor::subarray:
      case constructor::darray:
        array(made);
        break;
      case constructor::resized:
        made.lower_bound = between(-30, 30);
        made.extent = once_in(5) ? between(-60, 0) : between(1, 200);
        break;
      default:
        break;
    }
    return made;
  }

  void blocks(type_description& made, bool dense, const limits& within) {
    const std::int64_t number = once_in(4) ? between(20, 120) : between(within.empty ? 0 : 1, 6);
    const std::int64_t same = some(within);
    const bool block = made.made_by == constructor::indexed_block || made.made_by == constructor::hindexed_block;
    const bool bytes = made.made_by == constructor::hindexed || made.made_by == constructor::hindexed_block;
    made.block_length = same;
    std::int64_t place = between(-5, 5);
    for (std::int64_t i = 0; i < number; ++i) {
      const std::int64_t length = block || dense ? same : some(within);
      made.displacements.push_back(place);
      if (!block) made.lengths.push_back(length);
      place += bytes ? (dense ? 8 * length : between(-50, 200)) : (dense ? length : length + between(-2, 4));
      if (once_in(10)) place += between(-40, 40);
    }
  }

  void array(type_description& made) {
    const std::int64_t dimensions = between(1, 3);
    made.order = once_in(2) ? array_order::c : array_order::fortran;
    for (std::int64_t i = 0; i < dimensions; ++i) {
      const std::int64_t size = between(1, dimensions == 1 ? 40 : 9), part = between(1, size);
      made.sizes.push_back(size);
      made.subsizes.push_back(part);
      made.starts.push_back(between(0, size - part));
      made.distributions.push_back(static_cast<distribution>(between(0, 2)));
      made.grid.push_back(made.distributions.back() == distribution::none ? 1 : between(1, 3));
      made.arguments.push_back(default_argument);
      if (once_in(2)) {
        const std::int64_t least = (size - 1) / made.grid.back() + 1;
        made.arguments.back() =
            made.distributions.back() == distribution::cyclic ? between(1, 4) : least + between(0, 2);
      }
      made.processes *= made.grid.back();
    }
    made.rank = between(0, made.processes - 1);
  }

  std::uint64_t state_;
};

}  // namespace tri::mpi::test_types
