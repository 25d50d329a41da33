// From a comparison to the measurement of a row: its figure, its peers, and its reference.
#pragma once

#include <string>
#include <vector>

#include "framework/suite.hpp"
#include "loops/comparison.hpp"

namespace tri::bench {

std::string joined(const std::vector<std::string>& lines);

// The figure of `main`, the others as its peers, the best of them, and those that left the loop to one thread. `scale`:
// from nanoseconds of a loop to nanoseconds of the row's subject. `others_only`: our other schedules are not the best.
measurement measurement_of(const comparison_result& result, const std::string& main, double scale,
                           const std::string& unit, const std::vector<std::string>& notes, bool others_only);

// Judged by the ratio to `reference`, whose figure times `factor` is the basis of comparison.
void judge_by(measurement& made, const comparison_result& result, const std::string& main, const std::string& reference,
              double factor, const std::string& name);

// Judged by the ratio to the best peer.
void judge_by_best_peer(measurement& made);

}  // namespace tri::bench
