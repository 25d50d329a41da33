#include "coll/generators/host_tree.hpp"

#include <algorithm>

namespace tri::coll {

tree_position position_in_tree(int hosts, int head, int host, int senders) {
  tree_position found;
  found.levels = rounds_of_radix(hosts, senders + 1);
  int first = 0;
  int last = hosts;
  for (std::uint32_t level = 0; last - first > 1; ++level) {
    const int n = last - first;
    const int each = (n - 1) / (senders + 1) + 1;
    const int head_part = (head - first) / each;
    const auto edge_to = [&](int part) {
      const int begin = first + part * each;
      return tree_edge{level, head, begin, part < head_part ? part : part - 1, begin, std::min(begin + each, last)};
    };
    if (host == head)
      for (int part = 0; first + part * each < last; ++part)
        if (part != head_part) found.children.push_back(edge_to(part));
    const int my_part = (host - first) / each;
    const tree_edge mine = edge_to(my_part);
    if (my_part != head_part) {
      head = mine.child;
      if (host == head) {
        found.has_parent = true;
        found.parent = mine;
      }
    }
    first = mine.first;
    last = mine.last;
  }
  return found;
}

std::uint32_t rounds_of_radix(int hosts, int radix) {
  std::uint32_t rounds = 0;
  for (std::int64_t reached = 1; reached < hosts; reached *= radix) ++rounds;
  return rounds;
}

}  // namespace tri::coll
