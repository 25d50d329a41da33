// Whom a rank that waits helps with copies on the board. Copies of ranks near to it - of its own NUMA domain - it
// always takes part in; whether it reaches over to another domain is the strategy's answer (Ouyang 2022, 2.4.2:
// localized, mixed and throughput-aware stealing). What the ranks of a domain do at the moment they tell by hints,
// `activity`, each in a line of its own that is written only where there is more than one domain. Pure functions; any
// process.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tri::mpi {

/// Of a rank that is bound to no single domain, or where nobody said: near to all.
inline constexpr std::int32_t no_domain = -1;
inline bool is_far(std::int32_t one, std::int32_t other) {
  return one != other && one != no_domain && other != no_domain;
}

/// What a rank does, as far as others can know. A hint: it is outdated when it is read.
enum class activity : std::uint8_t {
  busy,     // computes, or copies data: whoever is not surely idle counts as busy on the memory of its domain
  looking,  // waits and has found nothing to do
  asleep    // waits and is woken for its own messages only
};

enum class help_strategy : std::uint8_t {
  near,       // the own domain only
  mixed,      // another domain when nobody there looks for work
  throughput  // another domain while fewer than `saturation` of its ranks use its memory
};

struct help_rule {
  help_strategy strategy = help_strategy::mixed;
  std::uint32_t saturation = 0;  // of throughput: ranks that take all that the memory of a domain gives
};

/// What the ranks of a domain do at the moment.
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

/// How large messages are shared, as a user says it: off, near, mixed, or throughput,N.
struct sharing_choice {
  bool on = true;
  help_rule help;
};
/// Throws std::invalid_argument that says what would be right.
sharing_choice parse_sharing(std::string_view text);

}  // namespace tri::mpi
