#include "flow/prediction/periodicity_detector.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tri::flow::prediction {

periodicity_detector::periodicity_detector(int window, int longest_period)
    : window_(window), longest_period_(longest_period) {
  if (longest_period < 1 || window < longest_period || window > longest_window) {
    throw std::invalid_argument("period detector: 1 <= longest period <= window <= " + std::to_string(longest_window) +
                                " must hold, not longest period " + std::to_string(longest_period) + ", window " +
                                std::to_string(window));
  }
  const auto size = static_cast<std::size_t>(longest_period);
  end_ = size;
  history_.resize(2 * size);
  agreements_.resize(size);
}

void periodicity_detector::push(symbol value) {
  const auto size = static_cast<std::size_t>(longest_period_);
  const auto first =
      size - static_cast<std::size_t>(seen_);  // candidates longer than the stream have nothing to compare
  const symbol* const past = history_.data() + (end_ - size);
  std::int16_t* const agreements = agreements_.data();
  const auto window = static_cast<std::int16_t>(window_);
  std::int16_t longest = 0;
  // 16-bit values and no branch: compiled to vector instructions.
  for (std::size_t at = first; at < size; ++at) {
    const std::int16_t before = agreements[at];
    const auto grown = before < window ? static_cast<std::int16_t>(before + 1) : window;
    const std::int16_t now = past[at] == value ? grown : std::int16_t{0};
    agreements[at] = now;
    longest = now > longest ? now : longest;
  }
  longest_agreement_ = longest;

  if (end_ == history_.size()) {
    std::copy(history_.end() - static_cast<std::ptrdiff_t>(size), history_.end(), history_.begin());
    end_ = size;
  }
  history_[end_++] = value;
  if (seen_ < longest_period_) ++seen_;
  ++pushes_;
}

void periodicity_detector::clear() {
  seen_ = 0;
  longest_agreement_ = 0;
  end_ = static_cast<std::size_t>(longest_period_);
  std::fill(agreements_.begin(), agreements_.end(), std::int16_t{0});
}

int periodicity_detector::smallest_of_longest_agreement() const {
  for (int period = 1;; ++period) {
    if (agreement(period) == longest_agreement_) return period;
  }
}

}  // namespace tri::flow::prediction
