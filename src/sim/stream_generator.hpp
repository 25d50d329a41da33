// Streams of received messages like those of the NAS benchmarks, class A, by the figures that Farreras 2008 (chapter 3,
// tables of messages, buffers, sizes, senders and pattern lengths) gives for each program and number of processes
// (FA-07). The figures are met exactly; the inside of a pattern is drawn from a seed, except where the thesis gives it:
// LU is a long run of equal small messages and a large one, IS receives from all others in each of its iterations.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "flow/prediction/message_predictor.hpp"

namespace tri::sim {

struct stream_shape {
  std::string_view program;
  int processes;
  int messages;  // received by one process, collective ones included
  int prologue;  // of them before the first pattern
  int epilogue;  // and after the last
  int pattern;   // length
  int buffers;   // different addresses, sizes and senders in the whole stream
  int sizes;
  int senders;
  // How many messages of a thousand are late on the wire, and by how many messages at most. Not in the thesis, which
  // only says that the order of arrival is nearly that of the program for LU, less so for BT, and not at all for IS.
  int late_per_thousand;
  int latest;
};

// BT, CG, LU, IS, SP. Not FT, two of whose four rows repeat those of SP, nor Sweep3D, whose pattern is not given.
std::span<const stream_shape> known_streams();
// Throws std::invalid_argument, naming what there is.
const stream_shape& known_stream(std::string_view program, int processes);

struct generated_stream {
  std::vector<flow::prediction::message_facts> pattern;
  std::vector<flow::prediction::message_facts> logical;  // in the order of the program's receives
  std::vector<flow::prediction::message_facts>
      physical;  // in the order of arrival: the same messages, each sender's in the same order
};

generated_stream generate(const stream_shape& shape, std::uint64_t seed);

}  // namespace tri::sim
