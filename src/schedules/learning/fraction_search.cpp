#include "schedules/learning/fraction_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tri::schedules {
namespace {

void check(const fraction_search::options& how) {
  if (!(how.step > 0.0 && how.step <= 1.0)) {
    throw std::invalid_argument(
        fmt::format("fraction search: the step is {}; it must be above 0 and at most 1", how.step));
  }
  if (how.trials == 0) throw std::invalid_argument("fraction search: trials is 0; it must be at least 1");
}

}  // namespace

double fraction_search::point::mean() const {
  return times.empty() ? 0.0 : std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

double fraction_search::point::median() const {
  if (times.empty()) return 0.0;
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double fraction_search::point::deviation() const {
  if (times.size() < 2) return 0.0;
  const double center = mean();
  double squares = 0.0;
  for (const double time : times) squares += (time - center) * (time - center);
  return std::sqrt(squares / static_cast<double>(times.size() - 1));
}

fraction_search::fraction_search(const std::vector<double>& fractions, const options& how) : how_(how) {
  for (const double fraction : fractions) points_.push_back({fraction, {}});
}

fraction_search fraction_search::everywhere(const options& how) {
  check(how);
  std::vector<double> fractions;
  // From the index, so that rounding does not add up; the end is always tried.
  for (std::uint64_t index = 0; static_cast<double>(index) * how.step < 1.0 - how.step * 1e-6; ++index) {
    fractions.push_back(static_cast<double>(index) * how.step);
  }
  fractions.push_back(1.0);
  return fraction_search(fractions, how);
}

fraction_search fraction_search::near(double around, const options& how, double radius) {
  check(how);
  if (!(around >= 0.0 && around <= 1.0)) {
    throw std::invalid_argument(
        fmt::format("fraction search: the fraction to search near is {}; it must lie between 0 and 1", around));
  }
  if (!(radius >= 0.0 && radius <= 1.0)) {
    throw std::invalid_argument(fmt::format("fraction search: the radius is {}; it must lie between 0 and 1", radius));
  }
  const auto steps = static_cast<std::int64_t>(radius / how.step + 1e-6);
  std::vector<double> fractions;
  for (std::int64_t index = -steps; index <= steps; ++index) {
    const double fraction = around + static_cast<double>(index) * how.step;
    if (fraction >= 0.0 && fraction <= 1.0) fractions.push_back(fraction);
  }
  return fraction_search(fractions, how);
}

std::optional<double> fraction_search::next() const {
  if (over()) return std::nullopt;
  return points_[at_].static_fraction;
}

void fraction_search::report(double time) {
  if (over() || !(time >= 0.0) || !std::isfinite(time)) return;
  point& current = points_[at_];
  current.times.push_back(time);
  ++reported_;
  if (current.times.size() == how_.trials) ++at_;
}

double fraction_search::estimate_of(const point& tried) const {
  return how_.of == estimate::mean ? tried.mean() : tried.median();
}

double fraction_search::best() const {
  const point* fastest = nullptr;
  for (const point& tried : points_) {
    if (tried.times.empty()) continue;
    if (fastest == nullptr || estimate_of(tried) <= estimate_of(*fastest)) fastest = &tried;
  }
  return fastest != nullptr ? fastest->static_fraction : points_.front().static_fraction;
}

std::string fraction_search::to_csv() const {
  std::string text = "static_fraction,mean,deviation,trials\n";
  for (const point& tried : points_) {
    if (tried.times.empty()) continue;
    text += fmt::format("{},{},{},{}\n", tried.static_fraction, tried.mean(), tried.deviation(), tried.times.size());
  }
  return text;
}

}  // namespace tri::schedules
