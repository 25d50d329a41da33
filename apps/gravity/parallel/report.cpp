// See report.hpp.
#include "gravity/parallel/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "os/clock.hpp"

namespace gravity {
namespace {

constexpr std::array<const char*, phase_count> phase_names = {"drift",    "decompose", "exchange",
                                                              "top tree", "forces",    "balance"};

double per(std::uint64_t part, double whole) { return whole > 0.0 ? static_cast<double>(part) / whole : 0.0; }

std::string format_times(const run_totals& of) {
  std::int64_t all = 0;
  for (const std::int64_t each : of.times) all += each;
  const double to_ms = 1e-6 / static_cast<double>(std::max<std::int64_t>(1, of.steps));
  std::string text = fmt::format("\n{:<12}{:>12}{:>8}\n", "phase", "ms/step", "%");
  for (std::size_t p = 0; p < phase_count; ++p)
    text += fmt::format("{:<12}{:>12.3f}{:>8.1f}\n", phase_names[p], static_cast<double>(of.times[p]) * to_ms,
                        all > 0 ? 100.0 * static_cast<double>(of.times[p]) / static_cast<double>(all) : 0.0);
  return text + fmt::format("{:<12}{:>12.3f}\n", "in all", static_cast<double>(all) * to_ms);
}

}  // namespace

energy_row make_row(std::int64_t step, double time_step, const std::vector<subtree_sums>& sums) {
  energy_row row;
  row.step = step;
  row.time = static_cast<double>(step) * time_step;
  for (const subtree_sums& each : sums) {
    row.kinetic += each.kinetic;
    row.potential += each.potential;
    for (std::size_t d = 0; d < 3; ++d) row.momentum[d] += each.momentum[d];
    row.momentum_of_all += each.momentum_of_all;
  }
  return row;
}

std::string energy_header() {
  return fmt::format("{:>8}{:>12}{:>16}{:>16}{:>16}{:>10}{:>14}", "step", "time", "kinetic", "potential", "total",
                     "virial", "momentum");
}

std::string format_row(const energy_row& row) {
  const auto& [x, y, z] = row.momentum;
  return fmt::format("{:>8}{:>12.6g}{:>16.9f}{:>16.9f}{:>16.9f}{:>10.4f}{:>14.3e}", row.step, row.time, row.kinetic,
                     row.potential, row.total(), row.virial_ratio(), std::sqrt(x * x + y * y + z * z));
}

std::string format_conservation(const energy_row& first, const energy_row& last) {
  double change = 0.0;
  for (std::size_t d = 0; d < 3; ++d) change += std::pow(last.momentum[d] - first.momentum[d], 2);
  const double scale = std::abs(first.total());
  return fmt::format("energy changed by {:.3e}, momentum by {:.3e} of all bodies' momenta\n",
                     scale > 0.0 ? std::abs(last.total() - first.total()) / scale : 0.0,
                     last.momentum_of_all > 0.0 ? std::sqrt(change) / last.momentum_of_all : 0.0);
}

phase_timer::phase_timer(phase_times& times) : times_(times), since_(tri::os::now_ns()) {}

void phase_timer::ends(phase which) {
  const std::int64_t now = tri::os::now_ns();
  times_[static_cast<std::size_t>(which)] += now - std::exchange(since_, now);
}

void pe_loads::add(const std::vector<cache_report>& step) {
  std::uint64_t most = 0;
  std::int64_t longest = 0;
  for (const cache_report& each : step) {
    all_ += each;
    most = std::max(most, each.interactions);
    longest = std::max(longest, each.busy_ns);
  }
  pes_ = step.size();
  most_interactions_ += most;
  longest_ns_ += longest;
}
double pe_loads::imbalance_of_interactions() const {
  return all_.interactions == 0 ? 1.0
                                : static_cast<double>(most_interactions_) * static_cast<double>(pes_) /
                                      static_cast<double>(all_.interactions);
}
double pe_loads::imbalance_of_time() const {
  return all_.busy_ns == 0
             ? 1.0
             : static_cast<double>(longest_ns_) * static_cast<double>(pes_) / static_cast<double>(all_.busy_ns);
}

std::string format_report(const run_totals& of) {
  const double body_steps = static_cast<double>(of.bodies) * static_cast<double>(of.steps);
  const cache_report& all = of.pes.all();
  std::string text = format_times(of);
  text +=
      fmt::format("interactions per body: {:.1f} with multipoles, {:.1f} with bodies; {} subtrees\n",
                  per(of.interactions.multipoles, body_steps), per(of.interactions.bodies, body_steps), of.subtrees);
  text += fmt::format("interactions on the busiest PE: {:.3f} of the mean; time of forces: {:.3f}\n",
                      of.pes.imbalance_of_interactions(), of.pes.imbalance_of_time());
  const double steps = static_cast<double>(of.steps);
  text +=
      fmt::format("remote chunks per step: {:.1f} hits, {:.1f} misses, {:.1f} combined; {:.1f} fetched, {:.1f} KiB\n",
                  per(all.hits, steps), per(all.misses, steps), per(all.combined, steps), per(all.fetched, steps),
                  per(all.bytes, 1024.0 * steps));
  return text;
}

std::string format_errors(const std::vector<force_error>& errors) {
  const auto at = [&](std::size_t percent) { return errors[(errors.size() - 1) * percent / 100].relative; };
  return fmt::format("force errors beside direct summation: median {:.3e}, 99 % {:.3e}, largest {:.3e}\n", at(50),
                     at(99), at(100));
}

std::uint64_t checksum_of(const std::vector<body>& bodies) {
  std::uint64_t sum = 0xcbf29ce484222325U;  // FNV-1a over words
  const auto add = [&sum](const vec3& values) {
    for (const double each : values) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &each, sizeof bits);
      sum = (sum ^ bits) * 0x100000001b3U;
    }
  };
  for (const body& each : bodies) {
    add(each.position);
    add(each.velocity);
  }
  return sum;
}

}  // namespace gravity
