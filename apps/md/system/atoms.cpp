// See atoms.hpp.
#include "md/system/atoms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace md {

atom_system replicate(const atom_system& system, const int3& times) {
  if (std::min({times[0], times[1], times[2]}) < 1) {
    throw std::invalid_argument(
        fmt::format("replicate {} {} {}: each count must be at least 1", times[0], times[1], times[2]));
  }
  if (times == int3{1, 1, 1}) return system;
  atom_system result{system.box, system.masses, system.types, {}};
  std::int64_t largest_id = 0;
  for (const atom_record& atom : system.atoms) largest_id = std::max(largest_id, atom.id);
  for (std::size_t d = 0; d < 3; ++d) {
    result.box.high[d] = system.box.low[d] + times[d] * system.box.length(d);
  }
  result.atoms.reserve(system.atoms.size() * static_cast<std::size_t>(times[0]) * static_cast<std::size_t>(times[1]) *
                       static_cast<std::size_t>(times[2]));
  std::int64_t copy = 0;
  for (int x = 0; x < times[0]; ++x) {
    for (int y = 0; y < times[1]; ++y) {
      for (int z = 0; z < times[2]; ++z, ++copy) {
        const vec3 shift = {x * system.box.length(0), y * system.box.length(1), z * system.box.length(2)};
        for (atom_record atom : system.atoms) {
          // Images count lengths of the old box; only wrapped positions can be repeated.
          system.box.wrap(atom.position, atom.image);
          atom.image = {};
          for (std::size_t d = 0; d < 3; ++d) atom.position[d] += shift[d];
          atom.id += copy * largest_id;
          result.atoms.push_back(atom);
        }
      }
    }
  }
  return result;
}

}  // namespace md
