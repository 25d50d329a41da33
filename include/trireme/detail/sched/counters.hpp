// Counters of one PE, in the arena: written by the PE alone, read by any thread of the host (quiescence, reports,
// `--tri-counters`).
#pragma once

#include <atomic>
#include <cstdint>

#pragma GCC visibility push(default)

namespace tri::sched {

/// A number that one thread adds to and others read.
class counter {
 public:
  // release: quiescence detection relies on "counted as processed" meaning "its own sends are counted". pairs:
  // counter.read
  void add(std::uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_release);
  }
  // seq_cst for threads that wait until all PEs are idle; otherwise an acquire would suffice, at the same cost. pairs:
  // counter.read, idle.listener
  std::uint64_t read() const { return value_.load(std::memory_order_seq_cst); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// X(name, what it counts)
#define TRIREME_COUNTERS(X)                                                                                     \
  X(sent, "messages sent, to itself included")                                                                  \
  X(processed, "messages whose handler has ended")                                                              \
  X(sent_to_others, "messages sent to other PEs")                                                               \
  X(sent_to_hosts, "messages handed to the wire")                                                               \
  X(zero_copy_bytes_sent, "bytes of zero-copy sends that left for other hosts from the memory of their sender") \
  X(zero_copy_bytes_received, "bytes of zero-copy sends of other hosts that came into their receiver's memory") \
  X(zero_copy_bytes_read, "bytes of zero-copy sends that their receiver copied from the sender's memory")       \
  X(zero_copy_bytes_staged, "bytes of zero-copy sends that the sender had to copy for a process of its host")   \
  X(bytes_copied, "bytes of arguments copied or serialised into messages")                                      \
  X(forwarded, "messages sent on because their element had moved")                                              \
  X(multicasts_forwarded, "multicasts of other senders forwarded to PEs")                                       \
  X(overflowed, "messages that found the receiver's ring full")                                                 \
  X(node_messages, "messages taken from the node queue")                                                        \
  X(offloaded, "pieces of work handed to the offload thread")                                                   \
  X(board_portions, "times this PE ran chunks of another PE's task on the board")                               \
  X(seeds_begun, "objects made without a place that began on this PE")                                          \
  X(seeds_stolen, "seeds taken from another PE of the host")                                                    \
  X(seeds_given, "seeds sent to PEs of other hosts that had none")                                              \
  X(migrations, "elements that left this PE")                                                                   \
  X(held, "messages kept back: for an element that moves or does not exist, for an object not yet created")     \
  X(released, "messages that were kept back and went on")                                                       \
  X(remote_answers_done, "answers of other hosts to requests that have run")                                    \
  X(remote_bytes_done, "bytes of messages from other hosts that have run, 64 for each and its block")           \
  X(remote_copy_bytes_done, "the same of messages to all PEs")                                                  \
  X(sleeps, "times this PE went to sleep")                                                                      \
  X(wakes, "times this PE was woken by a doorbell")

struct alignas(64) counter_block {
#define TRIREME_DECLARE_COUNTER(name, text) counter name;
  TRIREME_COUNTERS(TRIREME_DECLARE_COUNTER)
#undef TRIREME_DECLARE_COUNTER
};

/// Calls visit(name, description, value) for every counter of the block.
template <class Visit>
void for_each_counter(const counter_block& block, Visit&& visit) {
#define TRIREME_VISIT_COUNTER(name, text) visit(#name, text, block.name.read());
  TRIREME_COUNTERS(TRIREME_VISIT_COUNTER)
#undef TRIREME_VISIT_COUNTER
}

/// Of several PEs together. All processed were read before all sent.
struct message_counts {
  std::uint64_t processed = 0;
  std::uint64_t sent = 0;
  std::uint64_t held = 0;
  std::uint64_t released = 0;

  bool all_processed() const { return sent == processed; }
  /// Only held messages are in flight.
  bool only_held_left() const { return sent - processed == held - released; }
};

}  // namespace tri::sched

#pragma GCC visibility pop
