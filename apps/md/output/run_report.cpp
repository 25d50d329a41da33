// See run_report.hpp.
#include "md/output/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace md {
namespace {

std::string section(std::string_view name, const run_report& report, double (*seconds)(const pe_report&, double)) {
  double least = 1e300;
  double most = 0.0;
  double sum = 0.0;
  for (const pe_report& pe : report.pes) {
    const double time = seconds(pe, report.seconds);
    least = std::min(least, time);
    most = std::max(most, time);
    sum += time;
  }
  const double average = sum / static_cast<double>(report.pes.size());
  return fmt::format("{:<10}| {:<10.4g} | {:<10.4g} | {:<10.4g} |{:6.2f}\n", name, least, average, most,
                     report.seconds > 0.0 ? 100.0 * average / report.seconds : 0.0);
}

}  // namespace

std::string describe_pes() {
  const int processes = tri::process_count();
  return fmt::format("{} PE{} in {} process{}", tri::pe_count(), tri::pe_count() == 1 ? "" : "s", processes,
                     processes == 1 ? "" : "es");
}

std::string format_report(const run_report& report) {
  const auto steps = static_cast<double>(report.steps);
  const double per_second = report.seconds > 0.0 ? steps / report.seconds : 0.0;
  std::string text = fmt::format("Loop time of {:.6g} on {} procs for {} steps with {} atoms\n\n", report.seconds,
                                 report.pes.size(), report.steps, report.atoms);
  text +=
      fmt::format("Performance: {:.3f} tau/day, {:.3f} timesteps/s, {:.3f} Matom-step/s\n\n",
                  per_second * 86400.0 * report.dt, per_second, per_second * static_cast<double>(report.atoms) * 1e-6);
  text += "Section   | min time s | avg time s | max time s | %total\n";
  text += "--------------------------------------------------------\n";
  text += section("Pair", report, [](const pe_report& pe, double) { return pe.pair_seconds; });
  text += section("Neigh", report, [](const pe_report& pe, double) { return pe.build_seconds; });
  text += section("Patch", report, [](const pe_report& pe, double) { return pe.patch_seconds; });
  if (std::any_of(report.pes.begin(), report.pes.end(), [](const pe_report& pe) { return pe.mesh_seconds > 0.0; }))
    text += section("Mesh", report, [](const pe_report& pe, double) { return pe.mesh_seconds; });
  text += section("Messages", report, [](const pe_report& pe, double total) {
    return std::max(0.0, total - pe.pair_seconds - pe.build_seconds - pe.patch_seconds - pe.mesh_seconds);
  });
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  for (const pe_report& pe : report.pes) {
    messages += pe.messages;
    bytes += pe.bytes_copied;
  }
  const double per_step = 1.0 / std::max(1.0, steps);
  text += fmt::format(
      "\n{} list builds; {:.4g} list entries per atom; {:.4g} messages between PEs and {:.4g} bytes copied into "
      "messages per step\n",
      report.list_builds,
      static_cast<double>(report.listed_pairs) / static_cast<double>(std::max<std::size_t>(1, report.atoms)),
      static_cast<double>(messages) * per_step, static_cast<double>(bytes) * per_step);
  const balancing_record& balancing = report.balancing;
  if (balancing.times > 0) {
    text += fmt::format("{} balancings by {} moved {} objects in {:.4g} s ({:.2g} % of the time)", balancing.times,
                        report.strategy, balancing.moved, balancing.seconds,
                        report.seconds > 0.0 ? 100.0 * balancing.seconds / report.seconds : 0.0);
    if (balancing.last_before > 0.0) {
      text += fmt::format("; the last one: longest time of a PE {:.3f} -> {:.3f} of the mean", balancing.last_before,
                          balancing.last_after);
    }
    text += "\n";
  }
  return text;
}

}  // namespace md
