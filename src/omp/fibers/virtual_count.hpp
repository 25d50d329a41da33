// How many virtual threads there are for each thread of the native runtime, as users write it. Shared by the drop-in
// and the command that starts programs under it.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace tri::omp {

inline constexpr const char* virtual_variable = "TRIREME_OMP_VIRTUAL";
inline constexpr std::string_view virtual_automatic = "auto";  // `trireme exec` puts a number in its place
inline constexpr std::uint32_t most_virtual_per_thread = 1024;

// Throws std::invalid_argument that names `source`.
inline std::uint32_t parse_virtual_count(std::string_view source, std::string_view text) {
  std::uint32_t count = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (problem != std::errc{} || end != text.data() + text.size() || count == 0 || count > most_virtual_per_thread) {
    throw std::invalid_argument(
        fmt::format("{}: '{}' is not a number of virtual threads for each thread; it must be a whole number from 1 to "
                    "{} (4 to 16 are of use), or, for `trireme exec`, {}",
                    source, text, most_virtual_per_thread, virtual_automatic));
  }
  return count;
}

// Thrown when the schedule is also `native`.
inline std::invalid_argument native_schedule_problem(std::string_view source) {
  return std::invalid_argument(
      fmt::format("{}: the schedule `native` leaves loops to a runtime that knows nothing of virtual threads; choose "
                  "another schedule, or none",
                  source));
}

}  // namespace tri::omp
