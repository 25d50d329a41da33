#include "sim/region_simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <stdexcept>
#include <utility>

#include "board/claim_search.hpp"
#include "board/victim_order.hpp"
#include "loops/random_numbers.hpp"

namespace tri::sim {
namespace {

class simulation {
 public:
  simulation(const region& what, const schedules::loop_layout& layout)
      : what_(what), layout_(layout), count_(static_cast<std::uint32_t>(layout.ranges.size())), lines_(count_ + 1) {
    check_sizes();
    board::task_spec task = task_of(layout);
    task.owners_come = what.arrivals.empty();
    board::check_task(task, {count_, 1});
    rule_ = board::rule_of(task);
    board::fill_lines(task, layout.chunks(), lines_);
    orders_.reserve(count_);
    for (std::uint32_t index = 0; index < count_; ++index) {
      orders_.push_back(board::ring_order(index, count_));
      searches_.emplace_back(index, orders_[index]);
    }
    free_from_.assign(count_ + std::size_t{1}, 0.0);
    noise_of_.resize(count_);
    for (const noise_event& event : what.noise) noise_of_[event.participant].push_back(event);
    for (auto& events : noise_of_) {
      std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    }
    next_noise_.assign(count_, 0);
    if (what.cost) {
      costs_before_.push_back(0.0);
      for (std::uint64_t item = 0; item < layout.items; ++item) {
        costs_before_.push_back(costs_before_.back() + what.cost(item));
      }
    }
  }

  region_run run() {
    using turn = std::pair<double, std::uint32_t>;
    std::priority_queue<turn, std::vector<turn>, std::greater<>> turns;
    result_.participants.resize(count_);
    for (std::uint32_t index = 0; index < count_; ++index) {
      turns.emplace(what_.arrivals.empty() ? 0.0 : what_.arrivals[index], index);
    }
    while (!turns.empty()) {
      const auto [now, who] = turns.top();
      turns.pop();
      const board::chunk_span claimed = searches_[who].next({rule_, lines_});
      if (claimed.empty()) {
        result_.participants[who].finish = now;
        result_.time = std::max(result_.time, now);
      } else {
        turns.emplace(execute(who, now, claimed), who);
      }
    }
    return std::move(result_);
  }

 private:
  void check_sizes() const {
    const auto fits = [&](std::size_t size, const char* name) {
      if (size == 0 || size == count_) return;
      throw std::invalid_argument(
          fmt::format("region simulator: {} {} for {} participants; it must be one each", size, name, count_));
    };
    fits(what_.slowness.size(), "slownesses");
    fits(what_.arrivals.size(), "arrivals");
    if (!what_.last_owners.empty() && what_.last_owners.size() != layout_.items) {
      throw std::invalid_argument(fmt::format("region simulator: {} last owners for {} iterations; it must be one each",
                                              what_.last_owners.size(), layout_.items));
    }
    for (const noise_event& event : what_.noise) {
      if (event.participant >= count_ || !(event.at >= 0.0) || !(event.length >= 0.0)) {
        throw std::invalid_argument(fmt::format(
            "region simulator: noise of {} at {} on participant {}; participants are 0 to {}, times not negative",
            event.length, event.at, event.participant, count_ - 1));
      }
    }
  }

  // Whose range, or count_ for the pool.
  std::uint32_t source_of(board::chunk_span claimed) const {
    for (std::uint32_t index = 0; index < count_; ++index) {
      if (claimed.first >= layout_.ranges[index].first && claimed.first < layout_.ranges[index].last) return index;
    }
    return count_;
  }

  double work_of(std::uint32_t who, std::uint64_t first, std::uint64_t last) const {
    const double factor = what_.slowness.empty() ? 1.0 : what_.slowness[who];
    double moving = 0.0;
    if (what_.move_time > 0.0 && !what_.last_owners.empty()) {
      for (std::uint64_t item = first; item < last; ++item) {
        const std::uint32_t owner = what_.last_owners[item];
        if (owner != who && owner != schedules::no_owner) moving += what_.move_time;
      }
    }
    if (what_.cost) return moving + factor * (costs_before_[last] - costs_before_[first]);
    return moving + factor * what_.iteration_time * static_cast<double>(last - first);
  }

