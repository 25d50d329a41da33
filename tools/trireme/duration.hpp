// Lengths of time as users write them: 250us, 1.5ms, 2s. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tri::tools {

/// In nanoseconds; the unit (ns, us, ms, s) must be there. Throws std::invalid_argument with what would be right.
double parse_duration(std::string_view text);

/// With three digits and a fitting unit: 12.3 us.
std::string format_duration(double nanoseconds);

}  // namespace tri::tools
