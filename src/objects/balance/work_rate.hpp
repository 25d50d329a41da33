// How fast a PE computes, to compare PEs: Mei's beta (section 7.6) is the ratio of two rates.
#pragma once

#include "os/task_clock.hpp"

namespace tri::objects {

/// Steps of a fixed computation in a nanosecond of CPU time, the best of a few short runs; takes some 50 us.
double measured_work_rate(os::task_clock& clock);

}  // namespace tri::objects
