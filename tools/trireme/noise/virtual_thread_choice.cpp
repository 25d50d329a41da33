#include "noise/virtual_thread_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <utility>

#include "noise/core_sampler.hpp"
#include "os/cgroup.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::tools {
namespace {

// Five NAS kernels, eight virtual threads for each thread (docs/user/openmp.md): with a core that lost 27 % of its time
// all gained, 6 to 20 %; with one that lost 16 to 20 % two gained, two were even and one lost; where no core lost
// anything they cost up to 8 %, by the arrays on the stacks of more threads.
constexpr std::uint32_t when_noisy = 8;
constexpr double least_share_lost = 0.15;

constexpr double quantum_ns = 20e3;  // short beside what disturbs: a tick takes some us, another program ms
constexpr std::uint32_t quanta = 5000;
constexpr double longest_sampling_s = 0.15;  // on busy cores, which are seen to be busy long before

constexpr const char* one_core = "there is one core, so no thread could take virtual threads from another";

// The median of three means, so that a disturbance within one third does not affect the result.
double usual_time(std::span<const double> times) {
  constexpr std::size_t parts = 3;
  std::array<double, parts> means{};
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = times.size() * part / parts;
    means[part] = schedules::summary_of(times.subspan(first, times.size() * (part + 1) / parts - first)).mean;
  }
  std::ranges::sort(means);
  return means[parts / 2];
}

}  // namespace

virtual_thread_choice choose_virtual_threads(std::span<const schedules::core_samples> cores) {
  if (cores.size() < 2) return {0, one_core};
  // Relative to the best core, so that a permanently slow one also counts.
  double best = std::numeric_limits<double>::infinity();
  for (const schedules::core_samples& each : cores) best = std::min(best, schedules::percentile(each.times, 10.0));
  double most = 0.0;
  int core = cores.front().core;
  for (const schedules::core_samples& each : cores) {
    const double share = 1.0 - best / usual_time(each.times);
    if (share > most) {
      most = share;
      core = each.core;
    }
  }
  return {most >= least_share_lost ? when_noisy : 0,
          fmt::format("core {} loses {:.1f} % of its time, the most of {} cores; virtual threads pay from {:.0f} %",
                      core, most * 100.0, cores.size(), least_share_lost * 100.0)};
}

std::string obstacle_to_sampling(const std::function<std::string(const char*)>& value_of, std::size_t cores,
                                 std::optional<double> quota) {
  if (cores < 2) return one_core;
  const std::string threads = value_of("OMP_NUM_THREADS");
  if (threads == "1" || threads.starts_with("1,")) return "OMP_NUM_THREADS is 1";
  for (const char* const variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const std::string ranks = value_of(variable);
    if (!ranks.empty() && ranks != "1") {
      return fmt::format("{} ranks of an MPI job would sample the same cores and each choose for itself ({})", ranks,
                         variable);
    }
  }
  if (quota.has_value() && *quota < static_cast<double>(cores)) {
    return fmt::format("the container grants the time of {:.1f} processors, and {} would be sampled", *quota, cores);
  }
  return "";
}

virtual_thread_choice sample_and_choose_virtual_threads() {
  const sampling_plan plan{.cores = os::cpus_of_this_thread(),
                           .samples = quanta,
                           .rounds = 1,
                           .together = true,
                           .longest_round_s = longest_sampling_s};
  const auto value_of = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (std::string obstacle = obstacle_to_sampling(value_of, plan.cores.size(), os::cpu_quota()); !obstacle.empty())
    return {0, std::move(obstacle)};
  return choose_virtual_threads(sample_cores(plan, work_quantum::lasting(quantum_ns), [](double) {}));
}

}  // namespace tri::tools
