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

namespace tri::loops {

/// The number of a schedule that was added, with these values; equal ones have equal numbers. Empty: no such name. Any
/// thread, as all functions here.
std::optional<std::uint32_t> find_user_schedule(std::string_view name, std::span<const double> values);
/// What it is written as. Throws std::invalid_argument for a number that find_user_schedule never gave.
const std::string& user_schedule_text(std::uint32_t number);
bool plans_every_time(std::uint32_t number);
/// The names, for suggestions.
std::vector<std::string> user_schedule_names();

/// Asks for the plan and lays it out. Throws std::invalid_argument when an iteration is given twice, or never, or
/// to a participant that there is not, and what the function throws.
void lay_out_user_schedule(loop_layout& layout, std::uint32_t number, std::uint64_t items, std::uint32_t participants,
                           std::span<const participant_time> last);

}  // namespace tri::loops
