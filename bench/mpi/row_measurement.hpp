// What the rows of the suites `mpi` and `coll` have in common: a row is one series of a comparison, ours beside the
// best peer's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/suite.hpp"
#include "mpi/comparison.hpp"

namespace tri::bench {

struct mpi_row {
  std::string name;  // behind mpi/{abi}/
  mpi_task task;
  std::string series;
  std::string unit;
  std::string description;
  std::optional<double> target = {};
  std::optional<double> target_ratio = {};    // to the best peer
  std::map<std::string, double> counts = {};  // of an operation
};

std::vector<double> all_rounds(const std::vector<std::vector<double>>& rounds);
/// Of a sample in nanoseconds, or in percent.
double in_unit(double sample, const std::string& unit);
bool higher_is_better(const std::string& unit);
/// Of the medians of each round.
std::vector<double> ratios(const std::vector<std::vector<double>>& of, const std::vector<std::vector<double>>& to);

/// A measurement with the peers and the best of them; the caller adds our own figure.
struct field {
  measurement made;
  std::string best;
};
field peers_of(const mpi_result& result, const std::string& own, const std::string& series, const std::string& unit,
               bool higher);

/// Throws when our own program failed; without one, `made` says why and it returns false.
bool have(mpi_comparison& libraries, const mpi_result& result, const std::string& own, measurement& made);

measurement measure_row(mpi_comparison& libraries, const std::string& abi, const mpi_row& about);
row_definition row_of(const std::string& suite, const std::string& abi, const mpi_row& about,
                      std::function<mpi_comparison&(context&)> comparison);

/// One for all rows of a suite, made with the first row that is measured, so that listing the rows starts nothing.
std::function<mpi_comparison&(context&)> shared_comparison(const std::string& program);

}  // namespace tri::bench
