// DPD, the dynamic periodicity detector: M. Farreras, "Optimizing programming models for massively parallel computers"
// (UPC, 2008), chapter 3, equation 3.1 (FA-02, FA-03). A stream has period m when each of its last `window` values
// equals the one m before it. Only the sign of the thesis' sum is used, so instead of the sum the detector keeps for
// each m how many comparisons in a row have agreed: one comparison per candidate and value, no second one for the value
// that leaves the window, and a history of `longest_period` values instead of window + longest_period.
//
// Invariant: agreement(m) = min(window, number of latest k with k >= m and x(k) == x(k-m) in a row).
// One thread at a time; nothing is allocated after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/prediction/symbol.hpp"

namespace tri::flow::prediction {

class periodicity_detector {
 public:
  static constexpr int longest_window = 32767;  // agreements are counted in 16 bits, which is what makes a push cheap

  // 1 <= longest_period <= window <= longest_window, or std::invalid_argument. A window shorter than the longest run of
  // equal values inside the true pattern reports period 1 within that run.
  periodicity_detector(int window, int longest_period);

  void push(symbol value);
  void clear();

  // The smallest period that the whole window has, 0 for none. First possible window + m values after a start.
  int period() const { return longest_agreement_ == window_ ? smallest_of_longest_agreement() : 0; }

  // The smallest period among those that have agreed longest, 0 while nothing agrees: a guess before the window is
  // full, which has seen a pattern once and its first value again.
  int likely_period() const { return longest_agreement_ > 0 ? smallest_of_longest_agreement() : 0; }

  // The value `ahead` (from 1) values after the newest if the stream continues with `period` (returned by the
  // detector): the last period read cyclically.
  symbol next(int ahead, int period) const {
    const int into_period = (ahead - 1) % period;
    return history_[end_ - static_cast<std::size_t>(period - into_period)];
  }

  int agreement(int period) const { return agreements_[static_cast<std::size_t>(longest_period_ - period)]; }
  int window() const { return window_; }
  int longest_period() const { return longest_period_; }
  std::uint64_t pushes() const { return pushes_; }
  std::size_t memory_bytes() const {
    return history_.size() * sizeof(symbol) + agreements_.size() * sizeof(std::int16_t);
  }

 private:
  int smallest_of_longest_agreement() const;

  int window_;
  int longest_period_;
  int seen_ = 0;  // values since the start, up to longest_period_: only this many candidates can be compared
  std::int16_t longest_agreement_ = 0;
  std::size_t end_;              // behind the newest value; longest_period_ values before it are valid memory
  std::vector<symbol> history_;  // twice longest_period_; moved to the front once per longest_period_ values
  std::vector<std::int16_t>
      agreements_;  // [longest_period - m]: in the order of history_, so that the loop is straight
  std::uint64_t pushes_ = 0;
};

}  // namespace tri::flow::prediction
