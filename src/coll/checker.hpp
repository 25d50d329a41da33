// Proves that the plans of all ranks together are a right collective, or says what is wrong with them.
//
// Shown, for all interleavings and whether messages are eager or a rendezvous:
// - Every message has one send and one receive of the same size.
// - Nothing blocks.
// - Every byte of every output has what the request promises. Of a reduction: each contribution once, and in rank
//   order where the operation is not commutative. No byte is delivered to an output twice.
// - Nothing is read before it is written; what one step writes, no step that is unordered to it reads or writes.
// - Inputs are not written. Input and output of a rank are touched by others only between its first step and its last.
// - A barrier: no rank leaves before all have come.
//
// How, and why one run is enough, is said in checker.cpp.
#pragma once

#include <span>
#include <string>

#include "coll/plan.hpp"
#include "coll/request.hpp"

namespace tri::coll {

/// Empty if the plans are right; else the first thing that is wrong, with rank and step. One plan for each rank.
std::string problem_of(const request& asked, std::span<const plan> plans);

}  // namespace tri::coll
