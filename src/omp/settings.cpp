#include "omp/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "loops/loop_memory.hpp"

namespace tri::omp {
namespace {

constexpr int bad_setting_status = 2;
constexpr std::string_view prefix = "tri:";

double microseconds_of(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0.0) || !std::isfinite(value)) {
    throw std::invalid_argument(
        fmt::format("{} is '{}'; it must be a number of microseconds, 0 or more, such as 250", noise_variable, text));
  }
  return value;
}

}  // namespace

std::string settings::schedule_text() const { return takes ? loops::to_text(schedule) : "host"; }

settings read_settings(const char* trireme_schedule, const char* omp_schedule, const char* noise, const char* report,
                       int process) {
  settings values;
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
    if (text == "host") {
      values.takes = false;
    } else {
      try {
        values.schedule = loops::parse_schedule(text);
      } catch (const std::invalid_argument& problem) {
        throw std::invalid_argument(
            fmt::format("{}: {}; `host` leaves all loops to the OpenMP runtime", variable, problem.what()));
      }
    }
  }
  values.learns = loops::learns(values.schedule);
  values.weights = values.takes && (values.schedule.weights || values.schedule.kind == loops::schedule_kind::weighted ||
                                    values.schedule.kind == loops::schedule_kind::weighted_tasklets);
  if (noise != nullptr && *noise != '\0') values.noise_us = microseconds_of(noise);
  values.report = report != nullptr && *report != '\0';
  values.report_always = values.report && std::atoi(report) == process;
  return values;
}

const settings& the_settings() {
  static const settings values = [] {
    try {
      return read_settings(std::getenv(schedule_variable), std::getenv("OMP_SCHEDULE"), std::getenv(noise_variable),
                           std::getenv(report_variable), getpid());
    } catch (const std::exception& problem) {
      fmt::print(stderr, "trireme omp: {}\n", problem.what());
      _exit(bad_setting_status);
    }
  }();
  return values;
}

}  // namespace tri::omp
