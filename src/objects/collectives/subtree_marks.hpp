// The low-water mark of a collection's broadcasts, over a tree of hosts (sched/remote/host_tree.hpp): each host reports
// the minimum of its subtree to its parent; the root's minimum is that of all hosts, which goes down the same edges.
// Marks never fall, so what is late is too small, which keeps history longer and nothing else. States and events only:
// the caller sends. Of one host; on its first PE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tri::objects {

class subtree_marks {
 public:
  /// A report is a multiple of it, so that each edge carries one for so many broadcasts, and not one for each PE or
  /// host that is behind for a moment.
  static constexpr std::uint64_t step = 16;

  explicit subtree_marks(std::size_t children) : marks_(children + 1, 0) {}
  void rose_here(std::uint64_t mark) { raise(marks_.front(), mark); }
  void reported_by(std::size_t child, std::uint64_t mark) { raise(marks_[child + 1], mark); }
  /// What to report to the parent (the root: to all): the minimum of the subtree, if it has come to another step.
  std::optional<std::uint64_t> take_report() {
    const std::uint64_t lowest = *std::ranges::min_element(marks_) / step * step;
    if (lowest <= reported_) return {};
    reported_ = lowest;
    return lowest;
  }

 private:
  static void raise(std::uint64_t& mark, std::uint64_t to) { mark = std::max(mark, to); }
  std::vector<std::uint64_t> marks_;  // of this host, then of its children
  std::uint64_t reported_ = 0;
};

}  // namespace tri::objects
