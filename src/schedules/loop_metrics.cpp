#include "schedules/loop_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace tri::schedules {

double imbalance_of(std::span<const double> loads) {
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  if (!(sum > 0.0)) return 1.0;
  return *std::max_element(loads.begin(), loads.end()) * static_cast<double>(loads.size()) / sum;
}

double node_imbalance_of(std::span<const double> loads, std::uint32_t cores_per_node) {
  if (cores_per_node == 0 || loads.size() % cores_per_node != 0) {
    throw std::invalid_argument(
        fmt::format("imbalance: {} cores are not a multiple of {} per node", loads.size(), cores_per_node));
  }
  std::vector<double> nodes;
  for (std::size_t first = 0; first < loads.size(); first += cores_per_node) {
    const auto cores = loads.subspan(first, cores_per_node);
    nodes.push_back(std::accumulate(cores.begin(), cores.end(), 0.0) / cores_per_node);
  }
  return imbalance_of(nodes);
}

double idle_time_of(std::span<const double> done_at, double begin, double end) {
  if (done_at.empty()) return 0.0;
  double idle = 0.0;
  for (const double done : done_at) idle += std::max(0.0, end - std::max(done, begin));
  return idle / static_cast<double>(done_at.size());
}

time_breakdown breakdown_of(double total, double one_core_time, std::uint32_t cores, double idle, std::uint64_t claims,
                            double claim_time) {
  if (cores == 0) throw std::invalid_argument("time breakdown: 0 cores; at least 1 is needed");
  time_breakdown parts;
  parts.total = total;
  parts.compute = one_core_time / cores;
  parts.idle = idle;
  parts.claims = claims;
  parts.synchronisation = static_cast<double>(claims) * claim_time / cores;
  parts.rest = total - parts.compute - parts.idle - parts.synchronisation;
  return parts;
}

std::string to_text(const time_breakdown& parts) {
  std::string text;
  const auto line = [&](std::string_view name, double time) {
    text += fmt::format("{:<16} {:>14.3f} {:>6.2f} %\n", name, time, parts.total > 0 ? time / parts.total * 100 : 0.0);
  };
  line("compute", parts.compute);
  line("idle", parts.idle);
  line("synchronisation", parts.synchronisation);
  line("data movement", parts.rest);
  line("total", parts.total);
  return text + fmt::format("claims           {:>14}\n", parts.claims);
}

std::uint64_t migration_meter::step(std::span<const std::uint32_t> owners) {
  std::uint64_t moved = 0;
  if (owners.size() == last_.size()) {
    for (std::size_t item = 0; item < owners.size(); ++item) moved += owners[item] != last_[item];
  }
  last_.assign(owners.begin(), owners.end());
  moved_ += moved;
  ++steps_;
  return moved;
}

double migration_meter::moved_per_step() const {
  return steps_ < 2 ? 0.0 : static_cast<double>(moved_) / static_cast<double>(steps_ - 1);
}

}  // namespace tri::schedules
