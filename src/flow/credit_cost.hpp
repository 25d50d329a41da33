// The cost of a message sent on credit in the receiver's pool until it is delivered: its record and its data, in whole
// cache lines (prediction::buffer_bytes). The same on both sides.
#pragma once

#include <cstdint>

#include "flow/receive_queues.hpp"

namespace tri::flow {

constexpr std::uint64_t credit_cost(std::uint64_t bytes) { return record_bytes + bytes; }

}  // namespace tri::flow
