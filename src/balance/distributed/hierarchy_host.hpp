// Balancing along a tree of hosts, one host of it. A state machine: messages in, messages out. Four messages along each
// edge of the tree:
//
//   up    sums of work and speed                      down   the level
//   up    objects above the limit that found no room  down   where each of them goes
//         in the subtree, and PEs with room left
//
// So an object goes to the nearest vertex of the tree that knows of room for it. A PE with room is known to one vertex
// at a time, so no two fill the same room. Messages may arrive in any order that the machines allow: each waits for all
// its children before it sends up. (Tree strategies of Charm++ and Zheng et al., "Hierarchical load balancing for
// Charm++ applications on large supercomputers", 2010, have the idea.)
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "balance/distributed/host_part.hpp"
#include "balance/distributed/host_tree.hpp"

namespace tri::balancing {

struct hierarchy_message {
  enum class kind : std::uint8_t { sum, level, unmatched, decided };
  kind what = kind::sum;
  double work = 0.0;   ///< sum; level: the level itself
  double speed = 0.0;  ///< sum
  std::vector<offered_object> offered = {};
  std::vector<host_part::room> rooms = {};
  std::vector<accepted_object> accepted = {};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(what, work, speed, offered, rooms, accepted);
  }
};

class hierarchy_host {
 public:
  using message = hierarchy_message;
  using outbox = std::vector<std::pair<std::int32_t, message>>;

  hierarchy_host(host_part part, std::int32_t number, std::int32_t hosts, double tolerance, std::int32_t fanout = 4);

  void begin(outbox& out);
  void receive(std::int32_t from, const message& what, outbox& out);
  bool is_done() const { return done_; }
  const host_part& part() const { return part_; }

  /// All that decides its future, for explorers: calls `put` with numbers.
  template <class Put>
  void encode(const Put& put) const {
    put(static_cast<std::uint64_t>(sum_.missing) << 32U | static_cast<std::uint32_t>(unmatched_missing_));
    put(done_ ? 1U : 0U);
    put(level_ < 0.0 ? 0U : 1U);
    put(offered_.size());
    for (const offered_object& each : offered_) put(each.object);
    put(rooms_.size());
    for (const host_part::room& each : rooms_) put(static_cast<std::uint64_t>(each.pe));
    put(accepted_.size());
  }

 private:
  void send_sum(outbox& out);
  void begin_matching(double level, outbox& out);
  void match(outbox& out);
  void send_decisions(const std::vector<accepted_object>& more, outbox& out);

  host_part part_;
  std::int32_t number_;
  host_tree tree_;
  double tolerance_;
  load_sum sum_;
  double level_ = -1.0;  // below 0: not known
  std::int32_t unmatched_missing_ = 0;
  std::vector<offered_object> offered_;
  std::vector<host_part::room> rooms_;
  std::vector<accepted_object> accepted_;  // decided here
  bool done_ = false;
};

}  // namespace tri::balancing
