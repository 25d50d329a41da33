#include "omp/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>

namespace tri::omp {
namespace {

constexpr int bad_setting_status = 2;
constexpr std::string_view prefix = "tri:";

}  // namespace

std::string settings::schedule_text() const { return takes ? loops::to_text(schedule) : "host"; }

settings read_settings(const char* trireme_schedule, const char* omp_schedule, const char* report, int process) {
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
  values.report = report != nullptr && *report != '\0';
  values.report_always = values.report && std::atoi(report) == process;
  return values;
}

const settings& the_settings() {
  static const settings values = [] {
    try {
      return read_settings(std::getenv(schedule_variable), std::getenv("OMP_SCHEDULE"), std::getenv(report_variable),
                           getpid());
    } catch (const std::exception& problem) {
      fmt::print(stderr, "trireme omp: {}\n", problem.what());
      _exit(bad_setting_status);
    }
  }();
  return values;
}

}  // namespace tri::omp
