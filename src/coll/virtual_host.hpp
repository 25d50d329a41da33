// The ranks of one host in virtual time: the rules by which steps take time, for plans that are given to it, or taken
// away and given again. The cost model runs all hosts with it and keeps when each step began; the simulator
// (sim/collective_simulator.hpp) runs many hosts and keeps next to nothing.
//
// Hosts meet in messages alone, and a message that is sent at t arrives at t + o + L at the earliest. So each host may
// run by itself up to there, window after window (run_in_windows), and its memory is touched once in a window. The
// result depends on no order of hosts: events of one time have an order of their own, and messages for a host get its
// link in the order (beginning of the send, rank, step).
//
// Sends are eager; receives and waits cost nothing until what they wait for is there. Deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "coll/cost_parameters.hpp"
#include "coll/plan.hpp"
#include "coll/ready_steps.hpp"
#include "coll/request.hpp"

namespace tri::coll {

struct step_name {
  std::int32_t rank = -1;
  std::uint32_t index = 0;
  bool operator==(const step_name&) const = default;
};
inline constexpr step_name no_name{};

/// A message on its way to another host.
struct message_under_way {
  double begun = 0.0;   ///< when its send began
  double leaves = 0.0;  ///< its first byte
  std::uint64_t bytes = 0;
  step_name send;
  std::int32_t to = 0;
  std::uint32_t round = 0;
  std::uint8_t slot = 0;
};

/// What takes longer than the parameters say: noise. Never negative, and the same whenever it is asked.
class step_delays {
 public:
  virtual ~step_delays() = default;
  virtual double of_work(step_name of) const = 0;     ///< a send, receive, copy or reduction, on its rank
  virtual double of_message(step_name of) const = 0;  ///< of this send, on the way to another host
};

struct step_record {
  double begin = -1.0;  ///< when it could begin, and a wait or receive was over if it was at once
  double end = -1.0;
  step_name cause = no_name;     ///< whose end let it begin, or end
  step_name occupied = no_name;  ///< whose work on the same rank it waited for
};

/// Of one round between hosts.
struct round_times {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  double begin = std::numeric_limits<double>::infinity();  ///< of the first send
  double end = 0.0;                                        ///< of the last receive
};

/// Of all hosts that add to it.
struct virtual_totals {
  double time = 0.0;  ///< when the last step so far has ended
  std::uint64_t steps = 0;
  std::uint64_t inside_messages = 0;
  std::uint64_t inside_bytes = 0;
  std::vector<round_times> rounds;
};

class virtual_host {
 public:
  /// `costs` and `delays`, which may be null, outlive it.
  virtual_host(const request& asked, const cost_parameters& costs, const step_delays* delays, int number);

  /// The plans of its ranks, which stay until unload(). Given again they go on where they were.
  void load(std::span<const plan> plans);
  void unload();
  bool is_loaded() const { return !plans_.empty(); }
  /// From the first load() on, when each step began and why; for all steps.
  void keep_records() { keeps_records_ = true; }
  std::span<const step_record> records_of(int rank) const { return records_[local(rank)]; }

  static constexpr double never = std::numeric_limits<double>::infinity();
  /// When it has something to do next, as far as it knows; `never` while it waits for messages.
  double next_time() const {
    if (events_.empty()) return never;
    return events_.top().time;
  }
  /// All before `end`, and all at `begin`, which is next_time() or earlier. What it sends is added to `sent`.
  void run(double begin, double end, std::vector<message_under_way>& sent, virtual_totals& totals);
  /// A message for one of its ranks; in the order that the head of this file names.
  void deliver(const message_under_way& arriving);
  bool is_over() const { return has_begun_ && steps_left_ == 0; }
  /// Bytes that it needs beside the plans: while these are loaded, and what of them stays.
  std::size_t loaded_bytes() const;
  std::size_t kept_bytes() const;
  /// When it is over: gives back what is left of its memory.
  void forget();

