// Decides: the state machine of PE 0, without I/O. Requests, and what PEs report, come in; what to ask of all PEs, and
// which elements are to migrate, go out. Thread of PE 0 only.
//
//   idle -> totals   (requests that end an iteration, if measured losses have to pay: how long was each PE busy?)
//        -> loads    (the loads of all elements)
//        -> moves    (each PE with orders carries them out, and reports when its elements have arrived)
//     or -> hosts    (a distributed strategy: each host decides its part, see host_round)
//        -> hosts_move
//        -> idle     (all requests of this round are answered)
//
// Requests that come meanwhile wait for the next round; those with the same options share it. Each question has a
// number, so a late or doubled answer is found out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "balance/decision.hpp"
#include "objects/balance/host_round.hpp"
#include "objects/balance/load_snapshot.hpp"
#include "trireme/balance_strategy.hpp"
#include "trireme/detail/objects/balance_call.hpp"

namespace tri::objects {

/// tri::balance_options on the way to PE 0, and there.
struct balance_request {
  std::string strategy = {};
  bool only_if_it_pays = false;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(strategy, only_if_it_pays);
  }
};

class balancer {
 public:
  struct settings {
    std::int32_t pes = 1;
    std::int32_t hosts = 1;
    std::string strategy = "refine";  ///< for requests that name none; "off": requests that name none do nothing
    bool pays_always = false;         ///< also requests that do not ask for it move only if it pays
    std::vector<double> speeds = {};  ///< of all PEs; empty: as measured
    double tolerance = 0.02;          ///< of strategies
  };
  using request_number = std::uint64_t;

  struct actions {
    bool ask_for_totals = false;      ///< of all PEs, which answer with this round
    bool ask_for_loads = false;       ///< the same; from then on they measure from zero
    bool ask_for_snapshot = false;    ///< the same, but they go on measuring
    bool begin_on_hosts = false;      ///< their first PEs, which answer with what they have decided
    bool carry_out_on_hosts = false;  ///< the same, which answer when their elements have arrived
    std::string strategy = {};        ///< of hosts that begin
    double usual_rate = 0.0;
    std::uint32_t round = 0;
    struct orders_of_pe {
      std::int32_t pe = 0;
      std::vector<move_order> orders;
    };
    std::vector<orders_of_pe> orders;
    /// A snapshot was taken for a balancing or a request: it may be written down.
    const named_snapshot* taken = nullptr;
    struct answer {
      request_number request = 0;
      balance_report report = {};
      bool is_refused = false;    ///< the strategy's moves were dropped, as they would have lengthened the makespan
      std::string error = {};     ///< not empty: it failed
      std::string snapshot = {};  ///< of a request for one
    };
    /// A balancing has ended, or was found not to pay; all `answers` with a report have that of it.
    bool has_balanced = false;
    std::vector<answer> answers;
  };

  explicit balancer(settings chosen);

  void request(request_number number, const balance_request& options, std::int64_t now_ns, actions& out);
  void request_snapshot(request_number number, std::int64_t now_ns, actions& out);
  /// Answers of PEs. Throw std::logic_error for one that was not asked for.
  void take(std::uint32_t round, const load_total& total, std::int64_t now_ns, actions& out);
  void take(std::uint32_t round, load_part part, std::int64_t now_ns, actions& out);
  void take(std::uint32_t round, std::int32_t pe, const move_counts& counts, std::int64_t now_ns, actions& out);
  void take(std::uint32_t round, const host_round::result& decided, std::int64_t now_ns, actions& out);
  void take_of_host(std::uint32_t round, std::int32_t host, const move_counts& counts, std::int64_t now_ns,
                    actions& out);

  bool is_idle() const { return phase_ == phase::idle; }
  /// What it waits for, for reports of stalls; empty: nothing.
  std::string describe() const;
  /// All that decides its future, for tests that explore.
  template <class Put>
  void encode(Put&& put) const {
    put(static_cast<std::uint64_t>(phase_) << 32 | round_);
    put(waiting_.size());
    put(current_.size());
    for (const bool each : missing_) put(each ? 1u : 0u);
  }

 private:
  enum class phase : std::uint8_t { idle, totals, loads, snapshot, moves, hosts, hosts_move };
  struct asked {
    request_number number = 0;
    balance_request options = {};
    bool for_snapshot = false;
  };

  void begin(std::int64_t now_ns, actions& out);
  void ask_all(phase next, actions& out);
  void ask_for_decision(actions& out);
  /// `who` is a PE, or in phases of hosts a host. True: it was the last one. Throws std::logic_error.
  bool answered(phase expected, std::uint32_t round, std::int32_t who);
  void count_moves(const move_counts& counts, bool was_last, std::int64_t now_ns, actions& out);
  void weigh_hosts(std::int64_t now_ns, actions& out);
  void weigh_totals(std::int64_t now_ns, actions& out);
  void decide(std::int64_t now_ns, actions& out);
  bool pays(const balancing::quality& before, const balancing::quality& after) const;
  void order(const named_snapshot& of, const std::vector<balancing::move>& moves, actions& out);
  void finish(std::int64_t now_ns, actions& out);
  void answer_all(const std::string& error, const std::string& snapshot, actions& out);
  bool has_to_pay() const { return settings_.pays_always || current_.front().options.only_if_it_pays; }

  settings settings_;
  balancing::balance_decision decision_;
  phase phase_ = phase::idle;
  std::uint32_t round_ = 0;
  std::vector<asked> waiting_;
  std::vector<asked> current_;
  std::vector<bool> missing_;  // PEs or hosts that have not answered
  std::int32_t missing_count_ = 0;
  std::vector<load_total> totals_;
  std::vector<std::int64_t> busy_before_;  // of each PE at the last totals
  std::vector<load_part> parts_;
  std::vector<host_round::result> hosts_decided_;
  double usual_rate_ = 0.0;  // of all hosts, in the last round
  named_snapshot snapshot_;
  balance_report report_;
  bool is_refused_ = false;
  std::int64_t began_ns_ = 0;
  std::int64_t moves_began_ns_ = 0;
  std::int32_t moving_pes_ = 0;
  double per_object_ns_ = 20'000.0;  // of a migration, until one was measured
};

}  // namespace tri::objects
