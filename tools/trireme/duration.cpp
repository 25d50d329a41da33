#include "duration.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tri::tools {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 4> units{{{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};

}  // namespace

double parse_duration(std::string_view text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (error == std::errc() && number >= 0.0 && std::isfinite(number)) {
    for (const auto& [name, factor] : units)
      if (unit == name) return number * factor;
  }
  throw std::invalid_argument(
      fmt::format("'{}' is not a length of time; a number and ns, us, ms or s, such as 250us", text));
}

std::string format_duration(double nanoseconds) {
  double value = nanoseconds;
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= 999.5) {
    value /= 1e3;
    ++unit;
  }
  const double size = std::abs(value);
  return fmt::format("{:.{}f} {}", value, size >= 99.95 || size == 0.0 ? 0 : size >= 9.995 ? 1 : 2, units[unit].first);
}

}  // namespace tri::tools