 private:
  enum class event_kind : std::uint8_t {
    begin,    // a step may begin
    arrival,  // a message is there, and its receive is posted
    end,      // of a step
  };
  struct event {
    double time = 0.0;
    step_name of;
    event_kind kind = event_kind::begin;
    bool operator<(const event& other) const;  // the queue gives the largest
  };
  struct event_queue : std::priority_queue<event> {
    std::size_t capacity() const { return c.capacity(); }
  };
  struct rank_state {
    double free = 0.0;  // of the processor
    double next_send = 0.0;
    step_name last = no_name;
    step_name last_send = no_name;
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct counter {
    std::uint32_t value = 0;
    std::uint32_t first_waiting = none;  // in waiting_
  };
  struct waiting_step {
    step_name of;
    std::uint32_t value = 0;
    std::uint32_t next = none;
  };
  struct message_name {
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::uint32_t round = 0;
    std::uint8_t slot = 0;
    bool operator==(const message_name&) const = default;
  };
  struct hash_of_name {
    std::size_t operator()(const message_name& name) const;
  };
  struct half_met {  // one side of a message; the other is not there yet
    double time = 0.0;
    step_name side;
  };

  std::size_t local(std::int32_t rank) const { return static_cast<std::size_t>(rank - first_rank_); }
  const step& step_of(step_name of) const { return plans_[local(of.rank)].steps[of.index]; }
  bool is_mine(std::int32_t rank) const { return rank >= first_rank_ && rank < end_rank_; }
  counter& counter_of(const step& one) { return counters_[first_counter_[local(one.peer)] + one.counter]; }
  step_record* record_of(step_name of) { return keeps_records_ ? &records_[local(of.rank)][of.index] : nullptr; }
  double late_by(step_name of) const { return delays_ == nullptr ? 0.0 : delays_->of_work(of); }

  void first_load();
  double work(step_name of, double earliest, double length);
  void begin(double time, step_name of);
  void wait(double time, step_name of);
  void begin_send(double time, step_name of);
  void receive(double time, step_name of);
  void meet(double arrives, step_name send, double posted, step_name receive);
  void arrive(double arrives, step_name send, const message_name& name);
  void take(double time, step_name of);
  void end(double time, step_name of);
  void raise(double time, step_name of);

  const cost_parameters& costs_;
  const step_delays* delays_;
  const std::int32_t first_rank_;
  const std::int32_t end_rank_;
  bool has_begun_ = false;
  bool keeps_records_ = false;
  std::uint64_t steps_left_ = 0;
  double out_free_ = 0.0;  // of the link
  double in_free_ = 0.0;
  event_queue events_;
  std::vector<rank_state> ranks_;
  std::vector<std::uint32_t> first_counter_;  // by rank, in counters_
  std::vector<counter> counters_;
  std::vector<waiting_step> waiting_;  // lists, one for each counter and one of free places
  std::uint32_t free_waiting_ = none;
  std::vector<std::uint64_t> first_step_;  // by rank, in ended_
  std::vector<bool> ended_;                // by step: what is to know when the plans come again
  std::unordered_map<message_name, half_met, hash_of_name> half_met_;
  std::vector<std::vector<step_record>> records_;  // by rank

  std::span<const plan> plans_;
  std::vector<ready_steps> progress_;  // while loaded
  std::vector<std::uint32_t> ready_;
  std::vector<message_under_way>* sent_ = nullptr;  // while it runs
  virtual_totals* totals_ = nullptr;
};

/// Runs the hosts until nothing is left to do. `turn(host, begin, end)` lets hosts[host] run, which sends to
/// `under_way`; `delivered`, which may be empty, sees the messages of each window after their delivery. Plans that
/// block leave hosts that are not over.
void run_in_windows(std::vector<virtual_host>& hosts, const request& asked, const cost_parameters& costs,
                    std::vector<message_under_way>& under_way,
                    const std::function<void(std::size_t host, double begin, double end)>& turn,
                    const std::function<void(std::span<const message_under_way>)>& delivered);

}  // namespace tri::coll
