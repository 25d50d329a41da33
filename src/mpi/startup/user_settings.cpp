#include "mpi/startup/user_settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "coll/cost_text.hpp"

namespace tri::mpi {
namespace {

constexpr const char* start_timeout_variable = "TRIREME_MPI_START_TIMEOUT";
constexpr const char* pretend_hosts_variable = "TRIREME_MPI_PRETEND_HOSTS";

std::string_view setting(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

template <class Number>
Number number_of_text(const char* variable, std::string_view text, Number otherwise) {
  if (text.empty()) return otherwise;
  Number value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    throw std::invalid_argument(fmt::format("{} is '{}'; it must be a whole number", variable, text));
  return value;
}

// Whole numbers; `trireme exec` turns 64K into one.
template <class Number>
Number number_in(const char* variable, Number otherwise) {
  return number_of_text(variable, setting(variable), otherwise);
}

std::optional<coll::cost_parameters> costs_of_collectives() {
  constexpr const char* variable = "TRIREME_MPI_COLLECTIVE_COSTS";
  const std::string_view text = setting(variable);
  if (text.empty()) return {};
  try {
    return coll::parse_costs(text);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("{}: {}", variable, problem.what()));
  }
}

}  // namespace

std::string wished_trace() { return std::string(setting("TRIREME_MPI_TRACE")); }

bool is_switched_off() { return setting("TRIREME_MPI") == "off"; }

bool is_wished() { return setting("TRIREME_MPI") == "on"; }

bool pretends_hosts() { return !setting(pretend_hosts_variable).empty(); }

int pretended_host_of(int world_rank, int ranks) {
  std::string_view text = setting(pretend_hosts_variable);
  if (text.empty()) return 0;
  constexpr std::string_view cyclic = ",cyclic";
  const bool is_cyclic = text.ends_with(cyclic);
  if (is_cyclic) text.remove_suffix(cyclic.size());
  const int hosts = number_of_text(pretend_hosts_variable, text, 1);
  if (hosts < 1)
    throw std::invalid_argument(fmt::format("{} is '{}'; there must be a host", pretend_hosts_variable, text));
  return 1 + (is_cyclic ? world_rank % hosts : static_cast<int>(std::int64_t{world_rank} * hosts / ranks));
}

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
  read.collective_costs = costs_of_collectives();
  read.domain = number_in("TRIREME_MPI_DOMAIN", no_domain);
  return read;
}

}  // namespace tri::mpi
