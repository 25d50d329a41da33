// How many messages were sent and processed on all hosts: asked for along a tree of hosts, in two rounds, by messages
// that count as neither (tree_counts.hpp). Any PE may ask; the first PE of each other host speaks for its host. One per
// PE, for its thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "sched/remote/tree_counts.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/detail/sched/counters.hpp"

namespace tri::sched {

class pe;
struct envelope;

class global_message_counts {
 public:
  /// Asks all hosts; `use` gets the sums, in a handler of this PE. One at a time.
  void begin(pe& here, os::unique_function<void(const message_counts&)> use);
  bool is_running() const { return use_ != nullptr; }
  /// By the handlers of the messages between hosts, whose `element` is the PE that began.
  void asked(pe& here, const envelope& question);
  void answered(pe& here, const envelope& answer);

 private:
  struct passed_on {
    counts_of_subtree counts;
    int parent;  // the PE that asked this one
  };
  void begin_round(pe& here);
  void round_ended(pe& here);

  os::unique_function<void(const message_counts&)> use_;
  rounds_of_counts rounds_;                // of the own question
  std::optional<counts_of_subtree> own_;   // of its round
  std::map<int, passed_on> of_other_pes_;  // questions that were passed on, by the PE that began
};

/// A message just sent (or a timer just set), or the one whose handler runs, is not a message of the program. By the
/// thread of the PE, and for both ends of a message; for a moment more seem to be under way, never fewer.
void do_not_count_sent(pe& here);
void do_not_count_processed(pe& here);

}  // namespace tri::sched
