// The library METIS, loaded when it is first used: what links this layer does not need it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "balance/traffic_graph.hpp"

namespace tri::balancing {

/// The part of each object, from 0 on: part i gets shares[i] of the work, which add up to 1, but for `tolerance`; the
/// cut has little weight. Throws std::runtime_error with the reason where METIS cannot be used, or fails. One thread at
/// a time: METIS draws from the random numbers of the C library.
std::vector<std::int32_t> metis_parts(const traffic_graph& graph, std::span<const double> works,
                                      const std::vector<double>& shares, double tolerance, std::uint64_t seed);

/// Empty where METIS can be used, else why not.
const char* why_no_metis();

}  // namespace tri::balancing
