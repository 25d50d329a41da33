// A schedule as a user adds it: this file and the public header, nothing else, and nobody calls it. The loop is dealt
// out in blocks, the last one to the first participant. Values after the name are ignored.
#include "trireme/schedule.hpp"

namespace {

const tri::user_schedule mirrored("mirrored", [](const tri::loop_shape& loop, tri::loop_plan& plan) {
  const auto count = static_cast<std::uint64_t>(loop.participants);
  for (std::uint64_t index = 0; index < count; ++index) {
    const int number = loop.participants - 1 - static_cast<int>(index);
    const std::uint64_t first = loop.iterations * index / count;
    const std::uint64_t last = loop.iterations * (index + 1) / count;
    plan.keep(number, first, last);
  }
});

}  // namespace
