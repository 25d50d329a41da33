// Metrics of a loop from recorded times: imbalance, idle time, where the time went, how many iterations moved to
// another core. After V. Kale, PhD dissertation, Illinois 2015, chapters 1 and 2. Pure functions; times in any unit,
// the same for all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tri::schedules {

/// Largest load by mean load, over all cores; 1 when there is no load.
double imbalance_of(std::span<const double> loads);
/// The same over nodes of `cores_per_node` consecutive cores: what would be left if each node were balanced perfectly.
/// Throws std::invalid_argument when the cores are not a multiple of that.
double node_imbalance_of(std::span<const double> loads, std::uint32_t cores_per_node);

/// Mean time from when each participant was done (before it waited for the others) to the end. A participant that was
/// never there was idle since `begin`: its stamp is below it.
double idle_time_of(std::span<const double> done_at, double begin, double end);

/// Where the time of a loop went. `rest`, the remainder, is attributed to data movement; it can be below 0 when the run
/// on one core was disturbed.
struct time_breakdown {
  double total = 0.0;
  double compute = 0.0;  ///< the run on one core, divided by the cores
  double idle = 0.0;
  double synchronisation = 0.0;  ///< in claims
  double rest = 0.0;
  std::uint64_t claims = 0;
};
time_breakdown breakdown_of(double total, double one_core_time, std::uint32_t cores, double idle, std::uint64_t claims,
                            double claim_time);
/// One line `part time percent` each.
std::string to_text(const time_breakdown& parts);

/// The number of iterations that ran elsewhere than in the previous step. Remembers the owners of the last step.
class migration_meter {
 public:
  /// Returns how many moved; 0 for the first step, and when the number of iterations changed.
  std::uint64_t step(std::span<const std::uint32_t> owners);
  std::uint64_t moved() const { return moved_; }  ///< in all steps
  std::uint64_t steps() const { return steps_; }
  double moved_per_step() const;  ///< over all steps but the first

 private:
  std::vector<std::uint32_t> last_;
  std::uint64_t moved_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace tri::schedules
