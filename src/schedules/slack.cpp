// Prediction of slack: last value or median per key, and which operation follows which loop.
#include "trireme/slack.hpp"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "os/hash.hpp"

namespace tri::slack {
namespace {

struct name_table {
  std::mutex mutex;
  std::map<std::uint64_t, std::string> names;
};
// Never destroyed, like the predictor of the process: reports at its very end still use it.
name_table& known_names() {
  static name_table& table = *new name_table;
  return table;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double amount(double time) { return time > 0.0 && std::isfinite(time) ? time : 0.0; }

void check(const settings& how) {
  if (how.window == 0) throw std::invalid_argument("slack: the window is 0 waits; it must be at least 1");
}

}  // namespace

std::uint64_t operation_type(std::string_view name) {
  const std::uint64_t type = os::hashed(name);
  name_table& table = known_names();
  const std::lock_guard lock(table.mutex);
  table.names.try_emplace(type, name);
  return type;
}

std::string operation_name(std::uint64_t type) {
  name_table& table = known_names();
  const std::lock_guard lock(table.mutex);
  const auto found = table.names.find(type);
  return found != table.names.end() ? found->second : "operation " + std::to_string(type);
}

std::uint64_t call_path() {
  std::array<void*, 48> frames;
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  std::uint64_t path = os::hash_of_nothing;
  // The first frame is this function.
  for (int index = 1; index < count; ++index) {
    path = os::hashed_word(path, reinterpret_cast<std::uint64_t>(frames[static_cast<std::size_t>(index)]));
  }
  return path;
}

predictor::predictor(const settings& how) : how_(how) { check(how); }

void predictor::set_naive(double time) {
  const std::lock_guard lock(mutex_);
  naive_ = amount(time);
}

double predictor::naive() const {
  const std::lock_guard lock(mutex_);
  return naive_;
}

void predictor::set(const settings& how) {
  check(how);
  const std::lock_guard lock(mutex_);
  how_ = how;
  pasts_.clear();
  least_.clear();
  ended_.reset();
  waits_ = 0;
  sum_of_waits_ = sum_of_errors_ = 0.0;
}

std::uint64_t predictor::key_of(const operation& which) const {
  return how_.by == history::call_path ? os::hashed_word(which.type, which.call_path) : which.type;
}

double predictor::prediction(const operation& which) const {
  if (how_.by == history::off) return 0.0;
  if (how_.by == history::naive) return naive_;
  const auto found = pasts_.find(key_of(which));
  return found == pasts_.end() ? naive_ : median_of(found->second.waits);
}

double predictor::predicted(const operation& which) const {
  const std::lock_guard lock(mutex_);
  return prediction(which);
}

void predictor::waited(const operation& which, double time) {
  const std::lock_guard lock(mutex_);
  if (how_.by == history::off) return;
  if (ended_ != nullptr) {
    ended_->followed_by = loop_link::state::blocking;
    ended_->next = which;
    ended_.reset();
  }
  double wait = amount(time);
  const std::uint64_t key = key_of(which);
  const bool fits = pasts_.size() < most_keys && least_.size() < most_keys;
  if (how_.subtract_least) {
    const std::pair of_size{key, which.bytes};
    const auto shortest = fits ? least_.try_emplace(of_size, wait).first : least_.find(of_size);
    if (shortest == least_.end()) return;
    shortest->second = std::min(shortest->second, wait);
    wait -= shortest->second;
  }
  ++waits_;
  sum_of_waits_ += wait;
  sum_of_errors_ += std::abs(wait - prediction(which));
  if (how_.by == history::naive) return;
  const auto found = fits ? pasts_.try_emplace(key).first : pasts_.find(key);
  if (found == pasts_.end()) return;
  past& own = found->second;
  if (own.waits.size() < how_.window) {
    own.waits.push_back(wait);
  } else {
    own.waits[own.next] = wait;
  }
  own.next = (own.next + 1) % how_.window;
}

void predictor::loop_ended(const loop_link& loop) {
  const std::lock_guard lock(mutex_);
  // Nothing blocked since the loop before, so delay of that one passes on to this one.
  if (ended_ != nullptr && ended_ != loop.state_) ended_->followed_by = loop_link::state::another_loop;
  ended_ = loop.state_;
}

double predictor::before_loop(const loop_link& loop) const {
  const std::lock_guard lock(mutex_);
  if (how_.by == history::off) return 0.0;
  switch (loop.state_->followed_by) {
    case loop_link::state::unknown:
      return naive_;
    case loop_link::state::another_loop:
      return 0.0;
    case loop_link::state::blocking:
      break;
  }
  return prediction(loop.state_->next);
}

std::optional<operation> predictor::after(const loop_link& loop) const {
  const std::lock_guard lock(mutex_);
  if (loop.state_->followed_by != loop_link::state::blocking) return std::nullopt;
  return loop.state_->next;
}

error_report predictor::errors() const {
  const std::lock_guard lock(mutex_);
  if (waits_ == 0) return {};
  const auto count = static_cast<double>(waits_);
  return {waits_, sum_of_waits_ / count, sum_of_errors_ / count};
}

predictor& of_this_process() {
  static predictor& shared = *new predictor({.by = history::off});
  return shared;
}

double naive_slack(std::span<const double> waits) {
  return waits.empty() ? 0.0 : std::accumulate(waits.begin(), waits.end(), 0.0) / static_cast<double>(waits.size());
}

error_report errors_on(std::span<const std::pair<operation, double>> waits, const settings& how, double naive) {
  predictor trial(how);
  trial.set_naive(naive);
  for (const auto& [which, time] : waits) trial.waited(which, time);
  return trial.errors();
}

}  // namespace tri::slack
