// All elements at once: broadcast with reduction, and quiescence.
#include <stdexcept>
#include <vector>

#include "messages/pes.hpp"
#include "messages/rows.hpp"
#include "os/clock.hpp"

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

// Reductions while PEs compute (Mei, PhD dissertation, UIUC 2012, section 6.4.2): each operation starts one and then
// gives every PE two computations. Measured is the time until the callback runs on PE 0.
constexpr double computation_us = 2000;

struct calculator : tri::array_element<calculator, tri::index<1>> {
  std::uint64_t heard_ticks = 0;
  void give(bool at_once, tri::callback<int> target) {
    if (at_once)
      contribute(1, tri::immediately(tri::sum), target);
    else
      contribute(1, tri::sum, target);
  }
  void compute() {
    const std::uint64_t end = tri::os::ticks() + tri::os::ns_to_ticks(computation_us * 1000);
    while (tri::os::ticks() < end) {
    }
  }
  void hear(int) { heard_ticks = tri::os::ticks(); }
};

template <bool AtOnce>
measurement reduce_beside_computations(context& tools) {
  const auto calculators = tri::make_array<calculator>({tri::pe_count()}, tri::round_robin());
  // One operation in each batch, whatever its size: it takes the same time when the callback comes at once, and batches
  // that were calibrated by such a one would be far too long.
  return {.samples = tools.runner().collect([&](std::uint64_t rounds) {
    const std::uint64_t begin = tri::os::ticks();
    calculators.broadcast<&calculator::give>(AtOnce, tri::to<&calculator::hear>(calculators(0)));
    for (int computation = 0; computation < 2; ++computation)
      for (int pe = 0; pe < tri::pe_count(); ++pe) calculators(pe).send<&calculator::compute>();
    tri::quiescence().get();
    const double elapsed_ns = tri::os::ticks_to_ns(calculators(0).local()->heard_ticks - begin);
    return batch_result{.elapsed_ns = elapsed_ns * static_cast<double>(rounds)};
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
      {.name = "reduction/busy/queued",
       .unit = "us",
       .description =
           "until the callback of contributions runs, while each of two threads has two methods of 2 ms to run",
       .measure = reduce_beside_computations<false>,
       .launch = two_threads},
      {.name = "reduction/busy/immediate",
       .unit = "us",
       .description = "the same with tri::immediately(tri::sum)",
       .measure = reduce_beside_computations<true>,
       .launch = two_threads},
      {.name = "quiescence/idle",
       .unit = "us",
       .description = "detected that nothing is in flight on two threads",
       .measure = find_quiescence,
       .launch = two_threads},
      {.name = "quiescence/idle/processes",
       .unit = "us",
       .description = "detected that nothing is in flight in two processes",
       .measure = find_quiescence,
       .launch = two_processes},
  };
}

}  // namespace tri::bench
