#include "loops/loop_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "config/json_number.hpp"
#include "os/cpu/pinning.hpp"
#include "os/cpu/topology.hpp"
#include "schedules/native_schedule.hpp"

namespace tri::loops {
namespace {

using nlohmann::json;

struct tuned_schedules {
  schedules::schedule usual;
  std::map<std::pair<std::string, std::uint32_t>, schedules::schedule> by_location;
};
// Never destroyed: loops may run while the process ends.
tuned_schedules& all_tuned() {
  static tuned_schedules* const all = new tuned_schedules;
  return *all;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

schedules::schedule schedule_of(const std::string& file, const std::string& text) {
  try {
    return schedules::parse_schedule(text);
  } catch (const std::invalid_argument& problem) {
    throw tune_file_error(fmt::format("{}: {}", file, problem.what()));
  }
}

}  // namespace

std::string machine_fingerprint() {
  const os::topology& machine = os::topology::shared("auto");
  // Of each level one size is enough: cores of different sorts have different ones.
  std::map<int, std::set<std::uint64_t>> sizes;
  for (const os::cache_info& each : machine.all_caches()) sizes[each.level].insert(each.bytes / 1024);
  std::string caches;
  for (const auto& [level, kib] : sizes) caches += fmt::format(", L{} {} KiB", level, fmt::join(kib, "/"));
  return fmt::format("{}, {} cores, {} CPUs{}", cpu_model(), machine.cores(), machine.pus().size(), caches);
}

tune_file tune_file::read(const std::string& name, const std::string& this_machine) {
  std::ifstream in(name);
  if (!in) throw tune_file_error(fmt::format("tune file {}: cannot be read; `trireme tune` writes one", name));
  tune_file result;
  try {
    const json all = json::parse(in);
    if (all.value("trireme_tune", json(0)) != 1)
      throw tune_file_error(fmt::format("tune file {}: this is not a tune file; `trireme tune` writes one", name));
    result.machine = all.at("machine").get<std::string>();
    result.program = all.value("program", "");
    result.schedule = all.value("schedule", "");
    result.omp = all.value("omp", false);
    for (const json& each : all.value("loops", json::array())) {
      result.loops.push_back({each.at("file").get<std::string>(),
                              config::json_number<std::uint32_t>(each, "line", 0, ~std::uint32_t{0}),
                              each.at("schedule").get<std::string>()});
    }
  } catch (const std::out_of_range& problem) {
    throw tune_file_error(fmt::format("tune file {}: {}", name, problem.what()));
  } catch (const json::exception& problem) {
    throw tune_file_error(fmt::format("tune file {}: cannot be understood: {}", name, problem.what()));
  }
  const std::string what = "tune file " + name;
  const bool native = result.omp && schedules::is_native_schedule(result.schedule);  // left to the OpenMP runtime
  if (!result.schedule.empty() && !native) schedule_of(what, result.schedule);
  for (const tuned_loop& each : result.loops)
    schedule_of(fmt::format("{}, loop at {}:{}", what, each.file, each.line), each.schedule);
  if (result.machine != this_machine) {
    throw tune_file_error(fmt::format(
        "tune file {}: it was made on another machine ({}); this one is {}: run `trireme tune` here, or do without it",
        name, result.machine, this_machine));
  }
  return result;
}

void set_loop_tuning(const std::string& schedule_text, const std::string& file) {
  if (schedule_text == "automatic" && file.empty()) return;
  tuned_schedules& all = all_tuned();
  try {
    all.usual = schedules::parse_schedule(schedule_text);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("loops_schedule: {}", problem.what()));
  }
  if (!file.empty()) {
    const tune_file tuned = tune_file::read(file, machine_fingerprint());
    if (tuned.omp) {
      throw tune_file_error(fmt::format(
          "tune file {}: it is for an OpenMP program; `trireme exec --omp --tune-file {}` uses it", file, file));
    }
    if (!tuned.schedule.empty() && schedule_text == "automatic") all.usual = schedules::parse_schedule(tuned.schedule);
    for (const tuned_loop& each : tuned.loops)
      all.by_location.insert_or_assign({each.file, each.line}, schedules::parse_schedule(each.schedule));
  }
  tuning.store(true, std::memory_order_relaxed);  // relaxed: as declared
}

const schedules::schedule& default_schedule() { return all_tuned().usual; }

const schedules::schedule& tuned_schedule(const std::source_location& location) {
  const tuned_schedules& all = all_tuned();
  const auto found = all.by_location.find({location.file_name(), location.line()});
  return found != all.by_location.end() ? found->second : all.usual;
}

}  // namespace tri::loops
