// All elements at once: broadcast with reduction, and quiescence.
#include <stdexcept>
#include <vector>

#include "messages/pes.hpp"
#include "messages/rows.hpp"

namespace tri::bench {
namespace {

struct voter : tri::array_element<voter, tri::index<1>> {
  int vote(int value) { return value; }
};
struct member : tri::group_member<member> {
  int vote(int value) { return value; }
};

template <int Elements>
measurement broadcast_and_reduce(context& tools) {
  const auto voters = tri::make_array<voter>({Elements});
  return {.samples = time_beside_handoff(tools.runner(), [&](std::uint64_t rounds) {
            for (std::uint64_t i = 0; i < rounds; ++i) {
              if (voters.reduce<&voter::vote>(tri::sum, 2).get() != 2 * Elements) {
                throw std::logic_error("broadcast_reduction: the sum is wrong");
              }
            }
          })};
}

measurement group_broadcast_and_reduce(context& tools) {
  const auto members = tri::make_group<member>();
  return {.samples = time_beside_handoff(tools.runner(), [&](std::uint64_t rounds) {
            for (std::uint64_t i = 0; i < rounds; ++i) {
              if (members.reduce<&member::vote>(tri::sum, 2).get() != 2 * tri::pe_count()) {
                throw std::logic_error("broadcast_reduction: the sum is wrong");
              }
            }
          })};
}

measurement find_quiescence(context& tools) {
  return {.samples = time_beside_handoff(tools.runner(), [](std::uint64_t rounds) {
            for (std::uint64_t i = 0; i < rounds; ++i) tri::quiescence().get();
          })};
}

}  // namespace

std::vector<row_definition> collective_rows() {
  return {
      {.name = "broadcast_reduction/1000",
       .unit = "us",
       .target = 20,
       .handoffs = 2,
       .description = "a method of 1,000 elements on two threads called, its results summed up",
       .measure = broadcast_and_reduce<1000>,
       .launch = two_threads},
      {.name = "broadcast_reduction/1000/processes",
       .unit = "us",
       .target = 20,
       .handoffs = 2,
       .description = "the same on two processes",
       .measure = broadcast_and_reduce<1000>,
       .launch = two_processes},
      {.name = "broadcast_reduction/group",
       .unit = "us",
       .handoffs = 2,
       .description = "the same for a group: one member on each of two threads",
       .measure = group_broadcast_and_reduce,
       .launch = two_threads},
      {.name = "quiescence/idle",
       .unit = "us",
       .description = "found out that nothing is under way on two threads",
       .measure = find_quiescence,
       .launch = two_threads},
      {.name = "quiescence/idle/processes",
       .unit = "us",
       .description = "found out that nothing is under way in two processes",
       .measure = find_quiescence,
       .launch = two_processes},
  };
}

}  // namespace tri::bench
