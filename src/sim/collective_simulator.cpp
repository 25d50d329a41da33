#include "sim/collective_simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/noise_generator.hpp"

namespace tri::sim {
namespace {

noise_plan plan_of_noise(double chance, double longest, std::uint64_t seed) {
  noise_plan made;
  made.chance = longest > 0.0 ? chance : 0.0;
  made.longest = longest;
  made.seed = seed;
  return made;
}

class seeded_delays final : public coll::step_delays {
 public:
  explicit seeded_delays(const simulated_collective& wanted)
      : of_work_(plan_of_noise(wanted.hit_chance, wanted.longest_hit, wanted.seed)),
        of_messages_(plan_of_noise(1.0, wanted.longest_jitter, ~wanted.seed)) {}

  double of_work(coll::step_name of) const override { return delay(of_work_, of); }
  double of_message(coll::step_name of) const override { return delay(of_messages_, of); }

 private:
  static double delay(const noise_generator& by, coll::step_name of) {
    return by.delay_of(static_cast<std::uint64_t>(of.rank), of.index);
  }
  noise_generator of_work_;
  noise_generator of_messages_;
};

std::uint64_t bytes_of(const std::vector<coll::plan>& plans) {
  std::uint64_t bytes = plans.capacity() * sizeof(coll::plan);
  for (const coll::plan& each : plans)
    bytes += each.steps.capacity() * sizeof(coll::step) + each.dependencies.capacity() * sizeof(std::uint32_t);
  return bytes;
}

class collective_simulator {
 public:
  collective_simulator(const simulated_collective& wanted, double expected, const std::function<void(double)>& progress)
      : wanted_(wanted),
        delays_(wanted),
        has_noise_((wanted.hit_chance > 0.0 && wanted.longest_hit > 0.0) || wanted.longest_jitter > 0.0),
        expected_(expected),
        progress_(progress),
        plans_(static_cast<std::size_t>(wanted.asked.hosts.hosts())),
        of_hosts_(plans_.size()) {
    hosts_.reserve(plans_.size());
    for (int host = 0; host < wanted.asked.hosts.hosts(); ++host)
      hosts_.emplace_back(wanted_.asked, wanted_.costs, has_noise_ ? &delays_ : nullptr, host);
    for (std::size_t host = 0; host < hosts_.size(); ++host) count_kept(host);
  }

  collective_run run() {
    coll::run_in_windows(
        hosts_, wanted_.asked, wanted_.costs, under_way_,
        [&](std::size_t host, double begin, double end) { turn(host, begin, end); },
        [&](std::span<const coll::message_under_way> delivered) { count(delivered); });
    if (!std::ranges::all_of(hosts_, &coll::virtual_host::is_over)) throw std::invalid_argument("the plans block");
    return result();
  }

 private:
  struct host_counts {
    std::uint64_t plan_bytes = 0;
    std::uint64_t kept_bytes = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    bool is_generated = false;  // at least once
  };

  void turn(std::size_t host, double begin, double end) {
    if (!hosts_[host].is_loaded()) generate(host);
    hosts_[host].run(begin, end, under_way_, totals_);
    count_kept(host);
    if (hosts_[host].is_over()) {
      drop(host);
      hosts_[host].forget();
      count_kept(host);
    } else if (plan_bytes_ > wanted_.most_plan_bytes) {
      drop(host);  // turns come in the order of hosts: the first ones keep theirs from window to window
    }
    if (progress_ && totals_.steps >= next_report_) {
      progress_(std::min(static_cast<double>(totals_.steps) / expected_, 1.0));
      next_report_ = totals_.steps + static_cast<std::uint64_t>(expected_ / 200) + 1;
    }
  }

  void generate(std::size_t host) {
    const coll::shape& shape = wanted_.asked.hosts;
    const int first = shape.first_rank(static_cast<int>(host));
    const int ranks = shape.ranks_of(static_cast<int>(host));
    std::vector<coll::plan>& plans = plans_[host];
    plans.reserve(static_cast<std::size_t>(ranks));
    for (int i = 0; i < ranks; ++i) plans.push_back(coll::generate(*wanted_.by, wanted_.asked, first + i));
    ++generated_hosts_;
    if (!std::exchange(of_hosts_[host].is_generated, true)) {
      for (const coll::plan& each : plans) generated_steps_ += each.steps.size();
      if (generated_steps_ > wanted_.most_steps)  // the estimate was too low
        throw std::invalid_argument(fmt::format("{} of {} hosts have {} steps; it must be up to {} for all",
                                                generated_hosts_, shape.hosts(), generated_steps_, wanted_.most_steps));
    }
    hosts_[host].load(plans);
    of_hosts_[host].plan_bytes = bytes_of(plans) + hosts_[host].loaded_bytes();
    plan_bytes_ += of_hosts_[host].plan_bytes;
    peak_plan_bytes_ = std::max(peak_plan_bytes_, plan_bytes_);
    most_hosts_with_plans_ = std::max(most_hosts_with_plans_, ++hosts_with_plans_);
    note_peak();
  }

  void drop(std::size_t host) {
    hosts_[host].unload();
    plans_[host] = {};
    plan_bytes_ -= std::exchange(of_hosts_[host].plan_bytes, 0);
    --hosts_with_plans_;
  }

  void count_kept(std::size_t host) {
    const std::uint64_t before = std::exchange(of_hosts_[host].kept_bytes, hosts_[host].kept_bytes());
    kept_bytes_ += of_hosts_[host].kept_bytes - before;
    note_peak();
  }

