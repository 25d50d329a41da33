// Counts of messages that are added up along a tree of hosts (host_tree.hpp): states and events only, the caller sends
// (global_counts.hpp). A round costs two messages for each edge of the tree: a question down, an answer up.
#pragma once

#include <optional>

#include "trireme/detail/sched/counters.hpp"

namespace tri::sched {

/// One host's part in a round, from the question to its answer: its own counts and those of its children's subtrees.
class counts_of_subtree {
 public:
  explicit counts_of_subtree(int children) : missing_(children + 1) {}
  /// Of this host, or the answer of a child. True: that was the last one; `sum()` is the answer to the parent.
  bool add(const message_counts& counts) {
    sum_.processed += counts.processed;
    sum_.sent += counts.sent;
    sum_.held += counts.held;
    sum_.released += counts.released;
    return --missing_ == 0;
  }
  bool is_missing_some() const { return missing_ > 0; }
  const message_counts& sum() const { return sum_; }

 private:
  int missing_;
  message_counts sum_;
};

/// What the root makes of the sums: it has all answers of the first round before it asks for the second, and the result
/// has the messages processed of the first and those sent of the second. So, as within a host (README.md, quiescence):
/// equal sums mean that nothing was under way or running when the second round began.
class rounds_of_counts {
 public:
  /// The sums of a round. Empty: the second is to be asked for.
  std::optional<message_counts> ended(message_counts sums) {
    if (!processed_) {
      processed_ = sums.processed;
      return {};
    }
    sums.processed = *processed_;
    return sums;
  }

 private:
  std::optional<std::uint64_t> processed_;
};

}  // namespace tri::sched
