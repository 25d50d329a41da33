// Which ranks a waiting rank helps with copies on the board. It always takes part in copies of near ranks - those of
// its own NUMA domain; the strategy decides about other domains (Ouyang 2022, 2.4.2: localized, mixed and
// throughput-aware stealing). Each rank publishes its current `activity` as a hint, in a cache line of its own that is
// written only where there is more than one domain. Pure functions; any process.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tri::mpi {

/// For a rank that is not bound to a single domain, or whose domain is unknown: near to all.
inline constexpr std::int32_t no_domain = -1;
inline bool is_far(std::int32_t one, std::int32_t other) {
  return one != other && one != no_domain && other != no_domain;
}

/// What a rank is doing. A hint: it may be outdated when it is read.
enum class activity : std::uint8_t {
  busy,     // computes, or copies data: a rank not known to be idle counts as busy on the memory of its domain
  looking,  // waits and has found nothing to do
  asleep    // waits and is woken for its own messages only
};

enum class help_strategy : std::uint8_t {
  near,       // the own domain only
  mixed,      // another domain when no rank there looks for work
  throughput  // another domain while fewer than `saturation` of its ranks use its memory
};

struct help_rule {
  help_strategy strategy = help_strategy::mixed;
  std::uint32_t saturation = 0;  // for throughput: ranks that saturate the memory of a domain
};

/// The current activities of a domain's ranks.
struct domain_activity {
  std::uint32_t busy = 0;
  std::uint32_t looking = 0;
};

inline bool helps_far(const help_rule& rule, const domain_activity& there) {
  switch (rule.strategy) {
    case help_strategy::near:
      return false;
    case help_strategy::mixed:
      return there.looking == 0;
    case help_strategy::throughput:
      return there.busy < rule.saturation;
  }
  return false;
}

/// How copies of large messages are shared, a user option: off, near, mixed, or throughput,N.
struct sharing_choice {
  bool on = true;
  help_rule help;
};
/// Throws std::invalid_argument that names the valid values.
sharing_choice parse_sharing(std::string_view text);

}  // namespace tri::mpi
