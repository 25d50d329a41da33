// Snapshots as JSON, so that they can be kept, sent and looked at elsewhere (`trireme balance`). README.md describes
// the format. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "trireme/detail/balance/snapshot.hpp"

namespace tri::balancing {

std::string to_text(const snapshot& of);

/// Throws std::invalid_argument with `name` and what is wrong; what it returns passes check().
snapshot snapshot_from(std::string_view text, std::string_view name);

}  // namespace tri::balancing
