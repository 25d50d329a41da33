// What the elements that migrate have in common: they do so only between two phases of a run, when the main program
// lets them, because patches and pairs of a PE know each other by pointers meanwhile.
#pragma once

#include "md/parallel/world.hpp"

namespace md {

/// Where the element is in the box, and whether it may move now: for tri::balance().
inline void describe_object(tri::load_description& load, const vec3& place, bool may_move) {
  load.coordinates(place);
  if (!may_move) load.stays();
}

/// A PE at random, the same for the same arguments.
inline int scattered_pe(std::int64_t round, std::uint64_t collection, std::uint64_t element) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL * (element + 1) + 0xbf58476d1ce4e5b9ULL * (collection + 1) +
                       0x94d049bb133111ebULL * (static_cast<std::uint64_t>(round) + 1);
  hash ^= hash >> 31;
  hash *= 0xd6e8feb86659fd93ULL;
  hash ^= hash >> 32;
  return static_cast<int>(hash % static_cast<std::uint64_t>(tri::pe_count()));
}

}  // namespace md
