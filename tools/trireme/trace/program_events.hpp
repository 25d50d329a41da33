// What the program itself says in a trace: its phases, its marks, and the loads of its balancing steps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/trace_folder.hpp"

namespace tri::tools {

struct phase_profile {
  std::uint64_t times = 0;
  std::int64_t total = 0;  // of all rows; a phase inside one of the same name counts in both
  std::int64_t longest = 0;
  int longest_pe = 0;
  std::map<int, std::int64_t> by_pe;
};
/// By name. What had not ended is not in it.
std::map<std::string, phase_profile> phases_of(const trace_folder& trace);

struct balancing_step {
  std::uint32_t number = 0;
  std::int64_t ns = 0;
  std::map<int, std::int64_t> before;  // load by PE
  std::map<int, std::int64_t> after;   // as the strategy expects it
};
std::vector<balancing_step> balancing_steps_of(const trace_folder& trace);

/// Largest load over the mean; 1 where none has any.
double imbalance_of(const std::map<int, std::int64_t>& loads);

/// Empty where there is nothing of the kind.
std::string text_of_phases(const trace_folder& trace);
std::string text_of_marks(const trace_folder& trace);
std::string text_of_balancing(const trace_folder& trace);

}  // namespace tri::tools
