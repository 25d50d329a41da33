// Snapshots that no program measured, from a seed: for tests, for comparing strategies, and for machines that are not
// there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/detail/balance/snapshot.hpp"

namespace tri::balancing {

struct snapshot_wish {
  enum class kind : std::uint8_t {
    random,   ///< loads that differ by a factor of 1 to 9, objects on any PE
    patches,  ///< a grid of patches in blocks on the PEs, one corner of it four times as heavy
    droplet,  ///< the same grid, almost all work in a ball in its middle
  };
  kind what = kind::random;
  std::int64_t objects = 1000;
  std::int32_t pes = 8;
  std::int32_t hosts = 1;
  std::int32_t numa_nodes = 1;  ///< of each host
  double immovable = 0.0;       ///< part of the objects
  double uneven_speeds = 0.0;   ///< PEs are up to this part faster or slower
  double background = 0.0;      ///< of PEs, up to this part of the mean load
  std::uint64_t seed = 1;
};

/// "random,objects=100000,pes=4096,seed=1": a kind, and values of what is in snapshot_wish. Throws
/// std::invalid_argument with what is wrong.
snapshot_wish wish_from(std::string_view text);
/// The names that wish_from() knows, for help.
std::string names_of_wishes();

/// The same wish gives the same snapshot on every machine. Each object talks to its neighbours in space.
snapshot make_snapshot(const snapshot_wish& wish);

}  // namespace tri::balancing
