#include "balance/traffic_graph.hpp"

#include <algorithm>

namespace tri::balancing {

// Messages of an object to itself cost the same everywhere: they are no edge.
traffic_graph::traffic_graph(const snapshot& of) : begins_(of.objects.size() + 1) {
  struct edge {
    std::uint32_t from, to;
    double weight;
  };
  std::vector<edge> edges;
  edges.reserve(2 * of.traffic.size());
  for (const pair_traffic& each : of.traffic) {
    if (each.from == each.to || each.messages == 0) continue;
    edges.push_back({each.from, each.to, static_cast<double>(each.messages)});
    edges.push_back({each.to, each.from, static_cast<double>(each.messages)});
  }
  std::sort(edges.begin(), edges.end(),
            [](const edge& a, const edge& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
  partners_.reserve(edges.size());
  std::size_t next = 0;
  for (std::uint32_t object = 0; object < of.objects.size(); ++object) {
    begins_[object] = partners_.size();
    for (; next < edges.size() && edges[next].from == object; ++next) {
      if (partners_.size() > begins_[object] && partners_.back().object == edges[next].to)
        partners_.back().weight += edges[next].weight;
      else
        partners_.push_back({edges[next].to, edges[next].weight});
    }
  }
  begins_.back() = partners_.size();
}

}  // namespace tri::balancing
