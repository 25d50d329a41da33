// Schedules that the program adds (trireme/schedule.hpp): known by name, and with its values by number, so that a
// `schedule` stays a small plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/loop_layout.hpp"
#include "trireme/schedule.hpp"

namespace tri::schedules {

/// The number of a schedule that was added, with these values; equal ones have equal numbers. Empty: no such name. Any
/// thread, as all functions here.
std::optional<std::uint32_t> find_user_schedule(std::string_view name, std::span<const double> values);
/// Its text form. Throws std::invalid_argument for a number that find_user_schedule never returned.
const std::string& user_schedule_text(std::uint32_t number);
bool plans_every_time(std::uint32_t number);
/// The names, for suggestions.
std::vector<std::string> user_schedule_names();

/// Calls the plan function and lays the plan out. Throws std::invalid_argument when an iteration is assigned twice, or
/// never, or to a participant that does not exist, and exceptions of the function.
void lay_out_user_schedule(loop_layout& layout, std::uint32_t number, std::uint64_t items, std::uint32_t participants,
                           std::span<const participant_time> last);

}  // namespace tri::schedules
