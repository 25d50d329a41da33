// Which steps of a run produce output: decided before the run, so that every patch knows without asking.
#pragma once

#include <cstdint>

namespace md {

struct output_plan {
  std::int64_t first = 0;  ///< the step that the run starts from
  std::int64_t last = 0;
  std::int64_t thermo_every = 0;   ///< 0: first and last only
  std::int64_t dump_every = 0;     ///< 0: no trajectory
  std::int64_t restart_every = 0;  ///< 0: after the last step only
  bool writes_restart = false;
  bool continued = false;  ///< from a restart: the frame of the first step is in the trajectory already

  bool thermo(std::int64_t step) const { return step == first || step == last || is_multiple(step, thermo_every); }
  bool frame(std::int64_t step) const {
    if (step == first) return dump_every != 0 && !continued;
    return is_multiple(step, dump_every);
  }
  bool restart(std::int64_t step) const {
    return writes_restart && (step == last || (step != first && is_multiple(step, restart_every)));
  }

 private:
  static bool is_multiple(std::int64_t step, std::int64_t every) { return every != 0 && step % every == 0; }
};

}  // namespace md
