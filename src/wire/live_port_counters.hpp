// The internal counters of a port: incremented by the holder of the progress lock, read by any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "wire/port.hpp"

namespace tri::wire {

class port_counter {
 public:
  // relaxed, all: independent counters; only the holder of the progress lock increments them.
  void add(std::uint64_t amount = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add_from_any_thread() { value_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct live_port_counters {
  port_counter messages_sent, messages_arrived, bytes_sent, short_sent, eager_sent, rendezvous_sent, short_packets,
      packets_filled, arrived_early, memory_refused, sends_handed_over, dropped, wakes, waited, waiting, most_waiting,
      memory_control_messages, memory_in_use, memory_peak, heartbeats, polls, moves, foreign_packets, unchecked_packets,
      repeated_packets, foreign_connections;

  port_counters read() const {
    return {.messages_sent = messages_sent.read(),
            .messages_arrived = messages_arrived.read(),
            .bytes_sent = bytes_sent.read(),
            .short_sent = short_sent.read(),
            .eager_sent = eager_sent.read(),
            .rendezvous_sent = rendezvous_sent.read(),
            .short_packets = short_packets.read(),
            .packets_filled = packets_filled.read(),
            .arrived_early = arrived_early.read(),
            .memory_refused = memory_refused.read(),
            .sends_handed_over = sends_handed_over.read(),
            .dropped = dropped.read(),
            .wakes = wakes.read(),
            .waited = waited.read(),
            .waiting = waiting.read(),
            .most_waiting = most_waiting.read(),
            .memory_control_messages = memory_control_messages.read(),
            .memory_in_use = memory_in_use.read(),
            .memory_peak = memory_peak.read(),
            .heartbeats = heartbeats.read(),
            .polls = polls.read(),
            .moves = moves.read(),
            .foreign_packets = foreign_packets.read(),
            .unchecked_packets = unchecked_packets.read(),
            .repeated_packets = repeated_packets.read(),
            .foreign_connections = foreign_connections.read()};
  }
};

}  // namespace tri::wire