  void count(std::span<const coll::message_under_way> delivered) {
    const coll::shape& shape = wanted_.asked.hosts;
    std::vector<bool> has_changed(hosts_.size());
    for (const coll::message_under_way& each : delivered) {
      const auto target = static_cast<std::size_t>(shape.host_of(each.to));
      ++of_hosts_[static_cast<std::size_t>(shape.host_of(each.send.rank))].sent;
      ++of_hosts_[target].received;
      has_changed[target] = true;
    }
    for (std::size_t host = 0; host < hosts_.size(); ++host)
      if (has_changed[host]) count_kept(host);
  }

  void note_peak() {
    constexpr std::uint64_t of_host = sizeof(host_counts) + sizeof(std::vector<coll::plan>);
    peak_bytes_ = std::max(peak_bytes_, plan_bytes_ + kept_bytes_ + hosts_.size() * of_host +
                                            under_way_.capacity() * sizeof(coll::message_under_way) +
                                            totals_.rounds.capacity() * sizeof(coll::round_times));
  }

  collective_run result() {
    collective_run found;
    found.time = totals_.time;
    found.steps = totals_.steps;
    found.inside_hosts = {totals_.inside_messages, totals_.inside_bytes};
    for (const coll::round_times& each : totals_.rounds) {
      found.between_hosts.messages += each.messages;
      found.between_hosts.bytes += each.bytes;
    }
    for (const host_counts& each : of_hosts_) {
      found.most_sent_by_host = std::max(found.most_sent_by_host, each.sent);
      found.most_received_by_host = std::max(found.most_received_by_host, each.received);
    }
    found.rounds = std::move(totals_.rounds);
    found.peak_bytes = peak_bytes_;
    found.peak_plan_bytes = peak_plan_bytes_;
    found.most_hosts_with_plans = most_hosts_with_plans_;
    found.generated_hosts = generated_hosts_;
    return found;
  }

  const simulated_collective& wanted_;
  const seeded_delays delays_;
  const bool has_noise_;
  const double expected_;
  const std::function<void(double)>& progress_;
  std::uint64_t next_report_ = 0;
  std::vector<std::vector<coll::plan>> plans_;  // by host; empty while it is put aside
  std::vector<host_counts> of_hosts_;
  std::vector<coll::virtual_host> hosts_;
  std::vector<coll::message_under_way> under_way_;
  coll::virtual_totals totals_;
  std::uint64_t generated_steps_ = 0;
  std::uint64_t generated_hosts_ = 0;
  std::uint64_t hosts_with_plans_ = 0;
  std::uint64_t most_hosts_with_plans_ = 0;
  std::uint64_t plan_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t peak_plan_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
};

void check(const simulated_collective& wanted) {
  const coll::cost_parameters& costs = wanted.costs;
  for (const auto& [name, value] : {std::pair{"latency", costs.latency},
                                    {"overhead", costs.overhead},
                                    {"gap", costs.gap},
                                    {"time of a byte", costs.per_byte},
                                    {"latency inside a host", costs.host_latency},
                                    {"signal", costs.signal},
                                    {"jitter", wanted.longest_jitter},
                                    {"length of an event", wanted.longest_hit}})
    if (!(value >= 0.0))
      throw std::invalid_argument(fmt::format("the {} is {} ns; it must not be negative", name, value));
  wanted.asked.check();
}

std::string with_separators(double number) {
  if (number >= 1e15) return fmt::format("{:.1e}", number);
  const std::string digits = fmt::format("{:.0f}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

[[noreturn]] void refuse(const simulated_collective& wanted, double expected) {
  const coll::request& asked = wanted.asked;
  std::string others;
  for (const coll::algorithm* each : coll::algorithms_for(asked))
    if (const double steps = expected_steps(asked, *each); steps <= static_cast<double>(wanted.most_steps))
      others += fmt::format("{}{} (about {})", others.empty() ? "" : ", ", each->name, with_separators(steps));
  throw std::invalid_argument(fmt::format(
      "{} of {} has about {} steps on {} ranks, {} on each; it may be up to {} steps together. {}", wanted.by->name,
      coll::name_of(asked.what), with_separators(expected), asked.hosts.ranks(),
      with_separators(expected / asked.hosts.ranks()), with_separators(static_cast<double>(wanted.most_steps)),
      others.empty() ? "No algorithm has so few: take fewer hosts or ranks, or allow more steps"
                     : "Fewer: " + others + "; or take fewer hosts or ranks, or allow more steps"));
}

}  // namespace

double expected_steps(const coll::request& asked, const coll::algorithm& by) {
  constexpr std::uint64_t enough = 2'000'000;  // counted steps: some milliseconds
  const coll::shape& hosts = asked.hosts;
  std::uint64_t counted = 0;
  std::uint64_t ranks = 0;
  // Ranks of a host differ, hosts hardly do: some hosts whole, unless a single plan is long already.
  const int sampled = std::min(hosts.hosts(), 8);
  for (int i = 0; i < sampled; ++i) {
    const auto host = static_cast<int>(static_cast<std::int64_t>(i) * hosts.hosts() / sampled);
    for (int rank = hosts.first_rank(host); rank < hosts.first_rank(host + 1) && counted < enough; ++rank, ++ranks)
      counted += coll::count_steps(by, asked, rank);
  }
  return static_cast<double>(counted) / static_cast<double>(ranks) * hosts.ranks();
}

collective_run simulate_collective(const simulated_collective& wanted, const std::function<void(double)>& progress) {
  check(wanted);
  const double expected = std::max(expected_steps(wanted.asked, *wanted.by), 1.0);
  if (expected > static_cast<double>(wanted.most_steps)) refuse(wanted, expected);
  return collective_simulator(wanted, expected, progress).run();
}

}  // namespace tri::sim
