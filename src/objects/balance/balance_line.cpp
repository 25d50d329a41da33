#include "objects/balance/balance_line.hpp"

#include <fmt/format.h>

namespace tri::objects {

std::string balance_line(std::uint32_t number, const balance_report& report, bool is_refused) {
  constexpr double ms = 1e-6;
  std::string line = fmt::format("load balancing {}: ", number);
  if (report.strategy.empty())
    return line + fmt::format("not worth it; longest PE {:.3f} ms, level {:.3f} ms", report.longest_ns * ms,
                              report.level_ns * ms);
  line += fmt::format("{}, {} of {} objects moved", report.strategy, report.moved, report.objects);
  if (report.waiting > 0) line += fmt::format(", {} wait", report.waiting);
  if (report.withdrawn > 0) line += fmt::format(", {} withdrawn", report.withdrawn);
  if (is_refused) line += " (its moves would have made the longest PE longer)";
  return line + fmt::format("; longest PE {:.3f} ms, level {:.3f} ms, expected {:.3f} ms; took {:.3f} ms",
                            report.longest_ns * ms, report.level_ns * ms, report.predicted_ns * ms,
                            static_cast<double>(report.took_ns) * ms);
}

}  // namespace tri::objects
