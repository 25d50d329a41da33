// What the model of the dynamic fraction has to know of the machine, in a process whose threads belong to somebody
// else.
#pragma once

#include "schedules/fraction_record.hpp"

namespace tri::omp {

// In ticks. The first call takes some tens of milliseconds, unless TRIREME_OMP_NOISE says how long noise lasts: it runs
// a fixed quantum of work again and again in the calling thread.
const loops::machine_costs& machine_costs_of_this_process();

}  // namespace tri::omp
