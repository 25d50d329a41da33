#include "mpi/engine/progress_mode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace tri::mpi {

progress_choice parse_progress(std::string_view text) {
  if (text == "dynamic") return {progress_mode::dynamic};
  if (text == "thread") return {progress_mode::thread};
  constexpr std::string_view reserved = "reserved";
  if (text == reserved || text.starts_with("reserved,")) {
    progress_choice chosen{progress_mode::reserved};
    const std::string_view number = text.substr(std::min(reserved.size() + 1, text.size()));
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, chosen.cores);
    if (error == std::errc() && stop == end && chosen.cores > 0) return chosen;
    throw std::invalid_argument(fmt::format("progress '{}' needs a number of cores from 1 on, as in reserved,2", text));
  }
  throw std::invalid_argument(fmt::format("progress '{}' is not one of dynamic, thread and reserved,N", text));
}

}  // namespace tri::mpi
