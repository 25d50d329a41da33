#include "slack/slack_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "schedules/learning/noise_samples.hpp"

namespace tri::tools {
namespace {

double us(double nanoseconds) { return nanoseconds / 1e3; }

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
// Of the values themselves, not an estimate for others: 0 for a single one.
double deviation_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

std::vector<operation_slack> slack_of(std::span<const operation_waits> waits) {
  std::vector<operation_slack> result;
  for (const operation_waits& each : waits) {
    operation_slack slack;
    slack.operation = each.operation;
    std::vector<double> means, deviations;
    for (std::size_t pe = 0; pe < each.of_pe.size(); ++pe) {
      if (each.of_pe[pe].empty())
        throw std::invalid_argument(fmt::format("slack: PE {} has no waits in {}", pe, each.operation));
      const schedules::sample_summary summary = schedules::summary_of(each.of_pe[pe]);
      slack.pes.push_back({summary.mean, summary.median, summary.largest, deviation_of(each.of_pe[pe])});
      means.push_back(summary.mean);
      deviations.push_back(slack.pes.back().deviation);
    }
    if (means.empty()) throw std::invalid_argument(fmt::format("slack: {} has no PEs", each.operation));
    slack.largest = *std::max_element(means.begin(), means.end());
    slack.mean = mean_of(means);
    slack.deviation_across = deviation_of(means);
    slack.deviation_within = mean_of(deviations);
    result.push_back(std::move(slack));
  }
  return result;
}

std::string to_text(std::span<const operation_slack> operations) {
  std::string text = fmt::format("{:<12} {:>9} {:>9} {:>13} {:>13}\n", "operation", "max us", "mean us", "sigma across",
                                 "sigma within");
  for (const operation_slack& each : operations) {
    text += fmt::format("{:<12} {:>9.2f} {:>9.2f} {:>13.2f} {:>13.2f}\n", each.operation, us(each.largest),
                        us(each.mean), us(each.deviation_across), us(each.deviation_within));
  }
  text += fmt::format("\n{:<12} {:>5} {:>9} {:>9} {:>9} {:>9}\n", "operation", "PE", "mean us", "median", "largest",
                      "sigma");
  for (const operation_slack& each : operations) {
    for (std::size_t pe = 0; pe < each.pes.size(); ++pe) {
      const pe_slack& own = each.pes[pe];
      text += fmt::format("{:<12} {:>5} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f}\n", each.operation, pe, us(own.mean),
                          us(own.median), us(own.largest), us(own.deviation));
    }
  }
  return text;
}

nlohmann::json to_json(std::span<const operation_slack> operations) {
  nlohmann::json all = nlohmann::json::array();
  for (const operation_slack& each : operations) {
    nlohmann::json pes = nlohmann::json::array();
    for (std::size_t pe = 0; pe < each.pes.size(); ++pe) {
      pes.push_back({{"pe", pe},
                     {"mean_us", us(each.pes[pe].mean)},
                     {"median_us", us(each.pes[pe].median)},
                     {"max_us", us(each.pes[pe].largest)},
                     {"sigma_us", us(each.pes[pe].deviation)}});
    }
    all.push_back({{"operation", each.operation},
                   {"max_us", us(each.largest)},
                   {"mean_us", us(each.mean)},
                   {"sigma_across_us", us(each.deviation_across)},
                   {"sigma_within_us", us(each.deviation_within)},
                   {"pes", pes}});
  }
  return all;
}

}  // namespace tri::tools
