// See method.hpp.
#include "method.hpp"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace kernels {
namespace {

constexpr std::string_view graph_name = "tasks";
constexpr double usual_task_fraction = 0.8;

double read_fraction(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0.0 && value <= 1.0)) {
    throw std::invalid_argument(
        fmt::format("tasks: the static fraction is '{}'; it must be a number between 0 and 1, as in tasks,0.8", text));
  }
  return value;
}

}  // namespace

method::method(const std::string& text) : text_(text) {
  const std::string_view whole = text_;
  is_task_graph_ = whole == graph_name || whole.starts_with("tasks,");
  if (is_task_graph_) {
    task_fraction_ = whole == graph_name ? usual_task_fraction : read_fraction(whole.substr(graph_name.size() + 1));
  } else {
    schedule_ = tri::schedules::parse_schedule(text);
  }
}

std::optional<double> method::static_fraction() const {
  if (is_task_graph_) return task_fraction_;
  if (!tri::schedules::has_static_fraction(schedule_.kind) || tri::schedules::has_model(schedule_.kind))
    return std::nullopt;
  return schedule_.static_fraction;
}

tri::loop_options method::loop(std::size_t number) {
  while (records_.size() <= number) records_.emplace_back();
  tri::loop_options options(schedule_);
  options.record = &records_[number];
  return options;
}

std::vector<std::string> all_schedules() {
  using tri::schedules::schedule_kind;
  std::vector<std::string> texts;
  for (auto kind = schedule_kind::automatic; kind <= schedule_kind::combined;
       kind = static_cast<schedule_kind>(static_cast<int>(kind) + 1)) {
    tri::schedules::schedule which;
    which.kind = kind;
    texts.push_back(tri::schedules::to_text(which));
    if (kind == schedule_kind::tasklets) {
      which.skewed = true;
      texts.push_back(tri::schedules::to_text(which));
    }
  }
  return texts;
}

}  // namespace kernels
