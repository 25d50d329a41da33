// A row of a trace as regions that are entered and left, properly nested, as formats of others want them: a region that
// ends under others is left with them, and those are entered again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace_folder.hpp"

namespace tri::tools {

struct region_step {
  std::int64_t ns = 0;
  bool enters = false;  // else it leaves
  std::string region;
};
/// By time; every region that is entered is left, at the latest at `end_ns`.
std::vector<region_step> region_steps_of(const trace_folder& trace, const trace_row& row, std::int64_t end_ns);

}  // namespace tri::tools
