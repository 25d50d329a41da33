#include "mpi/engine/numa_help_policy.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tri::mpi {

sharing_choice parse_sharing(std::string_view text) {
  if (text == "off") return {false, {}};
  if (text == "near") return {true, {help_strategy::near}};
  if (text == "mixed") return {true, {help_strategy::mixed}};
  constexpr std::string_view throughput = "throughput";
  if (text.starts_with(throughput)) {
    std::string_view number = text.substr(throughput.size());
    help_rule rule{help_strategy::throughput, 0};
    if (number.starts_with(',')) {
      number.remove_prefix(1);
      const char* const end = number.data() + number.size();
      const auto [stop, error] = std::from_chars(number.data(), end, rule.saturation);
      if (error == std::errc() && stop == end && rule.saturation > 0) return {true, rule};
    }
    if (number.empty() || text[throughput.size()] == ',') {
      throw std::invalid_argument(fmt::format(
          "sharing '{}' needs the number of ranks that take all that the memory of a NUMA domain gives, as in "
          "throughput,4; `trireme info --saturation` measures it",
          text));
    }
  }
  throw std::invalid_argument(fmt::format("sharing '{}' is not one of off, near, mixed and throughput,N", text));
}

}  // namespace tri::mpi
