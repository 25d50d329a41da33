// What a load balancing did, as a line for --tri-balance-report.
#pragma once

#include <cstdint>
#include <string>

#include "trireme/detail/objects/balance_call.hpp"

namespace tri::objects {

/// `number` of the balancing in this job, from 1. `is_refused`: the strategy's moves were dropped because the PE that
/// takes longest would have taken longer. Pure.
std::string balance_line(std::uint32_t number, const balance_report& report, bool is_refused);

}  // namespace tri::objects
