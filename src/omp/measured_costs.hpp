// The machine parameters of the dynamic fraction's model, in a process whose threads belong to another runtime.
#pragma once

#include "schedules/learning/fraction_record.hpp"

namespace tri::omp {

// In ticks. The first call takes some tens of milliseconds, unless TRIREME_OMP_NOISE gives the duration of noise: it
// repeats a fixed quantum of work in the calling thread.
const loops::machine_costs& machine_costs_of_this_process();

}  // namespace tri::omp
