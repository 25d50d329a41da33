// How often predictions are correct (FA-08): the evaluation of Farreras 2008, chapter 3. At each message the next ones
// are predicted; a prediction is right when buffer, size and sender are all right, and a missing one counts as wrong,
// so the cost of learning is part of the figure.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/prediction/message_predictor.hpp"
#include "sim/stream_generator.hpp"

namespace tri::sim {

inline constexpr std::array<int, 6> lookaheads{1, 2, 3, 4, 5, 10};

struct accuracy {
  std::array<std::uint64_t, lookaheads.size()> tried{};
  std::array<std::uint64_t, lookaheads.size()> right{};
  // Of the predictions for lookaheads[index], 0 to 1.
  double rate(std::size_t index) const {
    return tried[index] == 0 ? 0 : static_cast<double>(right[index]) / static_cast<double>(tried[index]);
  }
};

// Only messages of more than `larger_than` bytes are counted; the predictor sees all.
accuracy measure(const flow::prediction::prediction_options& options,
                 std::span<const flow::prediction::message_facts> stream, std::uint64_t larger_than = 0);

struct accuracy_row {
  std::string_view program;
  int processes = 0;
  bool logical = true;
  flow::prediction::predictor_kind kind = flow::prediction::predictor_kind::dpd;
  accuracy result;
};

// Every known stream in both orders under every predictor; `options.kind` does not matter.
std::vector<accuracy_row> accuracy_report(flow::prediction::prediction_options options, std::uint64_t seed);

// One line per row: percentages for +1 to +5 and +10.
std::string text_of(std::span<const accuracy_row> rows);

}  // namespace tri::sim
