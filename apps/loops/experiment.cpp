// See experiment.hpp.
#include "experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "loops/random_numbers.hpp"
#include "pictures/line_chart.hpp"

namespace kernels {
namespace {

using clock_type = std::chrono::steady_clock;

double milliseconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

// -0.0 and 0.0 differ here, and a NaN equals itself: bits are compared.
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// FNV-1a over 64-bit words (Fowler, Noll and Vo).
std::uint64_t fingerprint_of(const std::vector<double>& numbers) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const double number : numbers) hash = (hash ^ std::bit_cast<std::uint64_t>(number)) * 0x100000001b3u;
  return hash;
}

// In another order every round, so that no method always runs after the same one.
std::vector<std::size_t> shuffled(std::size_t count, tri::loops::random_numbers& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

/// "hybrid" of "hybrid,0.35".
std::string kind_of(const std::string& method) { return method.substr(0, method.find(',')); }

std::map<std::string, std::vector<const measured*>> curves_of(const experiment_result& result) {
  std::map<std::string, std::vector<const measured*>> curves;
  for (const measured& row : result.rows) {
    if (row.in_sweep) curves[kind_of(row.method)].push_back(&row);
  }
  return curves;
}

const measured& best_of(const std::vector<const measured*>& curve) {
  return **std::min_element(curve.begin(), curve.end(),
                            [](const measured* a, const measured* b) { return a->median() < b->median(); });
}

}  // namespace

