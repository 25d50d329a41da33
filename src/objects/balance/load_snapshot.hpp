// The parts of all PEs as one snapshot for a strategy, and the names of its objects.
#pragma once

#include <cstdint>
#include <vector>

#include "objects/balance/load_part.hpp"
#include "trireme/detail/balance/snapshot.hpp"

namespace tri::objects {

struct named_snapshot {
  balancing::snapshot loads;
  std::vector<element_name> names;  ///< of the objects, by index
};

/// `parts` of all PEs, or of those of a host, in any order. Rates become speeds relative to `usual_rate` (0: their
/// median), where they differ from it by more than a tenth; `given_speeds` of these PEs, if there are any, replace
/// them. Traffic with elements that are in no part (on their way, or deleted) is left out. Coordinates are left out
/// unless all elements that can migrate have as many. Throws std::logic_error for a part that no PE would send.
named_snapshot snapshot_of(std::vector<load_part> parts, const std::vector<double>& given_speeds,
                           double usual_rate = 0.0);

/// Of an odd number of values the middle one, otherwise the upper of the two.
double median_of(std::vector<double> values);
/// The speeds of PEs of these rates, relative to `usual`: 1 for all that are within `noise` of it.
std::vector<double> speeds_of(const std::vector<double>& rates, double usual, double noise = 0.1);

}  // namespace tri::objects
