// Runs a fixed quantum of work repeatedly on each core and records the times: one thread per core, bound to it, all at
// the same time or one after the other. In rounds, so that showing the progress disturbs nothing: all threads wait
// between two rounds.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "schedules/learning/noise_samples.hpp"

namespace tri::tools {

/// Square roots that depend on each other: arithmetic without memory.
class work_quantum {
 public:
  explicit work_quantum(std::uint32_t roots) : roots_(roots) {}
  /// As many roots as take about so long on the core of the calling thread when nothing disturbs it.
  static work_quantum lasting(double nanoseconds);
  void operator()() const;
  std::uint32_t roots() const { return roots_; }

 private:
  std::uint32_t roots_;
};

struct sampling_plan {
  std::vector<int> cores;
  std::uint32_t samples = 10000;  ///< of each core
  std::uint32_t rounds = 20;      ///< into which they are divided
  bool together = true;           ///< all cores at the same time
  /// Of each round; on a busy core it ends with the samples that there are then, at least some tens.
  double longest_round_s = std::numeric_limits<double>::infinity();
};

/// `progress`: called between rounds with the share that is done. Throws std::system_error when a thread cannot be
/// bound to its core.
std::vector<schedules::core_samples> sample_cores(const sampling_plan& plan, const work_quantum& quantum,
                                                  const std::function<void(double)>& progress);

}  // namespace tri::tools
