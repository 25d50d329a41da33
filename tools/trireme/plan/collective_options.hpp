// The collective operation that a command line describes: which one, on which hosts and ranks, with how many bytes, and
// what messages cost.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coll/cost_parameters.hpp"
#include "coll/request.hpp"

namespace tri::tools {

class collective_options {
 public:
  /// Up to so many ranks, all together. `without_algorithm`: what is said of a command line that names none.
  void add_to(CLI::App& app, std::int64_t most_hosts, std::int64_t most_ranks, const std::string& without_algorithm);

  /// Both throw std::invalid_argument with the option, its value and what would be right.
  coll::request request() const;
  /// The values of the tuning file, if one is named, and of the options that are given.
  coll::cost_parameters costs() const;
  /// Where they are from, and the most important ones: a line.
  std::string origin_of_costs() const;

  std::string algorithm;

 private:
  coll::shape shape_of_job() const;

  std::int64_t most_ranks_ = 0;
  std::string collective_;
  int hosts_ = 0;
  std::vector<int> ranks_{1};
  std::uint64_t size_ = 8;
  const CLI::Option* size_option_ = nullptr;  // of the app
  std::uint32_t element_ = 1;
  int root_ = 0;
  bool ordered_ = false;
  bool in_place_ = false;
  std::string tune_file_;
  std::optional<std::string> latency_, overhead_, gap_;
  std::optional<double> bandwidth_;
};

/// A duration of this option; what is wrong names it.
double length_of(const char* option, const std::string& text);

}  // namespace tri::tools
