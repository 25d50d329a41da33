// The queue policy (trireme/queue_policy.hpp) that the options of a job ask for.
#pragma once

#include <optional>

#include "config/configuration.hpp"
#include "trireme/queue_policy.hpp"

namespace tri::sched {

/// Nothing: messages run in order of arrival. Throws std::invalid_argument for an unknown name, and where another
/// option chooses the order.
std::optional<queue_policy> wanted_queue_policy(const config::configuration& values);

}  // namespace tri::sched
