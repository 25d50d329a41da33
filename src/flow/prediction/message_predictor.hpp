// Predicts whole messages - buffer address, size and sender together (FA-06; Farreras 2008, chapter 3, where the three
// are combined with weights). Here each distinct message gets a number, and the number is predicted: the predictors
// need only equality, and all three are right or none.
//
// Bounded: `distinct` messages have numbers; a new one takes the least recently used number. `distinct` is more than
// the longest period, so no number changes its meaning while a detector can still compare with it. The graph may keep
// an old number in one of its edges: that prediction is wrong, which is allowed. One thread at a time; no allocation
// after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "flow/prediction/graph_predictor.hpp"
#include "flow/prediction/period_predictor.hpp"
#include "flow/prediction/recent_table.hpp"

namespace tri::flow::prediction {

struct message_facts {
  std::uint64_t address = 0;  // of the buffer; 0 where that is not to be predicted
  std::uint64_t size = 0;     // bytes
  std::uint32_t sender = 0;
  bool operator==(const message_facts&) const = default;
};

enum class predictor_kind { dpd, shortdpd, early, graph };

// "dpd", "shortdpd", "early", "graph"; throws std::invalid_argument naming all four.
predictor_kind predictor_kind_of(std::string_view name);
std::string_view name_of(predictor_kind kind);

struct prediction_options {
  predictor_kind kind = predictor_kind::early;
  int window = 256;             // values that must repeat before a period is certain
  int longest_period = 256;     // at most window
  std::size_t distinct = 1024;  // different messages with a number; more than longest_period
  std::size_t graph_states = 1024;
};

class message_predictor {
 public:
  // std::invalid_argument, naming the value, for options that cannot work.
  explicit message_predictor(const prediction_options& options);

  void push(const message_facts& message);
  std::optional<message_facts> next(int ahead) const;  // from 1; nothing without a prediction

  const period_predictor* period() const { return std::get_if<period_predictor>(&predictor_); }
  std::size_t memory_bytes() const;

 private:
  struct facts_hash {
    std::size_t operator()(const message_facts& message) const;
  };

  recent_table<message_facts, facts_hash> numbers_;
  std::variant<period_predictor, graph_predictor> predictor_;
};

}  // namespace tri::flow::prediction
