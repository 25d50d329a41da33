// Finds the best static fraction by trial, as a state machine that names the next fraction to run and is given its
// time: all fractions, or those near the model's. After V. Kale, PhD dissertation, Illinois 2015, sections on
// exhaustive search (chapter 2) and on search near the model (chapter 6). One thread at a time; any schedule that has a
// static fraction can be searched, the search is independent of the schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tri::schedules {

class fraction_search {
 public:
  enum class estimate : std::uint8_t { mean, median };
  struct options {
    double step = 0.01;
    std::uint32_t trials = 10;  ///< of each fraction
    estimate of = estimate::mean;
  };

  /// All fractions 0, step, 2 step, ..., 1. Throws std::invalid_argument when the step is not in (0, 1] or trials is 0.
  static fraction_search everywhere(const options& how);
  static fraction_search everywhere() { return everywhere(options{}); }
  /// `around` and the fractions of 0 .. 1 at most `radius` from it, in steps.
  static fraction_search near(double around, const options& how, double radius = 0.05);
  static fraction_search near(double around) { return near(around, options{}); }

  /// The fraction to run next; none: the search is over. The same until report() is called.
  std::optional<double> next() const;
  /// The time of a run with next(). A negative time or NaN is not counted; next() then repeats the fraction.
  void report(double time);

  bool over() const { return at_ == points_.size(); }
  /// The fastest fraction of those tried at least once, the largest of equals (it has the fewest claims).
  /// Nothing tried: the first one.
  double best() const;
  std::uint64_t trials() const { return reported_; }  ///< that were counted

  struct point {
    double static_fraction = 0.0;
    std::vector<double> times;
    double mean() const;
    double median() const;
    double deviation() const;  ///< of the sample
  };
  const std::vector<point>& curve() const { return points_; }
  /// A line `static_fraction,mean,deviation,trials` for every fraction tried, with a head line.
  std::string to_csv() const;

 private:
  fraction_search(const std::vector<double>& fractions, const options& how);
  double estimate_of(const point& tried) const;

  options how_;
  std::vector<point> points_;
  std::size_t at_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace tri::schedules
