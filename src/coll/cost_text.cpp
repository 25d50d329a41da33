#include "coll/cost_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "coll/cost_fit.hpp"

namespace tri::coll {

std::string text_of(const cost_parameters& costs) {
  std::string text;
  for (const cost_parameter& each : all_cost_parameters())
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", each.name, costs.*each.value);
  return text;
}

cost_parameters parse_costs(std::string_view text) {
  cost_parameters costs;
  std::vector<std::string_view> missing;
  for (const cost_parameter& each : all_cost_parameters()) missing.push_back(each.name);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::string_view name = part.substr(0, part.find('='));
    const auto& all = all_cost_parameters();
    const auto found = std::ranges::find(all, name, &cost_parameter::name);
    if (found == all.end())
      throw std::invalid_argument(fmt::format("'{}' is no cost; those are {}", part, fmt::join(missing, ", ")));
    const std::string_view value = part.substr(std::min(part.size(), name.size() + 1));
    double& cost = costs.*found->value;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), cost);
    if (error != std::errc() || stop != value.data() + value.size() || !std::isfinite(cost) || cost < 0)
      throw std::invalid_argument(
          fmt::format("{} is '{}'; it must be a number of nanoseconds, 0 or more", name, value));
    std::erase(missing, name);
  }
  if (!missing.empty()) throw std::invalid_argument(fmt::format("{} is missing", missing.front()));
  return costs;
}

}  // namespace tri::coll
