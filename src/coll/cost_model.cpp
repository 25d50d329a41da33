#include "coll/cost_model.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <stdexcept>
#include <tuple>

#include "coll/ready_steps.hpp"

namespace tri::coll {
namespace {

// The run of all plans in virtual time.
class virtual_run {
 public:
  virtual_run(const request& asked, std::span<const plan> plans, const cost_parameters& costs)
      : asked_(asked),
        plans_(plans),
        costs_(costs),
        ranks_(plans.size()),
        hosts_(static_cast<std::size_t>(asked.hosts.hosts())) {}

  plan_cost run() {
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      progress_.emplace_back(plans_[rank]);
      steps_.emplace_back(plans_[rank].steps.size());
      counters_.emplace_back(plans_[rank].counters);
      std::vector<std::uint32_t> ready;
      progress_[rank].begin(ready);
      for (const std::uint32_t index : ready) push(0.0, event_kind::begin, {rank, index});
    }
    while (!events_.empty()) {
      const event next = events_.top();
      events_.pop();
      switch (next.kind) {
        case event_kind::begin:
          begin(next.time, next.of);
          break;
        case event_kind::arrival:
          take(next.time, next.of);
          break;
        case event_kind::end:
          end(next.time, next.of);
          break;
      }
    }
    return result();
  }

 private:
  struct name {
    std::size_t rank = 0;
    std::uint32_t index = 0;
    bool operator==(const name&) const = default;
  };
  static constexpr name nothing{~std::size_t{0}, 0};
  enum class event_kind : std::uint8_t {
    begin,    // a step may begin
    arrival,  // a message is there, and its receive is posted
    end,      // of a step
  };
  struct event {
    double time = 0.0;
    std::uint64_t number = 0;  // of equal times the first that was known
    event_kind kind = event_kind::begin;
    name of;
    bool operator<(const event& other) const {  // the queue gives the largest
      return std::tie(time, number) > std::tie(other.time, other.number);
    }
  };
  struct record {
    double begin = -1.0;
    double end = -1.0;
    name cause = nothing;     // whose end let it begin, or end
    name occupied = nothing;  // whose work on the same rank it waited for
  };
  struct rank_state {
    double free = 0.0;  // of the processor
    name last = nothing;
    double next_send = 0.0;
    name last_send = nothing;
  };
  struct host_state {
    double out_free = 0.0;
    double in_free = 0.0;
  };
  struct message {
    double arrives = -1.0;  // its last byte
    double posted = -1.0;   // the receive
    name send = nothing;
    name receive = nothing;
  };
  struct counter {
    std::uint32_t value = 0;
    std::vector<name> waiting;
  };
  using key = std::tuple<std::size_t, std::size_t, std::uint32_t, std::uint8_t>;

  void push(double time, event_kind kind, name of) { events_.push({time, events_known_++, kind, of}); }
  record& at(name of) { return steps_[of.rank][of.index]; }
  const step& step_of(name of) const { return plans_[of.rank].steps[of.index]; }
  std::size_t host_of(std::size_t rank) const {
    return static_cast<std::size_t>(asked_.hosts.host_of(static_cast<int>(rank)));
  }

  // The rank works for so long, from `earliest` on or when it is free; returns when it has done.
  double work(name of, double earliest, double length) {
    rank_state& rank = ranks_[of.rank];
    if (rank.free > earliest) at(of).occupied = rank.last;
    rank.free = std::max(rank.free, earliest) + length;
    rank.last = of;
    return rank.free;
  }

  void begin(double time, name of) {
    const step& one = step_of(of);
    if (at(of).begin < 0.0) at(of).begin = time;  // a send may come again
    const double bytes = static_cast<double>(one.bytes);
    switch (one.kind) {
      case step_kind::join:
        return push(time, event_kind::end, of);
      case step_kind::copy:
        return push(work(of, time, costs_.copy_start + bytes * costs_.copy_per_byte), event_kind::end, of);
      case step_kind::reduce_left:
      case step_kind::reduce_right:
        return push(work(of, time, costs_.copy_start + bytes * costs_.reduce_per_byte), event_kind::end, of);
      case step_kind::signal:
        return push(time + costs_.signal, event_kind::end, of);
      case step_kind::wait: {
        counter& waited_for = counters_[static_cast<std::size_t>(one.peer)][one.counter];
        if (waited_for.value >= one.value) return push(time, event_kind::end, of);
        waited_for.waiting.push_back(of);
        return;
      }
      case step_kind::send:
        return begin_send(time, of);
      case step_kind::receive: {
        message& awaited = messages_[{static_cast<std::size_t>(one.peer), of.rank, one.round, one.slot}];
        awaited.posted = time;
        awaited.receive = of;
        if (awaited.send != nothing) receive(awaited);
        return;
      }
    }
  }

  void begin_send(double time, name of) {
    const step& one = step_of(of);
    const double bytes = static_cast<double>(one.bytes);
    const auto target = static_cast<std::size_t>(one.peer);
    const bool is_inside = host_of(of.rank) == host_of(target);
    if (rank_state& rank = ranks_[of.rank]; !is_inside && rank.next_send > time) {
      at(of).occupied = rank.last_send;
      return push(rank.next_send, event_kind::begin, of);  // the processor may do something else meanwhile
    }
    message& sent = messages_[{of.rank, target, one.round, one.slot}];
    sent.send = of;
    host_state& from = hosts_[host_of(of.rank)];
    host_state& to = hosts_[host_of(target)];
    if (is_inside) {
      const double handed_over = work(of, time, costs_.overhead);
      sent.arrives = handed_over + costs_.host_latency;
      push(handed_over, event_kind::end, of);
    } else {
      rank_state& rank = ranks_[of.rank];
      const double handed_over = work(of, time, costs_.overhead);
      rank.last_send = of;
      rank.next_send = handed_over - costs_.overhead + costs_.gap;
      const double leaves = std::max(handed_over, from.out_free);
      from.out_free = leaves + bytes * costs_.per_byte;
      to.in_free = std::max(leaves + costs_.latency, to.in_free) + bytes * costs_.per_byte;
      sent.arrives = to.in_free;
      push(from.out_free, event_kind::end, of);
    }
    if (sent.receive != nothing) receive(sent);
  }

