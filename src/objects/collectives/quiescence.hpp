// Quiescence detection: PE 0 collects the requests and, whenever it is idle, compares the counters of all PEs (see
// trireme/detail/sched/runtime.hpp, all_processed). While there are requests, PEs that fall asleep ring PE 0.
#pragma once

#include "trireme/detail/sched/pe.hpp"

namespace tri::objects {

/// Called on every PE before it runs messages.
void install_quiescence_service(sched::pe& here);

}  // namespace tri::objects
