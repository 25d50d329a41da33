// Received messages in two orders (Farreras 2008, chapter 3): logical, in which the program receives them, and
// physical, in which they arrive. For each PE and mailbox; methods of objects run in the order of arrival, so they have
// one order only, and count as physical.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flow/prediction/message_predictor.hpp"
#include "trace/trace_folder.hpp"

namespace tri::tools {

struct received {
  std::uint32_t sender = 0;
  std::uint64_t bytes = 0;
  std::int64_t tag = 0;  // of methods: the handler
  bool operator==(const received&) const = default;
};

struct receive_stream {
  int pe = 0;
  std::uint32_t mailbox = 0;  // 0: methods
  std::vector<received> logical;
  std::vector<received> physical;
  /// How many messages are at another position in the one order than in the other.
  std::size_t displaced() const;
};

std::vector<receive_stream> streams_of(const trace_folder& trace);

/// A line per stream with how much the orders differ.
std::string text_of_orders(const trace_folder& trace, const std::vector<receive_stream>& streams);
/// How often each stream's next messages (+1 to +5: their sender and size) are predicted, by each predictor.
std::string text_of_prediction(const trace_folder& trace, const std::vector<receive_stream>& streams,
                               const flow::prediction::prediction_options& options);
/// Comma-separated: PE, mailbox, level, position, sender, bytes, tag.
std::string streams_as_csv(const std::vector<receive_stream>& streams);

}  // namespace tri::tools
