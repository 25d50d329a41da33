#include "trireme/reducers.hpp"

#include <algorithm>

namespace tri::objects {

void sort_by_number(std::vector<numbered_place>& values) { std::ranges::sort(values, {}, &numbered_place::number); }

}  // namespace tri::objects
