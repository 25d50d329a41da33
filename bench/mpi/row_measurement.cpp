#include "mpi/row_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "framework/statistics.hpp"

namespace tri::bench {

std::vector<double> all_rounds(const std::vector<std::vector<double>>& rounds) {
  std::vector<double> all;
  for (const std::vector<double>& round : rounds) all.insert(all.end(), round.begin(), round.end());
  return all;
}

double in_unit(double sample, const std::string& unit) {
  return unit == "%" ? sample : nanoseconds_in_unit(sample, unit);
}

bool higher_is_better(const std::string& unit) { return unit == "%" || unit == "M/s"; }

std::vector<double> ratios(const std::vector<std::vector<double>>& of, const std::vector<std::vector<double>>& to) {
  std::vector<double> made;
  for (std::size_t round = 0; round < std::min(of.size(), to.size()); ++round) {
    const double base = summarize(to[round]).median;
    if (base > 0) made.push_back(summarize(of[round]).median / base);
  }
  return made;
}

field peers_of(const mpi_result& result, const std::string& own, const std::string& series, const std::string& unit,
               bool higher) {
  field found;
  double best = 0;
  for (const auto& [name, all] : result.of) {
    const auto samples = all.find(series);
    if (name == own || samples == all.end()) continue;
    const double median = in_unit(summarize(all_rounds(samples->second)).median, unit);
    found.made.peers[name] = median;
    if (name.starts_with("trireme/")) continue;
    if (found.best.empty() || (higher ? median > best : median < best)) {
      found.best = name;
      best = median;
    }
  }
  for (const auto& [name, fault] : result.faults) {
    if (name != own)
      found.made.note += fmt::format("{}without {}: {}", found.made.note.empty() ? "" : "; ", name, fault);
  }
  return found;
}

bool have(mpi_comparison& libraries, const mpi_result& result, const std::string& own, measurement& made) {
  if (const auto fault = result.faults.find(own); fault != result.faults.end()) throw std::runtime_error(fault->second);
  made.not_available = libraries.why_not(own);
  return made.not_available.empty();
}

measurement measure_row(mpi_comparison& libraries, const std::string& abi, const mpi_row& about) {
  const std::string own = "trireme/" + abi;
  if (about.task.network && !why_no_host_network().empty()) return {.not_available = why_no_host_network()};
  const mpi_result& result = libraries.hold(about.task);
  auto [made, best] = peers_of(result, own, about.series, about.unit, higher_is_better(about.unit));
  if (!have(libraries, result, own, made)) return std::move(made);
  const auto& rounds = result.of.at(own).at(about.series);
  for (const double sample : all_rounds(rounds)) {
    if (about.unit == "%")
      made.values.push_back(sample);
    else
      made.samples.operation_ns.push_back(sample);
  }
  made.counts = about.counts;
  if (about.unit != "%" && !best.empty()) {
    made.reference =
        comparison{fmt::format("the best peer, {}", best), ratios(rounds, result.of.at(best).at(about.series))};
  }
  return std::move(made);
}

row_definition row_of(const std::string& suite, const std::string& abi, const mpi_row& about,
                      std::function<mpi_comparison&(context&)> comparison) {
  return {.name = fmt::format("{}/{}/{}", suite, abi, about.name),
          .unit = about.unit,
          .direction = higher_is_better(about.unit) ? better::higher : better::lower,
          .target = about.target,
          .target_ratio = about.target_ratio,
          .description = about.description,
          .measure = [=, comparison = std::move(comparison)](context& tools) {
            return measure_row(comparison(tools), abi, about);
          }};
}

std::function<mpi_comparison&(context&)> shared_comparison(const std::string& program) {
  const auto shared = std::make_shared<std::unique_ptr<mpi_comparison>>();
  return [shared, program](context& tools) -> mpi_comparison& {
    if (!*shared) *shared = std::make_unique<mpi_comparison>(program, tools.runner().options());
    return **shared;
  };
}

}  // namespace tri::bench
