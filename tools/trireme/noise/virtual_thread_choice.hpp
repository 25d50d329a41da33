// `trireme exec --omp --virtual auto`: whether this host's cores lose so much time to other work that virtual threads
// pay. Their number has to be known before the program begins, because programs query the number of threads first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "schedules/learning/noise_samples.hpp"

namespace tri::tools {

struct virtual_thread_choice {
  std::uint32_t per_thread = 0;  ///< virtual threads for each thread; 0: the program runs without
  std::string reason;            ///< a sentence for --report
};

/// From samples of a fixed quantum on each core. Throws std::invalid_argument when a core has no samples.
virtual_thread_choice choose_virtual_threads(std::span<const schedules::core_samples> cores);

/// The reason in the environment against sampling; empty: none. `value_of(name)` is empty for variables that are not
/// set. `cores`: available to this process; `quota`: its container's CPU limit, if set.
std::string obstacle_to_sampling(const std::function<std::string(const char*)>& value_of, std::size_t cores,
                                 std::optional<double> quota);

/// Samples all cores of this process at the same time, for about a tenth of a second, and chooses.
virtual_thread_choice sample_and_choose_virtual_threads();

}  // namespace tri::tools
