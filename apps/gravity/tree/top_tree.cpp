// See top_tree.hpp.
#include "gravity/tree/top_tree.hpp"

#include <algorithm>

namespace gravity {
namespace {

class builder {
 public:
  builder(const decomposition& of, std::span<const subtree_root> roots, double theta)
      : of_(of), roots_(roots), theta_(theta) {}

  std::vector<tree_node> build() {
    nodes_.resize(1);
    nodes_[0] = make(0, of_.subtrees.size(), 0).first;
    return std::move(nodes_);
  }

 private:
  // The cell of `level` that has these subtrees.
  std::pair<tree_node, summary> make(std::size_t first, std::size_t last, std::int64_t level) {
    if (of_.subtrees[first].level == level) {
      const subtree_root& root = roots_[first];
      const bool is_leaf = root.is_leaf != 0;
      return {make_node(root.all, theta_, is_leaf ? node_kind::subtree_leaf : node_kind::subtree,
                        static_cast<std::uint32_t>(first),
                        is_leaf ? static_cast<std::uint32_t>(root.all.bodies) : root.children),
              root.all};
    }
    const std::uint64_t step = keys_at(static_cast<int>(level) + 1);
    std::vector<std::pair<std::size_t, std::size_t>> ranges;
    for (std::size_t begin = first; begin < last;) {
      const std::uint64_t end_key = (of_.subtrees[begin].first_key / step + 1) * step;
      std::size_t end = begin + 1;
      while (end < last && of_.subtrees[end].first_key < end_key) ++end;
      ranges.emplace_back(begin, end);
      begin = end;
    }
    const std::size_t place = nodes_.size();
    nodes_.resize(place + ranges.size());
    std::vector<summary> children;
    for (std::size_t child = 0; child < ranges.size(); ++child) {
      const auto [node, found] = make(ranges[child].first, ranges[child].second, level + 1);
      nodes_[place + child] = node;
      children.push_back(found);
    }
    const summary all = summary_of(children);
    return {make_node(all, theta_, node_kind::inner, static_cast<std::uint32_t>(place),
                      static_cast<std::uint32_t>(ranges.size())),
            all};
  }

  const decomposition& of_;
  std::span<const subtree_root> roots_;
  double theta_;
  std::vector<tree_node> nodes_;
};

}  // namespace

std::vector<tree_node> build_top_tree(const decomposition& of, std::span<const subtree_root> roots, double theta) {
  return builder(of, roots, theta).build();
}

}  // namespace gravity
