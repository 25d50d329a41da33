#include "plan/cost_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

#include "duration.hpp"

namespace tri::tools {
namespace {

constexpr const char* version_key = "trireme_tune_collectives";
constexpr int version = 1;

}  // namespace

nlohmann::json to_json(const cost_file& file) {
  nlohmann::json costs = nlohmann::json::object();
  for (const coll::cost_parameter& each : coll::all_cost_parameters())
    costs[std::string(each.name)] = file.costs.*each.value;
  return {{version_key, version}, {"measured_by", file.measured_by}, {"costs", costs}, {"assumed", file.assumed}};
}

bool is_cost_file(const std::string& name) {
  std::ifstream in(name);
  const nlohmann::json all = nlohmann::json::parse(in, nullptr, false);
  return all.is_object() && all.contains(version_key);
}

cost_file read_cost_file(const std::string& name) {
  std::ifstream in(name);
  if (!in)
    throw std::invalid_argument(fmt::format("'{}' cannot be read; `trireme tune --collectives` writes it", name));
  try {
    const nlohmann::json all = nlohmann::json::parse(in);
    if (!all.contains(version_key) || all.at(version_key) != version)
      throw std::invalid_argument("it was not written by this version of `trireme tune --collectives`");
    cost_file file;
    file.measured_by = all.at("measured_by").get<std::string>();
    file.assumed = all.at("assumed").get<std::vector<std::string>>();
    for (const coll::cost_parameter& each : coll::all_cost_parameters()) {
      const double value = all.at("costs").at(std::string(each.name)).get<double>();
      if (!std::isfinite(value) || value < 0)
        throw std::invalid_argument(fmt::format("{} is {}; it must be 0 or more", each.name, value));
      file.costs.*each.value = value;
    }
    return file;
  } catch (const std::exception& problem) {  // of the parser, too
    throw std::invalid_argument(fmt::format("'{}': {}", name, problem.what()));
  }
}

std::string table_of(const cost_file& file) {
  std::string text;
  for (const coll::cost_parameter& each : coll::all_cost_parameters()) {
    const bool is_assumed = std::find(file.assumed.begin(), file.assumed.end(), each.name) != file.assumed.end();
    const double value = file.costs.*each.value;
    text += fmt::format("{:<20}{:>12}  {}{}\n", each.name,
                        value < 100 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value), each.meaning,
                        is_assumed ? " (not measured)" : "");
  }
  return text;
}

std::string summary_of(const coll::cost_parameters& costs) {
  return fmt::format("L {}, o {}, g {}, {:.3g} GB/s, signal {}", format_duration(costs.latency),
                     format_duration(costs.overhead), format_duration(costs.gap), 1 / costs.per_byte,
                     format_duration(costs.signal));
}

}  // namespace tri::tools
