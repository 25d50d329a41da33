#include "flow/prediction/graph_predictor.hpp"

#include <algorithm>
#include <utility>

namespace tri::flow::prediction {

void graph_predictor::push(symbol value) {
  if (seen_ == 3) {
    const auto place = states_.use(current_);
    state_edges& edges = edges_[place.where];
    if (place.fresh) edges = {};
    follow(edges, value);
  } else {
    ++seen_;
  }
  current_ = after(current_, value);
}

std::optional<symbol> graph_predictor::next(int ahead) const {
  if (seen_ < 3) return std::nullopt;
  state at = current_;
  symbol value = 0;
  for (int step = 0; step < ahead; ++step) {
    const auto where = states_.find(at);
    if (where == states_.none) return std::nullopt;
    value = edges_[where].front().to;  // a state in the table was left at least once
    at = after(at, value);
  }
  return value;
}

void graph_predictor::follow(state_edges& edges, symbol value) {
  auto it = std::find_if(edges.begin(), edges.end(), [&](const edge& e) { return e.count == 0 || e.to == value; });
  if (it == edges.end()) {
    it = edges.end() - 1;  // all taken: the weakest, of equals the one followed longest ago, makes room
    it->count = 0;
  }
  it->to = value;
  if (it->count == highest_count) {
    // Halved together: the strongest edge stays so, and new ones can still catch up.
    for (edge& e : edges) e.count = static_cast<std::uint16_t>((e.count + 1) / 2);
  }
  ++it->count;
  for (; it != edges.begin() && (it - 1)->count <= it->count; --it) std::swap(*(it - 1), *it);
}

}  // namespace tri::flow::prediction
