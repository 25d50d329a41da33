// Predicts a stream by its period, with the detector always running or only while nothing is certain (FA-04, the "short
// DPD" of Farreras 2008, chapter 3).
//
//   learning --(the whole window has a period)--> holding: the pattern is kept, the detector rests
//   holding  --(a value differs from the pattern)--> learning from that value on, everything before it forgotten
//
// While a period holds, a detector that went on would report the same one (window >= period). After a wrong value it
// would find that one again no sooner, since the wrong value disturbs its window twice; what is lost is a longer period
// that began before it: on streams with errors at a regular distance the full rule can be certain earlier. One thread
// at a time; no allocation after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/prediction/periodicity_detector.hpp"

namespace tri::flow::prediction {

enum class period_rule {
  full,   // the detector runs on every value, as in equation 3.1
  brief,  // the detector rests while a period holds
  early,  // as brief, and before a period is certain the likely one is used
};

class period_predictor {
 public:
  period_predictor(period_rule rule, int window, int longest_period)
      : rule_(rule), detector_(window, longest_period), pattern_(static_cast<std::size_t>(longest_period)) {}

  void push(symbol value) {
    if (holding_) {
      if (value == pattern_[cursor_]) {
        cursor_ = cursor_ + 1 == held_period_ ? 0 : cursor_ + 1;
        return;
      }
      holding_ = false;
      detector_.clear();
    }
    detector_.push(value);
    if (rule_ != period_rule::full && detector_.period() > 0) hold(detector_.period());
  }

  // The value `ahead` (from 1) values after the newest; nothing while no period is known.
  std::optional<symbol> next(int ahead) const {
    if (holding_) return pattern_[(cursor_ + static_cast<std::size_t>(ahead - 1)) % held_period_];
    const int known = rule_ == period_rule::early ? detector_.likely_period() : detector_.period();
    if (known == 0) return std::nullopt;
    return detector_.next(ahead, known);
  }

  // The certain period, 0 for none.
  int period() const { return holding_ ? static_cast<int>(held_period_) : detector_.period(); }
  bool holding() const { return holding_; }
  std::uint64_t detector_pushes() const { return detector_.pushes(); }
  std::size_t memory_bytes() const { return detector_.memory_bytes() + pattern_.size() * sizeof(symbol); }

 private:
  void hold(int period) {
    for (int ahead = 1; ahead <= period; ++ahead) {
      pattern_[static_cast<std::size_t>(ahead - 1)] = detector_.next(ahead, period);
    }
    held_period_ = static_cast<std::size_t>(period);
    cursor_ = 0;
    holding_ = true;
  }

  period_rule rule_;
  bool holding_ = false;
  std::size_t held_period_ = 0;
  std::size_t cursor_ = 0;  // of the next value in pattern_
  periodicity_detector detector_;
  std::vector<symbol> pattern_;
};

}  // namespace tri::flow::prediction
