#include "sim/accuracy.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace tri::sim {

accuracy measure(const flow::prediction::prediction_options& options,
                 std::span<const flow::prediction::message_facts> stream, std::uint64_t larger_than) {
  accuracy result;
  flow::prediction::message_predictor predictor(options);
  for (std::size_t at = 0; at < stream.size(); ++at) {
    predictor.push(stream[at]);
    for (std::size_t i = 0; i < lookaheads.size(); ++i) {
      const std::size_t target = at + static_cast<std::size_t>(lookaheads[i]);
      if (target >= stream.size() || stream[target].size <= larger_than) continue;
      ++result.tried[i];
      if (predictor.next(lookaheads[i]) == stream[target]) ++result.right[i];
    }
  }
  return result;
}

std::vector<accuracy_row> accuracy_report(flow::prediction::prediction_options options, std::uint64_t seed) {
  std::vector<accuracy_row> rows;
  for (const stream_shape& shape : known_streams()) {
    const generated_stream stream = generate(shape, seed);
    for (const bool logical : {true, false}) {
      for (const auto kind : {flow::prediction::predictor_kind::dpd, flow::prediction::predictor_kind::shortdpd,
                              flow::prediction::predictor_kind::early, flow::prediction::predictor_kind::graph}) {
        options.kind = kind;
        rows.push_back({shape.program, shape.processes, logical, kind,
                        measure(options, logical ? stream.logical : stream.physical)});
      }
    }
  }
  return rows;
}

std::string text_of(std::span<const accuracy_row> rows) {
  std::string text = "stream  order     predictor ";
  for (const int ahead : lookaheads) text += fmt::format("{:>7}", fmt::format("+{}", ahead));
  text += "   % right of all three: buffer, size, sender\n";
  for (const accuracy_row& row : rows) {
    text += fmt::format("{:<7} {:<9} {:<10}", fmt::format("{}.{}", row.program, row.processes),
                        row.logical ? "logical" : "physical", name_of(row.kind));
    for (std::size_t i = 0; i < lookaheads.size(); ++i) text += fmt::format("{:7.1f}", 100 * row.result.rate(i));
    text += '\n';
  }
  return text;
}

}  // namespace tri::sim
