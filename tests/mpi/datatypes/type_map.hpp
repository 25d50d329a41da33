// The type map of a description, entry by entry, as the standard defines it: what every other way to get at the bytes
// of a type is compared with. Shares nothing with src/mpi/datatypes/layout: no loops are kept, nothing is merged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "mpi/datatypes/type_description.hpp"

namespace tri::mpi::test_types {

struct type_map {
  struct entry {
    element_kind kind;
    std::int64_t displacement;
  };
  std::vector<entry> entries = {};
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  bool marked = false;   // bounds set by resized or an array constructor
  bool bounded = false;  // has any
  std::uint32_t alignment = 1;

  std::int64_t extent() const { return upper - lower; }
  std::uint64_t size() const {
    std::uint64_t bytes = 0;
    for (const entry& one : entries) bytes += facts_of(one.kind).bytes;
    return bytes;
  }
  std::int64_t true_lower() const {
    std::int64_t low = entries.empty() ? 0 : std::numeric_limits<std::int64_t>::max();
    for (const entry& one : entries) low = std::min(low, one.displacement);
    return low;
  }
  std::int64_t true_upper() const {
    std::int64_t high = entries.empty() ? 0 : std::numeric_limits<std::int64_t>::min();
    for (const entry& one : entries) high = std::max(high, one.displacement + facts_of(one.kind).bytes);
    return high;
  }

