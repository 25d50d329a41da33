// The plans of one collective on all ranks, with what they cost, as a table, as JSON, as a picture. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/cost_model.hpp"
#include "coll/request.hpp"

namespace tri::tools {

struct plan_report {
  coll::request asked;
  const coll::algorithm* by = nullptr;
  coll::cost_parameters costs;
  std::vector<coll::plan> plans;
  coll::plan_counts counts;
  coll::plan_cost cost;
  std::vector<coll::algorithm_cost> others;  ///< to list: all that suit, cheapest first; or none
  std::string proof;                         ///< what the checker said: a sentence
  std::string origin_of_costs;               ///< what they are and where they are from: a line
};

/// The checker's work grows faster than the plans: beyond this many steps it is not asked.
inline constexpr std::size_t most_proven_steps = 100'000;

plan_report report_of(const coll::request& asked, const coll::algorithm& by, const coll::cost_parameters& costs,
                      std::vector<coll::algorithm_cost> others, std::string origin_of_costs);

/// "allgather of 8 bytes".
std::string title_of(const coll::request& asked);
/// The same with hosts, ranks and algorithm: the first two lines of a report.
std::string heading_of(const coll::request& asked, const coll::algorithm& by);
std::string bytes_text(std::uint64_t bytes);

/// `rank`: whose steps are listed.
std::string table_of(const plan_report& report, int rank);
nlohmann::json to_json(const plan_report& report);

/// Rows of more ranks than this do not fit a picture.
inline constexpr int most_drawn_ranks = 128;
/// A row for each rank, steps over virtual time, lines for messages; the critical path is framed.
std::string to_svg(const plan_report& report);

}  // namespace tri::tools
