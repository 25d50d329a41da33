// The table of algorithms that can be chosen by name, and the one way to make a plan. To add one: write a generator
// (generators.hpp), add its row to the table in algorithms.cpp; the tests of the checker take it from there.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "coll/plan.hpp"
#include "coll/request.hpp"

namespace tri::coll {

class plan_builder;

/// Which ranks take part in the traffic between hosts.
enum class participation : std::uint8_t {
  every_rank,  ///< of each host as many as the smallest host has: radix P + 1
  leaders,     ///< one of each host: radix 2
  flat,        ///< hosts are not seen: each rank for itself, by messages to its host too
};

struct algorithm {
  std::string_view name;
  collective what = collective::barrier;
  participation participants = participation::flat;
  bool commutative_only = false;
  bool not_in_place = false;
  std::string_view summary;
  void (*write)(plan_builder& to, int senders) = nullptr;

  bool suits(const request& asked) const {
    return what == asked.what && (asked.commutative || !commutative_only) && !(asked.in_place && not_in_place);
  }
};

/// So many pieces go along a chain of hosts at most.
inline constexpr int most_chain_pieces = 64;
/// Rounds of messages are numbered below this in every plan. Of a flat algorithm: for ranks in the place of hosts.
constexpr int most_rounds(int hosts) { return 2 * hosts + most_chain_pieces; }

std::span<const algorithm> all_algorithms();
/// Those that give a right result, in the order of the table.
std::vector<const algorithm*> algorithms_for(const request& asked);
/// Throws std::invalid_argument with the names that there are, or why this one does not do it.
const algorithm& algorithm_of(const request& asked, std::string_view name);

/// The steps of one rank; a pure function of its arguments. `asked` must have passed its check().
plan generate(const algorithm& by, const request& asked, int rank);
/// How many steps generate() would write; of plans that would not fit into memory too.
std::uint64_t count_steps(const algorithm& by, const request& asked, int rank);
std::vector<plan> generate_all(const algorithm& by, const request& asked);

}  // namespace tri::coll
