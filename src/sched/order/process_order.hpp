// What the PEs of a process share while their messages run in an order of its own: shuffled (--tri-shuffle), recorded
// (--tri-record) or replayed (--tri-replay). There is none in other jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sched/order/node_order.hpp"
#include "sched/order/order_file.hpp"

namespace tri::config {
struct configuration;
}  // namespace tri::config

namespace tri::sched {

class runtime;

class process_order {
 public:
  /// Whether the options ask for one. Throws std::invalid_argument if they contradict each other.
  static bool is_wanted(const config::configuration& values);

  explicit process_order(const runtime& job) : job_(job) {}

  bool shuffles() const;
  bool records() const;
  bool replays() const;
  /// Of one PE of this process; throw as the constructors of order_writer and order_reader.
  std::unique_ptr<order_writer> writer_of(int pe) const;
  std::unique_ptr<order_reader> reader_of(int pe) const;
  node_order& nodes() { return nodes_; }

 private:
  order_header header_of(int pe) const;

  const runtime& job_;
  node_order nodes_;
};

}  // namespace tri::sched
