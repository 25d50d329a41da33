#include "tune/trial_table.hpp"

#include <algorithm>
#include <limits>

namespace tri::tools {
namespace {

const trial_table::times* find(const std::map<std::string, trial_table::times>& known, const std::string& schedule) {
  const auto found = known.find(schedule);
  return found != known.end() ? &found->second : nullptr;
}

std::vector<double> in_order(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

double trial_table::times::median() const {
  const std::vector<double> sorted = in_order(all);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
double trial_table::times::lower_quartile() const { return all.size() < 3 ? median() : in_order(all)[all.size() / 4]; }
double trial_table::times::upper_quartile() const {
  return all.size() < 3 ? median() : in_order(all)[all.size() - 1 - all.size() / 4];
}
double trial_table::times::least() const { return *std::min_element(all.begin(), all.end()); }
double trial_table::times::largest() const { return *std::max_element(all.begin(), all.end()); }

void trial_table::add(const std::string& schedule, const trial& told) {
  if (std::find(order_.begin(), order_.end(), schedule) == order_.end()) order_.push_back(schedule);
  runs_[schedule].all.push_back(told.run_seconds);
  double sum = 0.0;
  bool any = false;
  for (const auto& [location, loop] : told.loops) {
    if (loop.schedule != schedule) continue;  // the program names it
    each_loop_[location][schedule].all.push_back(loop.seconds);
    sum += loop.seconds;
    any = true;
  }
  if (any) loops_[schedule].all.push_back(sum);
}

const trial_table::times* trial_table::of_run(const std::string& schedule) const { return find(runs_, schedule); }
const trial_table::times* trial_table::of_loops(const std::string& schedule) const { return find(loops_, schedule); }
const trial_table::times* trial_table::of_loop(const loop_location& location, const std::string& schedule) const {
  const auto found = each_loop_.find(location);
  return found != each_loop_.end() ? find(found->second, schedule) : nullptr;
}

trial_table::choice trial_table::choose(const by_schedule& known) const {
  choice result{baseline_, 0.0, 0.0};
  const times* const usual = find(known, baseline_);
  if (usual != nullptr) result.seconds = result.baseline_seconds = usual->median();
  const bool compares = result.baseline_seconds > 0.0;
  // In the order in which they were tried, so that of equals the first wins.
  for (const std::string& schedule : order_) {
    const times* const tried = find(known, schedule);
    if (tried == nullptr) continue;
    const double median = tried->median();
    const bool is_first = !compares && result.schedule == baseline_;
    const bool is_beyond_spread = !compares || (median < result.baseline_seconds * (1.0 - gain_) &&
                                                tried->upper_quartile() < usual->lower_quartile());
    if (is_first || (median < result.seconds && is_beyond_spread)) {
      result.schedule = schedule;
      result.seconds = median;
    }
  }
  return result;
}

trial_table::choice trial_table::best(measure by) const { return choose(table(by)); }

std::map<loop_location, trial_table::choice> trial_table::best_of_loops() const {
  std::map<loop_location, choice> result;
  for (const auto& [location, known] : each_loop_) result.emplace(location, choose(known));
  return result;
}

std::string trial_table::fastest(const std::vector<std::string>& among, measure by) const {
  std::string best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::string& schedule : among) {
    const times* const tried = find(table(by), schedule);
    if (tried == nullptr || !(tried->median() < least)) continue;
    least = tried->median();
    best = schedule;
  }
  return best;
}

}  // namespace tri::tools
