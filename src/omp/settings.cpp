#include "omp/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/suggestion.hpp"
#include "schedules/loop_memory.hpp"
#include "schedules/native_schedule.hpp"

namespace tri::omp {
namespace {

constexpr int bad_setting_status = 2;
constexpr std::string_view prefix = "tri:";

double microseconds_of(const char* variable, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !(value >= 0.0) || !std::isfinite(value)) {
    throw std::invalid_argument(
        fmt::format("{} is '{}'; it must be a number of microseconds, 0 or more, such as 250", variable, text));
  }
  return value;
}

[[noreturn]] void refuse_slack(std::string_view word) {
  const std::vector<std::string> words{"call-path", "operation", "naive=250", "off", "window=3"};
  throw std::invalid_argument(
      fmt::format("{}: '{}' is unknown; it must be one of call-path, operation, "
                  "naive, naive=MICROSECONDS, off, optionally followed by window=N with N of 1 or more{}",
                  slack_variable, word, config::did_you_mean(word, words, "; did you mean ", "?")));
}

void read_slack(std::string_view text, settings& values) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string value(word.substr(std::min(word.find('=') + 1, word.size())));
    if (word == "call-path") {
      values.slack.by = slack::history::call_path;
    } else if (word == "operation") {
      values.slack.by = slack::history::operation;
    } else if (word == "off") {
      values.slack.by = slack::history::off;
    } else if (word == "naive") {
      values.slack.by = slack::history::naive;
      values.measures_naive_slack = true;
    } else if (word.starts_with("naive=")) {
      values.slack.by = slack::history::naive;
      values.naive_slack_us = microseconds_of(slack_variable, value);
    } else if (word.starts_with("window=") && !value.empty() && value.size() < 7 &&
               value.find_first_not_of("0123456789") == std::string::npos && std::stoul(value) > 0) {
      values.slack.window = static_cast<std::uint32_t>(std::stoul(value));
    } else {
      refuse_slack(word);
    }
  }
}

}  // namespace

std::string settings::schedule_text() const {
  return takes ? schedules::to_text(schedule) : schedules::native_schedule;
}

settings read_settings(const char* trireme_schedule, const char* omp_schedule, const char* noise, const char* waits,
                       const char* report, int process) {
  settings values;
  values.standard_schedule =
      omp_schedule != nullptr && *omp_schedule != '\0' && !std::string_view(omp_schedule).starts_with(prefix);
  const char* variable = nullptr;
  std::string_view text;
  if (trireme_schedule != nullptr && *trireme_schedule != '\0') {
    variable = schedule_variable;
    text = trireme_schedule;
  } else if (omp_schedule != nullptr && std::string_view(omp_schedule).starts_with(prefix)) {
    variable = "OMP_SCHEDULE";
    text = omp_schedule;
  }
  if (variable != nullptr) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    if (schedules::is_native_schedule(text)) {
      values.takes = false;
    } else {
      try {
        values.schedule = schedules::parse_schedule(text);
      } catch (const std::invalid_argument& problem) {
        throw std::invalid_argument(
            fmt::format("{}: {}; `native` leaves all loops to the OpenMP runtime", variable, problem.what()));
      }
    }
  }
  values.learns = schedules::learns(values.schedule);
  values.weights =
      values.takes && (values.schedule.weights || values.schedule.kind == schedules::schedule_kind::weighted ||
                       values.schedule.kind == schedules::schedule_kind::weighted_tasklets);
  if (noise != nullptr && *noise != '\0') values.noise_us = microseconds_of(noise_variable, noise);
  values.uses_slack = values.takes && (values.schedule.kind == schedules::schedule_kind::slack_conscious ||
                                       values.schedule.kind == schedules::schedule_kind::combined);
  if (waits != nullptr && *waits != '\0') read_slack(waits, values);
  values.report = report != nullptr && *report != '\0';
  values.report_always = values.report && std::atoi(report) == process;
  return values;
}

const settings& the_settings() {
  static const settings values = [] {
    try {
      return read_settings(std::getenv(schedule_variable), std::getenv("OMP_SCHEDULE"), std::getenv(noise_variable),
                           std::getenv(slack_variable), std::getenv(report_variable), getpid());
    } catch (const std::exception& problem) {
      fmt::print(stderr, "trireme omp: {}\n", problem.what());
      _exit(bad_setting_status);
    }
  }();
  return values;
}

}  // namespace tri::omp
