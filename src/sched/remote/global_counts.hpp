// How many messages were sent and processed on all hosts: asked for by messages that count as neither, in two rounds.
// All hosts have answered the first before the second is asked for, and the result has the messages processed of the
// first and those sent of the second. So, as within a host (README.md, quiescence): equal sums mean that nothing was
// under way or running when the second round began. One per PE, for its thread.
#pragma once

#include <cstdint>

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
  void answered(pe& here, const message_counts& of_host);  ///< by the handler of the answers

 private:
  void ask(pe& here);
  os::unique_function<void(const message_counts&)> use_;
  bool first_round_ = true;
  int missing_ = 0;
  message_counts sums_;
};

/// A message just sent (or a timer just set), or the one whose handler runs, is not a message of the program.
void do_not_count_sent(pe& here);
void do_not_count_processed(pe& here);

}  // namespace tri::sched
