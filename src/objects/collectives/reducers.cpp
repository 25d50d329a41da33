#include "trireme/reducers.hpp"

#include <algorithm>

#include "trireme/detail/objects/reduction.hpp"

namespace tri::objects {

void sort_by_number(std::vector<numbered_place>& values) { std::ranges::sort(values, {}, &numbered_place::number); }

void throw_mixed_contributions() {
  throw std::logic_error(
      "contribute: other elements have contributed to this reduction a value of another type, or with another reducer");
}

void refuse_mixed_contributions(sched::pe& here, const local_collection& home, std::uint64_t number) {
  here.job().fail("contribution " + std::to_string(number) + " of " + home.name() +
                  ": its elements contribute values of different types, or with different reducers");
}

}  // namespace tri::objects
