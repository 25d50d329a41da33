#include "mpi/startup/user_settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace tri::mpi {
namespace {

constexpr const char* start_timeout_variable = "TRIREME_MPI_START_TIMEOUT";

std::string_view setting(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

// Whole numbers; `trireme exec` turns 64K into one.
template <class Number>
Number number_in(const char* variable, Number otherwise) {
  const std::string_view text = setting(variable);
  if (text.empty()) return otherwise;
  Number value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    throw std::invalid_argument(fmt::format("{} is '{}'; it must be a whole number", variable, text));
  return value;
}

}  // namespace

bool is_switched_off() { return setting("TRIREME_MPI") == "off"; }

bool is_wished() { return setting("TRIREME_MPI") == "on"; }

bool wants_no_kernel_copies() { return setting("TRIREME_MPI_KERNEL_COPIES") == "off"; }

bool wants_reproducible_sums() { return setting("TRIREME_MPI_REPRODUCIBLE_SUMS") == "on"; }

statistics_wish wished_statistics() {
  return {.table = setting("TRIREME_MPI_STATISTICS") == "on",
          .file = std::string(setting("TRIREME_MPI_STATISTICS_FILE"))};
}

start_limits::start_limits() {
  try {
    const unsigned wanted = number_in(start_timeout_variable, ~0U);
    if (wanted != ~0U) to_come = to_speak = through_library = std::chrono::seconds(wanted);
  } catch (const std::invalid_argument&) {
  }
}

user_settings read_user_settings() {
  number_in(start_timeout_variable, 0U);
  user_settings read;
  engine_options& options = read.engine;
  options.sharing.from = number_in("TRIREME_MPI_SHARING_FROM", options.sharing.from);
  options.learns_sharing = setting("TRIREME_MPI_SHARING_FROM").empty();  // an explicit size is final
  if (const std::string_view text = setting("TRIREME_MPI_SHARING"); !text.empty()) {
    const sharing_choice chosen = parse_sharing(text);
    options.help = chosen.help;
    if (!chosen.on) options.sharing.from = ~std::size_t{0};
  }
  if (const std::string_view text = setting("TRIREME_MPI_PROGRESS"); !text.empty())
    read.progress = parse_progress(text);
  options.received_by_others = read.progress.mode == progress_mode::dynamic;
  read.domain = number_in("TRIREME_MPI_DOMAIN", no_domain);
  return read;
}

}  // namespace tri::mpi
