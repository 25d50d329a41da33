// The cost model of plans: messages, bytes and rounds are counted; time is virtual, by LogGP between hosts, with
// copies, reductions and signals inside them. Deterministic.
//
// A message of k bytes between hosts: its sender is busy for o, and sends the next one g after the beginning of this
// one at the earliest; the bytes leave the host one message after the other, G each; they arrive L later, through the
// other host's link likewise; the receiver is busy for o. So g is of a rank and G of a host: many ranks send more
// messages at once, but no more bytes. A message inside a host takes L of the host and a copy by its receiver.
//
// Source: Alexandrov et al. 1995 (LogGP). Sends are eager, receives and waits cost nothing until what they wait for is
// there.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/plan.hpp"
#include "coll/request.hpp"

namespace tri::coll {

/// Times in nanoseconds.
struct cost_parameters {
  double latency = 10'000.0;    ///< L, between hosts
  double overhead = 500.0;      ///< o, of sender and receiver each
  double gap = 1'000.0;         ///< g, between the messages of one rank
  double per_byte = 0.1;        ///< G, of the link of a host
  double host_latency = 300.0;  ///< of a message inside a host
  double signal = 100.0;        ///< until a signal is seen
  double copy_start = 30.0;     ///< of a copy or reduction
  double copy_per_byte = 0.1;
  double reduce_per_byte = 0.2;
};

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