double measured::quantile(double share) const {
  if (times.empty()) return 0.0;
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

bool experiment_result::right() const {
  return std::all_of(findings.begin(), findings.end(), [](const finding& each) { return each.right; }) &&
         std::all_of(rows.begin(), rows.end(), [](const measured& row) { return row.same_result; });
}

experiment_result run_experiment(kernel& of, const experiment_plan& plan, const progress_function& progress) {
  experiment_result result;
  std::vector<std::unique_ptr<method>> methods;
  const auto add = [&](const std::string& text, bool in_sweep) {
    methods.push_back(std::make_unique<method>(text));
    if (methods.back()->is_task_graph() && !of.has_task_graph()) {
      throw std::invalid_argument(fmt::format("'{}': only lu has a graph of tasks; this kernel is run by loops", text));
    }
    measured row;
    row.method = text;
    row.static_fraction = methods.back()->static_fraction();
    row.in_sweep = in_sweep;
    result.rows.push_back(std::move(row));
  };
  for (const std::string& text : plan.methods) add(text, false);
  for (const std::string& text : plan.sweep) add(text, true);
  const std::vector<peer> peers = of.peers();
  for (const peer& each : peers) {
    measured row;
    row.method = each.name;
    row.is_peer = true;
    result.rows.push_back(std::move(row));
  }

  const int all = (plan.rounds + 1) * static_cast<int>(result.rows.size()) + 1;
  int done = 0;
  progress(done, all, "the serial program");
  of.run_serial();
  const double steps = std::max(1, of.steps());
  std::vector<double> first;
  tri::loops::random_numbers random(1);
  for (int round = 0; round <= plan.rounds; ++round) {  // round 0 is not counted: memory is new, nothing is learned
    for (const std::size_t number : shuffled(result.rows.size(), random)) {
      measured& row = result.rows[number];
      progress(++done, all, row.method);
      if (row.is_peer) {
        const peer& other = peers[number - methods.size()];
        other.prepare();
        const auto begin = clock_type::now();
        other.run();
        if (round > 0) row.times.push_back(milliseconds_since(begin) / steps);
        // Its threads may spin for a while before they sleep; the next method must not share cores with them.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        continue;
      }
      of.reset();
      const auto begin = clock_type::now();
      of.run(*methods[number]);
      if (round > 0) row.times.push_back(milliseconds_since(begin) / steps);
      if (first.empty()) {
        first = of.result();
        result.fingerprint = fingerprint_of(first);
        result.findings = of.check();
      } else if (!same_bits(of.result(), first)) {
        row.same_result = false;
      }
    }
  }
  progress(all, all, "");
  return result;
}

std::string table_of(const kernel& of, const experiment_result& result) {
  double static_median = 0.0;
  for (const measured& row : result.rows) {
    if (row.method == "static") static_median = row.median();
  }
  const bool rate = of.operations() > 0.0;
  const std::string unit = of.steps() == 1 ? "ms" : "ms/step";
  std::string text = fmt::format("{:<24} {:>10} {:>10} {:>10}{}  {}\n", "method", "median " + unit, "best", "to static",
                                 rate ? "  GFlop/s" : "", "result");
  for (const measured& row : result.rows) {
    if (row.in_sweep || row.times.empty()) continue;
    text += fmt::format("{:<24} {:>{}.3f} {:>10.3f} {:>10}{}  {}\n", row.method, row.median(), 7 + unit.size(),
                        row.best(), static_median > 0.0 ? fmt::format("{:.3f}", row.median() / static_median) : "-",
                        rate ? fmt::format(" {:>8.1f}", of.operations() / (row.median() * 1e6)) : "",
                        row.is_peer       ? "-"
                        : row.same_result ? "same bits"
                                          : "DIFFERENT");
  }
  return text;
}

std::string sweep_table_of(const experiment_result& result) {
  const auto curves = curves_of(result);
  if (curves.empty()) return {};
  std::string text = fmt::format("{:<16}", "static fraction");
  for (const auto& [kind, points] : curves) text += fmt::format(" {:>12}", kind);
  text += '\n';
  std::map<double, std::map<std::string, double>> by_fraction;
  for (const auto& [kind, points] : curves) {
    for (const measured* point : points) by_fraction[point->static_fraction.value_or(0.0)][kind] = point->median();
  }
  for (const auto& [fraction, medians] : by_fraction) {
    text += fmt::format("{:<16.3g}", fraction);
    for (const auto& [kind, points] : curves) {
      text += medians.contains(kind) ? fmt::format(" {:>12.3f}", medians.at(kind)) : fmt::format(" {:>12}", "-");
    }
    text += '\n';
  }
  for (const auto& [kind, points] : curves) {
    const measured& best = best_of(points);
    text += fmt::format("best {}: static fraction {:.3g}, {:.3f} ms\n", kind, best.static_fraction.value_or(0.0),
                        best.median());
  }
  return text;
}

std::string csv_of(const std::string& kernel_name, int threads, const experiment_result& result) {
  std::string text = "kernel,method,static_fraction,threads,round,milliseconds_per_step\n";
  for (const measured& row : result.rows) {
    for (std::size_t round = 0; round < row.times.size(); ++round) {
      // A method has commas of its own.
      text += fmt::format("{},\"{}\",{},{},{},{:.6f}\n", kernel_name, row.method,
                          row.static_fraction ? fmt::format("{}", *row.static_fraction) : "", threads, round + 1,
                          row.times[round]);
    }
  }
  return text;
}

std::string picture_of(const std::string& title, const experiment_result& result) {
  tri::pictures::line_chart chart;
  chart.title = title;
  chart.x_label = "static fraction";
  chart.y_label = "milliseconds per step (median; bars: quartiles)";
  for (const auto& [kind, points] : curves_of(result)) {
    tri::pictures::line_chart::curve curve;
    curve.name = kind;
    for (const measured* point : points) {
      curve.points.push_back(
          {point->static_fraction.value_or(0.0), point->median(), point->quantile(0.25), point->quantile(0.75)});
    }
    std::sort(curve.points.begin(), curve.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    chart.curves.push_back(std::move(curve));
  }
  for (const measured& row : result.rows) {
    if (!row.in_sweep && !row.static_fraction && !row.times.empty()) chart.levels.push_back({row.method, row.median()});
  }
  return to_svg(chart);
}

}  // namespace kernels
