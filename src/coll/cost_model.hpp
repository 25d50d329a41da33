// The cost model of plans: messages, bytes and rounds are counted; time is virtual (virtual_host.hpp), with the
// parameters of cost_parameters.hpp. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/cost_parameters.hpp"
#include "coll/plan.hpp"
#include "coll/request.hpp"

namespace tri::coll {

struct traffic {
  std::uint64_t messages = 0;  ///< sent
  std::uint64_t bytes = 0;     ///< of these
  std::uint64_t received = 0;  ///< bytes
  bool operator==(const traffic&) const = default;
};

/// Counted, not timed.
struct plan_counts {
  std::uint32_t rounds = 0;        ///< in which messages go between hosts
  traffic between_hosts;           ///< of all ranks
  traffic inside_hosts;            ///< as messages
  std::uint64_t copied_bytes = 0;  ///< inside hosts
  std::uint64_t reduced_bytes = 0;
  std::vector<traffic> of_hosts;  ///< between hosts
  std::vector<traffic> of_ranks;
};

plan_counts count_of(const request& asked, std::span<const plan> plans);

struct timed_step {
  std::int32_t rank = 0;
  std::uint32_t index = 0;
  double begin = 0.0;  ///< when it could begin, and a wait or receive was over if it was at once
  double end = 0.0;
};

struct plan_cost {
  double time = 0.0;
  std::vector<double> of_ranks;                ///< when the plan of each rank has ended
  std::vector<timed_step> critical_path;       ///< each is what the next waited for; the last ends at `time`
  std::vector<std::vector<timed_step>> steps;  ///< of each rank
};

/// Throws std::invalid_argument for plans that block; the checker says where.
plan_cost cost_of(const request& asked, std::span<const plan> plans, const cost_parameters& costs);

struct algorithm_cost {
  const algorithm* by = nullptr;
  double time = 0.0;
};
/// All that suit, the cheapest first; equals in the order of the table.
std::vector<algorithm_cost> compare(const request& asked, const cost_parameters& costs);

}  // namespace tri::coll
