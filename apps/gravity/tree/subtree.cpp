// See subtree.hpp.
#include "gravity/tree/subtree.hpp"

#include <algorithm>

namespace gravity {
namespace {

class builder {
 public:
  builder(std::span<const std::uint64_t> keys, std::span<const source> bodies, const tree_settings& settings)
      : keys_(keys), bodies_(bodies), settings_(settings) {}

  subtree build(int level) {
    made_.chunks.emplace_back();
    made_.is_leaf = is_leaf(0, keys_.size(), level);
    if (made_.is_leaf) {
      made_.root = add_leaf(0, keys_.size(), 0);
    } else {
      made_.root = add_children(0, keys_.size(), level, 0, settings_.fetch_levels - 1).first;
      made_.children = children_of_root_;
    }
    return std::move(made_);
  }

 private:
  bool is_leaf(std::size_t first, std::size_t last, int level) const {
    return last - first <= static_cast<std::size_t>(settings_.bucket) || level == key_levels;
  }

  // The bodies go into the chunk.
  summary add_leaf(std::size_t first, std::size_t last, std::size_t into) {
    const std::span<const source> own = bodies_.subspan(first, last - first);
    std::vector<source>& bodies = made_.chunks[into].bodies;
    const summary found = summary_of(own);
    made_.buckets.push_back(
        {first, last, found.bounds, static_cast<std::uint32_t>(into), static_cast<std::uint32_t>(bodies.size())});
    bodies.insert(bodies.end(), own.begin(), own.end());
    return found;
  }

  // The children of a cell become neighbours at the end of the chunk. Returns their parent, and the first's place.
  std::pair<summary, std::uint32_t> add_children(std::size_t first, std::size_t last, int level, std::size_t into,
                                                 int levels_left) {
    const auto starts = divide(keys_.subspan(first, last - first), level);
    std::vector<std::pair<std::size_t, std::size_t>> ranges;
    for (std::size_t child = 0; child < 8; ++child)
      if (starts[child] != starts[child + 1]) ranges.emplace_back(first + starts[child], first + starts[child + 1]);
    const std::size_t place = made_.chunks[into].nodes.size();
    made_.chunks[into].nodes.resize(place + ranges.size());
    std::vector<summary> children;
    for (std::size_t child = 0; child < ranges.size(); ++child) {
      const auto [begin, end] = ranges[child];
      const auto [node, found] = make_child(begin, end, level + 1, into, levels_left);
      made_.chunks[into].nodes[place + child] = node;
      children.push_back(found);
    }
    children_of_root_ = static_cast<std::uint32_t>(ranges.size());  // the root returns last
    return {summary_of(children), static_cast<std::uint32_t>(place)};
  }

  std::pair<tree_node, summary> make_child(std::size_t first, std::size_t last, int level, std::size_t into,
                                           int levels_left) {
    if (is_leaf(first, last, level)) {
      const std::size_t place = made_.chunks[into].bodies.size();
      const summary found = add_leaf(first, last, into);
      return {make_node(found, settings_.theta, node_kind::leaf, static_cast<std::uint32_t>(place),
                        static_cast<std::uint32_t>(last - first)),
              found};
    }
    if (levels_left == 0) {
      const auto next = static_cast<std::uint32_t>(made_.chunks.size());
      made_.chunks.emplace_back();
      const summary found = add_children(first, last, level, next, settings_.fetch_levels - 1).first;
      return {make_node(found, settings_.theta, node_kind::cut, next, children_of_root_), found};
    }
    const auto [found, place] = add_children(first, last, level, into, levels_left - 1);
    return {make_node(found, settings_.theta, node_kind::inner, place, children_of_root_), found};
  }

  std::span<const std::uint64_t> keys_;
  std::span<const source> bodies_;
  const tree_settings& settings_;
  subtree made_;
  std::uint32_t children_of_root_ = 0;  // of the cell for which add_children returned last
};

}  // namespace

std::array<std::size_t, 9> divide(std::span<const std::uint64_t> keys, int level) {
  const std::uint64_t step = keys_at(level + 1);
  const std::uint64_t low = keys.front() / (8 * step) * (8 * step);
  std::array<std::size_t, 9> starts{};
  for (std::size_t child = 1; child < 8; ++child) {
    const auto from = keys.begin() + static_cast<std::ptrdiff_t>(starts[child - 1]);
    starts[child] = static_cast<std::size_t>(std::lower_bound(from, keys.end(), low + child * step) - keys.begin());
  }
  starts[8] = keys.size();
  return starts;
}

subtree build_subtree(std::span<const std::uint64_t> keys, std::span<const source> bodies, int level,
                      const tree_settings& settings) {
  return builder(keys, bodies, settings).build(level);
}

}  // namespace gravity
