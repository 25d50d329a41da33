// One host's part of a balancing by a distributed strategy: the state machine of its first PE, without I/O. No PE knows
// the loads of all hosts; PE 0 only begins the round and hears of each host when it has decided, and when its elements
// have arrived. Thread of that PE only.
//
//   begin -> the loads of the host's PEs -> the strategy's machine (balance/distributed), whose messages go from host
//   to host -> decided -> (PE 0: all hosts have) carry_out -> the PEs report -> moved
//
// Messages of other hosts may come before this host has begun, or knows its loads; they wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "balance/distributed/gossip_host.hpp"
#include "balance/distributed/hierarchy_host.hpp"
#include "objects/balance/load_snapshot.hpp"

namespace tri::objects {

/// Strategies that run so on several hosts.
bool is_distributed(const std::string& strategy);

class host_round {
 public:
  struct place {
    std::int32_t host = 0;
    std::int32_t hosts = 1;
    std::int32_t first_pe = 0;
    std::int32_t pes = 1;             ///< of this host
    std::vector<double> speeds = {};  ///< of these; empty: as measured
    double tolerance = 0.02;          ///< of strategies
  };
  using message = std::variant<balancing::gossip_message, balancing::hierarchy_message>;

  /// What PE 0 hears of a host that has decided.
  struct result {
    std::int32_t host = 0;
    std::int64_t objects = 0;
    std::int64_t moves = 0;
    double work_ns = 0.0;
    double speed = 0.0;
    double longest_ns = 0.0;    ///< of a PE of the host
    double predicted_ns = 0.0;  ///< after the moves
    double usual_rate = 0.0;    ///< the median of its PEs
    std::int64_t messages = 0;  ///< that it has sent and received
    template <class Archive>
    void serialize(Archive& archive) {
      archive(host, objects, moves, work_ns, speed, longest_ns, predicted_ns, usual_rate, messages);
    }
  };

  struct actions {
    bool ask_for_loads = false;  ///< of the host's PEs
    std::vector<std::pair<std::int32_t, message>> messages;
    std::optional<result> decided;
    struct orders_of_pe {
      std::int32_t pe = 0;
      std::vector<move_order> orders;
    };
    std::vector<orders_of_pe> orders;
    std::optional<move_counts> moved;
  };

  explicit host_round(place where) : where_(std::move(where)) {}

  void begin(std::uint32_t round, const std::string& strategy, double usual_rate, actions& out);
  /// All throw std::logic_error for what was not asked for, or cannot be.
  void take(std::uint32_t round, load_part part, actions& out);
  void receive(std::uint32_t round, std::int32_t from, message what, actions& out);
  void carry_out(std::uint32_t round, actions& out);
  void take(std::uint32_t round, std::int32_t pe, const move_counts& counts, actions& out);

  std::uint32_t round() const { return round_; }

 private:
  struct early_message {
    std::uint32_t round;
    std::int32_t from;
    message what;
  };
  void begin_machine(actions& out);
  void deliver(std::int32_t from, const message& what, actions& out);
  void check(std::int32_t from, const message& what) const;
  template <class Outbox>
  void send_all(Outbox& sent, actions& out);
  void look_whether_decided(actions& out);
  const balancing::host_part& decided_part() const;
  std::vector<actions::orders_of_pe> orders() const;

  place where_;
  std::uint32_t round_ = 0;
  std::string strategy_;
  double usual_rate_ = 0.0;
  std::int32_t missing_parts_ = 0;
  std::vector<load_part> parts_;
  named_snapshot snapshot_;
  std::variant<std::monostate, balancing::gossip_host, balancing::hierarchy_host> machine_;
  bool has_decided_ = false;
  result result_;
  std::vector<early_message> early_;
  std::vector<bool> missing_moves_;  // PEs of the host that have not reported
  std::int32_t missing_moves_count_ = 0;
  move_counts counts_;
};

}  // namespace tri::objects