  void append(const type_map& part, std::int64_t displacement) {
    for (const entry& one : part.entries) entries.push_back({one.kind, one.displacement + displacement});
    if (!part.bounded || (marked && !part.marked)) return;
    const std::int64_t low = part.lower + displacement, high = part.upper + displacement;
    const bool fresh = !bounded || (part.marked && !marked);
    lower = fresh ? low : std::min(lower, low);
    upper = fresh ? high : std::max(upper, high);
    bounded = true;
    marked = part.marked;
  }
  void pad() {
    while (!marked && extent() % static_cast<std::int64_t>(alignment) != 0) ++upper;
  }
};

/// The elements of one dimension of a distributed array that a process owns, found by asking each.
inline bool owns(const type_description& array, std::size_t dimension, std::int64_t element) {
  std::int64_t rank = array.rank;
  for (std::size_t i = array.grid.size(); i-- > dimension + 1;) rank /= array.grid[i];
  const std::int64_t own = rank % array.grid[dimension];
  const std::int64_t processes = array.grid[dimension], argument = array.arguments[dimension];
  switch (array.distributions[dimension]) {
    case distribution::none:
      return true;
    case distribution::block:
      return element /
                 (argument == default_argument ? (array.sizes[dimension] + processes - 1) / processes : argument) ==
             own;
    case distribution::cyclic:
      return element / (argument == default_argument ? 1 : argument) % processes == own;
  }
  return false;
}

inline type_map map_of(const type_description& from) {
  type_map made;
  std::vector<type_map> old;
  for (const type_description& part : from.old) {
    old.push_back(map_of(part));
    if (from.made_by != constructor::structure) made.alignment = old.back().alignment;
  }
  const auto block = [&](const type_map& what, std::int64_t length, std::int64_t displacement) {
    for (std::int64_t i = 0; i < length; ++i) made.append(what, displacement + i * what.extent());
  };
  switch (from.made_by) {
    case constructor::basic: {
      const element_facts& facts = facts_of(from.kind);
      made.entries = {{from.kind, 0}};
      made.upper = facts.bytes;
      made.alignment = facts.alignment;
      made.bounded = true;
      return made;
    }
    case constructor::contiguous:
      block(old[0], from.count, 0);
      break;
    case constructor::vector:
      for (std::int64_t i = 0; i < from.count; ++i) block(old[0], from.block_length, i * from.stride * old[0].extent());
      break;
    case constructor::hvector:
      for (std::int64_t i = 0; i < from.count; ++i) block(old[0], from.block_length, i * from.stride);
      break;
    case constructor::indexed:
      for (std::size_t i = 0; i < from.lengths.size(); ++i)
        block(old[0], from.lengths[i], from.displacements[i] * old[0].extent());
      break;
    case constructor::hindexed:
      for (std::size_t i = 0; i < from.lengths.size(); ++i) block(old[0], from.lengths[i], from.displacements[i]);
      break;
    case constructor::indexed_block:
      for (const std::int64_t displacement : from.displacements)
        block(old[0], from.block_length, displacement * old[0].extent());
      break;
    case constructor::hindexed_block:
      for (const std::int64_t displacement : from.displacements) block(old[0], from.block_length, displacement);
      break;
    case constructor::structure:
      for (std::size_t i = 0; i < old.size(); ++i) {
        if (from.lengths[i] > 0) made.alignment = std::max(made.alignment, old[i].alignment);
        block(old[i], from.lengths[i], from.displacements[i]);
      }
      break;
    case constructor::subarray:
    case constructor::darray: {
      // Every element of the whole array in storage order; in it or not.
      const std::size_t dimensions = from.sizes.size();
      const std::size_t fastest = from.order == array_order::fortran ? 0 : dimensions - 1;
      std::vector<std::int64_t> at(dimensions, 0);
      for (std::int64_t element = 0;; ++element) {
        bool inside = true;
        for (std::size_t d = 0; d < dimensions; ++d)
          inside = inside && (from.made_by == constructor::subarray
                                  ? at[d] >= from.starts[d] && at[d] < from.starts[d] + from.subsizes[d]
                                  : owns(from, d, at[d]));
        if (inside) made.append(old[0], element * old[0].extent());
        std::size_t place = 0;
        for (; place < dimensions; ++place) {
          const std::size_t d = fastest == 0 ? place : dimensions - 1 - place;
          if (++at[d] < from.sizes[d]) break;
          at[d] = 0;
        }
        if (place < dimensions) continue;
        made.lower = 0;
        made.upper = (element + 1) * old[0].extent();
        break;
      }
      made.marked = made.bounded = true;
      return made;
    }
    case constructor::resized:
      made = old[0];
      made.lower = from.lower_bound;
      made.upper = from.lower_bound + from.extent;
      made.marked = made.bounded = true;
      return made;
    case constructor::dup:
      return old[0];
  }
  made.pad();
  return made;
}

/// Memory that `count` instances touch, with bytes around them that nobody may touch.
class instance_memory {
 public:
  instance_memory(const type_map& map, std::uint64_t count, std::uint64_t seed) {
    const std::int64_t last = (static_cast<std::int64_t>(count) - 1) * map.extent();
    const std::int64_t low = map.true_lower() + std::min<std::int64_t>(0, last);
    const std::int64_t high = map.true_upper() + std::max<std::int64_t>(0, last);
    constexpr std::int64_t margin = 64;
    bytes_.resize(static_cast<std::size_t>(count == 0 ? 2 * margin : high - low + 2 * margin));
    origin_ = margin - (count == 0 ? 0 : low);
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      bytes_[i] = static_cast<std::byte>(seed >> 56);
    }
  }
  /// The origin of the first instance, which may lie outside.
  void* base() {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(bytes_.data()) +
                                   static_cast<std::uintptr_t>(origin_));
  }
  std::byte& at(std::int64_t displacement) { return bytes_.at(static_cast<std::size_t>(origin_ + displacement)); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::int64_t origin_ = 0;
};

/// Calls action(packed offset, displacement) for every byte of the packed stream.
template <class Action>
void for_each_byte(const type_map& map, std::uint64_t count, Action&& action) {
  std::uint64_t offset = 0;
  for (std::uint64_t instance = 0; instance < count; ++instance)
    for (const type_map::entry& one : map.entries)
      for (std::uint32_t k = 0; k < facts_of(one.kind).bytes; ++k, ++offset)
        action(offset, static_cast<std::int64_t>(instance) * map.extent() + one.displacement + k);
}

inline std::vector<std::byte> pack_naively(const type_map& map, std::uint64_t count, instance_memory& memory) {
  std::vector<std::byte> packed(count * map.size());
  for_each_byte(map, count, [&](std::uint64_t offset, std::int64_t place) { packed[offset] = memory.at(place); });
  return packed;
}

inline void unpack_naively(const type_map& map, std::uint64_t count, std::uint64_t begin, std::uint64_t bytes,
                           const std::byte* packed, instance_memory& memory) {
  for_each_byte(map, count, [&](std::uint64_t offset, std::int64_t place) {
    if (offset >= begin && offset - begin < bytes) memory.at(place) = packed[offset - begin];
  });
}

}  // namespace tri::mpi::test_types
