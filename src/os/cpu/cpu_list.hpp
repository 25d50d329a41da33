// Lists of CPU numbers as users write them. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tri::os {

// "0,2-5:2,1" -> {0, 2, 4, 1}: numbers and ranges with an optional step, in the order written, repeats kept. Throws
// std::invalid_argument that names the faulty part and shows the right form.
std::vector<int> parse_cpu_list(std::string_view text);

// The shortest list that parse_cpu_list() reads back to the same numbers in the same order, with ranges of step 1.
std::string format_cpu_list(const std::vector<int>& cpus);

}  // namespace tri::os
