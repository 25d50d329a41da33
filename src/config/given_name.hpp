// Names that programs give to what they add: schedules, strategies, queue policies. They stand as values of options, so
// they need no quotes there and no escapes. Pure functions, any thread.
#pragma once

#include <string_view>

namespace tri::config {

bool can_be_a_name(std::string_view word);

// The same for error messages about a word that cannot be one.
inline constexpr std::string_view rule_of_names =
    "a name has lower-case letters, digits, - and _, and begins with a letter";

}  // namespace tri::config
