// Two ways to bring objects into bins, which strategies are made of.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trireme/detail/balance/loads.hpp"

namespace tri::balancing {

/// Largest processing time first (Graham 1969), for bins of different speeds: each object to the bin of `into` where it
/// ends soonest; of equals to `preferred[object]`, where that is among them (empty: no preference). The
/// objects are in no bin.
void fill_greedily(load_bins& bins, std::vector<std::uint32_t> objects, std::span<const std::int32_t> into,
                   std::span<const std::int32_t> preferred, const std::function<void(double)>& progress = {});

/// Moves and exchanges objects among the bins of `among` until none is more than `tolerance` above their level, or
/// nothing helps. Each step makes the longer of two times shorter, so no bin ends later than the latest did before.
void refine(load_bins& bins, std::span<const std::int32_t> among, double tolerance);

}  // namespace tri::balancing
