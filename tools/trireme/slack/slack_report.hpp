// How long each PE waits in collective operations, with an interpretation. Pure functions; times in nanoseconds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace tri::tools {

/// The waits of every PE in one kind of operation, by round.
struct operation_waits {
  std::string operation;
  std::vector<std::vector<double>> of_pe;
};

struct pe_slack {
  double mean = 0.0;
  double median = 0.0;
  double largest = 0.0;
  double deviation = 0.0;  ///< from round to round
};

struct operation_slack {
  std::string operation;
  std::vector<pe_slack> pes;
  double largest = 0.0;           ///< of the means of the PEs
  double mean = 0.0;              ///< of these means
  double deviation_across = 0.0;  ///< of these means
  double deviation_within = 0.0;  ///< of the PEs from round to round, their mean
};

/// Throws std::invalid_argument when a PE has no waits.
std::vector<operation_slack> slack_of(std::span<const operation_waits> waits);

std::string to_text(std::span<const operation_slack> operations);
nlohmann::json to_json(std::span<const operation_slack> operations);

}  // namespace tri::tools