  // Both sides are known. The receiver begins its part when the message is there; another event, for the rank works in
  // the order in which work comes up.
  void receive(const message& both) {
    if (both.arrives > both.posted) at(both.receive).cause = both.send;
    push(std::max(both.arrives, both.posted), event_kind::arrival, both.receive);
  }

  void take(double time, name of) {
    const step& one = step_of(of);
    const bool is_inside = host_of(static_cast<std::size_t>(one.peer)) == host_of(of.rank);
    const double length =
        is_inside ? costs_.copy_start + static_cast<double>(one.bytes) * costs_.copy_per_byte : costs_.overhead;
    push(work(of, time, length), event_kind::end, of);
  }

  void end(double time, name of) {
    record& done = at(of);
    done.end = time;
    ++ended_;
    const step& one = step_of(of);
    if (one.kind == step_kind::signal) {
      counter& raised = counters_[static_cast<std::size_t>(one.peer)][one.counter];
      ++raised.value;
      std::erase_if(raised.waiting, [&](name waiting) {
        if (step_of(waiting).value > raised.value) return false;
        at(waiting).cause = of;
        push(time, event_kind::end, waiting);
        return true;
      });
    }
    std::vector<std::uint32_t> ready;
    progress_[of.rank].ended(of.index, ready);
    for (const std::uint32_t index : ready) {
      at({of.rank, index}).cause = of;
      push(time, event_kind::begin, {of.rank, index});
    }
  }

  plan_cost result();

  const request& asked_;
  std::span<const plan> plans_;
  const cost_parameters costs_;
  std::vector<rank_state> ranks_;
  std::vector<host_state> hosts_;
  std::vector<ready_steps> progress_;
  std::vector<std::vector<record>> steps_;
  std::vector<std::vector<counter>> counters_;
  std::map<key, message> messages_;
  std::priority_queue<event> events_;
  std::uint64_t events_known_ = 0;
  std::size_t ended_ = 0;
};

plan_cost virtual_run::result() {
  std::size_t all = 0;
  plan_cost found;
  name last = nothing;
  for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
    all += steps_[rank].size();
    found.of_ranks.push_back(0.0);
    found.steps.emplace_back();
    for (std::uint32_t index = 0; index < steps_[rank].size(); ++index) {
      const record& one = steps_[rank][index];
      found.steps.back().push_back({static_cast<std::int32_t>(rank), index, one.begin, one.end});
      found.of_ranks.back() = std::max(found.of_ranks.back(), one.end);
      if (last == nothing || one.end > at(last).end) last = {rank, index};
    }
    found.time = std::max(found.time, found.of_ranks.back());
  }
  if (ended_ != all) throw std::invalid_argument("the plans block: they have no cost");
  for (name each = last; each != nothing;) {
    const record& one = at(each);
    found.critical_path.push_back({static_cast<std::int32_t>(each.rank), each.index, one.begin, one.end});
    each = one.occupied != nothing ? one.occupied : one.cause;
  }
  std::ranges::reverse(found.critical_path);
  return found;
}

}  // namespace

plan_counts count_of(const request& asked, std::span<const plan> plans) {
  plan_counts found;
  found.of_hosts.resize(static_cast<std::size_t>(asked.hosts.hosts()));
  found.of_ranks.resize(plans.size());
  std::set<std::uint32_t> rounds;
  for (const plan& each : plans) {
    const int host = asked.hosts.host_of(each.rank);
    for (const step& one : each.steps) {
      if (one.kind == step_kind::copy) found.copied_bytes += one.bytes;
      if (one.is_reduction()) found.reduced_bytes += one.bytes;
      if (!one.is_message()) continue;
      const bool is_between = asked.hosts.host_of(one.peer) != host;
      if (is_between) rounds.insert(one.round);
      const auto add = [&](traffic& to) {
        if (one.kind == step_kind::receive) {
          to.received += one.bytes;
        } else {
          ++to.messages;
          to.bytes += one.bytes;
        }
      };
      add(is_between ? found.between_hosts : found.inside_hosts);
      if (!is_between) continue;
      add(found.of_hosts[static_cast<std::size_t>(host)]);
      add(found.of_ranks[static_cast<std::size_t>(each.rank)]);
    }
  }
  found.rounds = static_cast<std::uint32_t>(rounds.size());
  return found;
}

plan_cost cost_of(const request& asked, std::span<const plan> plans, const cost_parameters& costs) {
  return virtual_run(asked, plans, costs).run();
}

std::vector<algorithm_cost> compare(const request& asked, const cost_parameters& costs) {
  std::vector<algorithm_cost> found;
  for (const algorithm* each : algorithms_for(asked))
    found.push_back({each, cost_of(asked, generate_all(*each, asked), costs).time});
  std::ranges::stable_sort(found, {}, &algorithm_cost::time);
  return found;
}

}  // namespace tri::coll
