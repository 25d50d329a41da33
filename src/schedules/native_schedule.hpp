// The name by which an OpenMP program under the drop-in asks for its own runtime to run all loops. It is no schedule of
// ours: parse_schedule refuses it. Pure; any thread.
#pragma once

#include <string_view>

namespace tri::schedules {

inline constexpr const char* native_schedule = "native";
/// `host` is its older name.
constexpr bool is_native_schedule(std::string_view text) { return text == native_schedule || text == "host"; }

}  // namespace tri::schedules
