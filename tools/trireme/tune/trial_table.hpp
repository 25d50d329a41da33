// Times of a program, and of each of its loops, under several schedules, and which schedule is best for which. Plain
// values; times in seconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tri::tools {

/// A loop of the program: "file:line".
struct loop_location {
  std::string file;
  std::uint32_t line = 0;
  friend auto operator<=>(const loop_location&, const loop_location&) = default;
};

/// The result of one run.
struct trial {
  double run_seconds = 0.0;
  struct loop_time {
    double seconds = 0.0;
    std::string schedule;  ///< actually used: not the requested one if the program names its own
  };
  std::map<loop_location, loop_time> loops;
};

class trial_table {
 public:
  /// `baseline`: the schedule that stays unless another one is faster by more than `gain` (0.01: one per cent), and by
  /// more than the trials differ among themselves: the middle halves of its trials and of the baseline's do not
  /// overlap.
  trial_table(std::string baseline, double gain) : baseline_(std::move(baseline)), gain_(gain) {}

  void add(const std::string& schedule, const trial& told);

  struct times {
    std::vector<double> all;
    double median() const;
    /// The trial below which a quarter of them is, and the one above which a quarter is (the median of one or two).
    double lower_quartile() const;
    double upper_quartile() const;
    double least() const;
    double largest() const;
  };
  /// Nothing for a schedule, or a loop, that was never run.
  const times* of_run(const std::string& schedule) const;
  const times* of_loops(const std::string& schedule) const;  ///< all tunable loops of a run together
  const times* of_loop(const loop_location& location, const std::string& schedule) const;

  struct choice {
    std::string schedule;
    double seconds = 0.0;
    double baseline_seconds = 0.0;
  };
  enum class measure : std::uint8_t { run, loops };
  /// The schedule with the least median, or the baseline.
  choice best(measure by) const;
  /// For each loop whose schedule can be chosen.
  std::map<loop_location, choice> best_of_loops() const;
  /// The fastest of these, whatever the baseline.
  std::string fastest(const std::vector<std::string>& among, measure by) const;

  const std::vector<std::string>& schedules() const { return order_; }  ///< as they were first added

 private:
  using by_schedule = std::map<std::string, times>;
  choice choose(const by_schedule& known) const;
  const by_schedule& table(measure by) const { return by == measure::run ? runs_ : loops_; }

  std::string baseline_;
  double gain_;
  std::vector<std::string> order_;
  by_schedule runs_;
  by_schedule loops_;
  std::map<loop_location, by_schedule> each_loop_;
};

}  // namespace tri::tools
