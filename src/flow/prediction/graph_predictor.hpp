// The second predictor of Farreras 2008, chapter 3 (FA-05): a state is the last three values, an edge counts how often
// a value followed it, a prediction follows the edge with the highest count. Much cheaper than a period, but blind to
// anything more than three values back: a rare value behind a long run of equal ones is never predicted.
//
// Bounded: the most recent states are kept, and of each the four most frequent edges. Ties go to the value seen later.
// One thread at a time; no allocation after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/prediction/recent_table.hpp"
#include "flow/prediction/symbol.hpp"

namespace tri::flow::prediction {

class graph_predictor {
 public:
  static constexpr int edges_per_state = 4;
  static constexpr std::uint16_t highest_count = 0xffff;

  explicit graph_predictor(std::size_t states) : states_(states), edges_(states) {}

  void push(symbol value);

  // The value `ahead` (from 1) values after the newest: `ahead` steps along the strongest edges. Nothing where the walk
  // reaches a state that was never left.
  std::optional<symbol> next(int ahead) const;

  std::size_t states() const { return states_.size(); }
  std::size_t memory_bytes() const { return states_.memory_bytes() + edges_.size() * sizeof(state_edges); }

 private:
  using state = std::uint64_t;  // the last three values in 48 bits, the newest lowest
  static constexpr state after(state before, symbol value) { return (before << 16U | value) & 0xffff'ffff'ffffU; }

  struct state_hash {
    std::size_t operator()(state it) const { return static_cast<std::size_t>((it * 0x9e3779b97f4a7c15U) >> 32U); }
  };
  struct edge {
    symbol to = 0;
    std::uint16_t count = 0;
  };
  // Sorted: higher counts first, of equal counts the one followed last first. Unused edges (count 0) are at the end.
  using state_edges = std::array<edge, edges_per_state>;

  static void follow(state_edges& edges, symbol value);

  recent_table<state, state_hash> states_;
  std::vector<state_edges> edges_;  // by slot of states_
  state current_ = 0;
  int seen_ = 0;  // values, up to three
};

}  // namespace tri::flow::prediction
