// A PE's part of an order of messages of its own (process_order.hpp): what it has taken out of its queues and not run
// yet, and what is to run next. The scheduler gives it what arrives and runs what it names (ordered_step.cpp). Used by
// the thread of the PE only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/order/channel_pool.hpp"
#include "sched/order/message_shuffler.hpp"
#include "sched/order/process_order.hpp"
#include "sched/order/recorded_message.hpp"
#include "trireme/detail/sched/handler_table.hpp"

namespace tri::sched {

struct pe_order {
  /// `longest_delay` of the shuffle in ticks. Throws std::runtime_error if the record cannot be written, or is none of
  /// this job.
  pe_order(process_order& shared, int pe, std::uint64_t seed, std::uint64_t longest_delay)
      : nodes(shared.nodes()),
        shuffler(seed, pe, longest_delay),
        shuffles(shared.shuffles()),
        writer(shared.records() ? shared.writer_of(pe) : nullptr),
        reader(shared.replays() ? shared.reader_of(pe) : nullptr) {}

  /// A prioritised or immediate message, and that of a timer, waits with its number in its stamp, which no queue uses
  /// meanwhile.
  void number_urgent(envelope& message) {
    message.stamp = urgent_numbers[counted_as(message.source, message.handler)]++;
  }
  void number_timer(envelope& message) {
    if (handler_table()[message.handler].role != message_role::service) message.stamp = timers[message.handler]++;
  }

  /// Prioritised messages of one sender arrive in their order: equal ones run in it.
  std::uint64_t due_of_urgent(const envelope& message, std::uint64_t now) {
    std::uint64_t& latest = latest_due[message.source];
    return latest = std::max(latest, shuffler.due(now));
  }

  void about_to_run(const recorded_message& message) {
    if (writer != nullptr) writer->add(message);
  }

  /// Where messages of an inbox wait, unless they are copies in a replay. Without a shuffle there is one channel: they
  /// run as they came.
  std::uint64_t channel_for(const envelope& message) const {
    const bool is_request = (message.flags & envelope::is_deferred) != 0;
    return shuffles || reader != nullptr
               ? channel_of(is_request ? message_class::request : message_class::message, message.source)
               : 0;
  }

  node_order& nodes;
  message_shuffler shuffler;
  const bool shuffles;
  const std::unique_ptr<order_writer> writer;  // null: nothing is recorded
  const std::unique_ptr<order_reader> reader;  // null: nothing is replayed

  channel_pool<envelope> pool;
  std::vector<std::uint64_t> ready;                                   // channels; only during a step
  std::deque<envelope*> immediate;                                    // not in a replay
  std::vector<std::pair<std::uint64_t, envelope*>> late;              // prioritised ones that count as not arrived yet
  std::map<std::pair<std::uint64_t, std::uint64_t>, envelope*> kept;  // of a replay, by counted_as and number
  std::multimap<std::pair<std::uint64_t, std::uint64_t>, envelope> copies;  // the same
  std::uint32_t turns = 0;
  std::int64_t waits_since_ns = 0;     // of a replay; 0: it does not wait
  std::uint64_t processed_before = 0;  // on this host, when that began

  std::unordered_map<std::uint32_t, std::uint64_t> latest_due;      // of prioritised messages, by source
  std::unordered_map<std::uint64_t, std::uint64_t> urgent_numbers;  // the next, by counted_as
  std::unordered_map<std::uint32_t, std::uint64_t> timers;          // the next, by handler
};

}  // namespace tri::sched
