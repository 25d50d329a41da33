// The loads of a balancing step in the trace of PE 0, which knows them: of each PE, before and as expected afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "objects/balance/balancer.hpp"
#include "objects/balance/load_snapshot.hpp"
#include "trace/recorder.hpp"

namespace tri::objects {

struct pe_expectation {
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;  ///< if loads stay as they were
};
/// By PE. Pure.
std::vector<pe_expectation> expected_loads(const named_snapshot& taken,
                                           const std::vector<balancer::actions::orders_of_pe>& orders);

void trace_balancing(trace::recorder& row, std::uint32_t step, const named_snapshot& taken,
                     const std::vector<balancer::actions::orders_of_pe>& orders);

}  // namespace tri::objects
