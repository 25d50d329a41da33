#include "flow/prediction/predicting_receiver.hpp"

#include <stdexcept>
#include <string>

namespace tri::flow::prediction {

predicting_receiver::predicting_receiver(std::uint32_t peers, const credit_options& options)
    : options_(options), predictor_(options.prediction), credits_(peers, options.pool_limit) {
  if (options.batch < 1) {
    throw std::invalid_argument("credits by prediction: a batch has at least 1 message, not " +
                                std::to_string(options.batch));
  }
}

std::span<const credit_message> predicting_receiver::received(std::uint32_t sender, std::uint64_t size) {
  leaving_.clear();
  if (size <= options_.largest_eager) predictor_.push({.address = 0, .size = size, .sender = sender});
  if (++since_plan_ == options_.batch) {
    since_plan_ = 0;
    plan();
  }
  if (since_plan_ == options_.batch / 2) credits_.flush(leaving_);
  return leaving_;
}

void predicting_receiver::plan() {
  expected_.clear();
  const int messages = options_.batch + options_.batch / 2;
  for (int ahead = 1; ahead <= messages; ++ahead) {
    // Nothing is known beyond the first message that is unknown.
    const std::optional<message_facts> next = predictor_.next(ahead);
    if (!next) break;
    expected_.push_back({.sender = next->sender, .size = next->size});
  }
  credits_.plan(expected_);
}

}  // namespace tri::flow::prediction