  // The end time of an action of `length` that starts at `begin`.
  double end_with_noise(std::uint32_t who, double begin, double length) {
    double end = begin + length;
    for (auto& events = noise_of_[who]; next_noise_[who] < events.size(); ++next_noise_[who]) {
      const noise_event& event = events[next_noise_[who]];
      if (event.at >= end) break;
      // Noise before `begin` did not delay any work.
      const double met = std::max(0.0, event.length - std::max(0.0, begin - event.at));
      end += met;
      result_.participants[who].disturbed += met;
    }
    return end;
  }

  double execute(std::uint32_t who, double now, board::chunk_span claimed) {
    participant_run& mine = result_.participants[who];
    const std::uint32_t from = source_of(claimed);
    const bool block =
        from == who && claimed.first == layout_.ranges[who].first && layout_.ranges[who].static_share > 0;
    double claim = 0.0;
    if (!block) {
      ++mine.claims;
      mine.pool_claims += from == count_;
      mine.stolen_claims += from != count_ && from != who;
      const double begin = what_.claims_wait ? std::max(now, free_from_[from]) : now;
      free_from_[from] = begin + what_.claim_time;
      mine.waited += begin - now;
      mine.claiming += what_.claim_time;
      claim = begin - now + what_.claim_time;
    }
    double work = 0.0;
    std::uint64_t iterations = 0;
    layout_.for_each_block(claimed, [&](std::uint64_t first, std::uint64_t last) {
      work += work_of(who, first, last);
      iterations += last - first;
      result_.parts.push_back({who, first, last, from, now, 0.0});
    });
    const double end = end_with_noise(who, now, claim + work);
    for (auto part = result_.parts.rbegin(); part != result_.parts.rend() && part->end == 0.0; ++part) part->end = end;
    mine.computed += work;
    mine.iterations += iterations;
    if (block) {
      mine.static_time = end - now;
      mine.static_iterations = iterations;
    }
    return end;
  }

  const region& what_;
  const schedules::loop_layout& layout_;
  std::uint32_t count_;
  board::claim_rule rule_{};
  std::vector<board::claim_line> lines_;
  std::vector<std::vector<std::uint32_t>> orders_;
  std::vector<board::claim_search> searches_;
  std::vector<double> free_from_;  // when the next claim from a range, or the pool, can begin
  std::vector<std::vector<noise_event>> noise_of_;
  std::vector<std::size_t> next_noise_;
  std::vector<double> costs_before_;
  region_run result_;
};

}  // namespace

std::uint64_t region_run::claims() const {
  std::uint64_t sum = 0;
  for (const participant_run& one : participants) sum += one.claims;
  return sum;
}

std::uint64_t region_run::stolen_claims() const {
  std::uint64_t sum = 0;
  for (const participant_run& one : participants) sum += one.stolen_claims;
  return sum;
}

double region_run::idle_time() const {
  double sum = 0.0;
  for (const participant_run& one : participants) sum += time - one.finish;
  return sum / static_cast<double>(participants.size());
}

std::vector<std::uint32_t> region_run::owners(std::uint64_t items) const {
  std::vector<std::uint32_t> result(items, schedules::no_owner);
  for (const executed_part& part : parts) {
    for (std::uint64_t item = part.first; item < part.last; ++item) result[item] = part.participant;
  }
  return result;
}

region_run simulate(const region& what, const schedules::loop_layout& layout) { return simulation(what, layout).run(); }

double mean_step_time(const region& quiet, const schedules::loop_layout& layout, const many_nodes& machine) {
  loops::random_numbers random(machine.seed);
  const double undisturbed = simulate(quiet, layout).time;
  double sum = 0.0;
  for (std::uint32_t step = 0; step < machine.steps; ++step) {
    double longest = undisturbed;  // nodes that are not hit are all alike
    for (std::uint32_t node = 0; node < machine.nodes; ++node) {
      if (random.fraction() >= machine.hit_chance) continue;
      region hit = quiet;
      const auto victim = static_cast<std::uint32_t>(random.below(layout.ranges.size()));
      hit.noise.push_back({victim, random.fraction() * undisturbed, machine.length});
      longest = std::max(longest, simulate(hit, layout).time);
    }
    sum += longest;
  }
  return sum / machine.steps;
}

}  // namespace tri::sim
