// Load balancing on a PE: measures (load_meter), answers questions, carries out orders (move_list); on PE 0 also the
// balancer that decides, its clock, and the periods of --tri-balance-every-ms.
#pragma once

#include <string>

#include "objects/balance/move_list.hpp"
#include "trireme/detail/sched/pe.hpp"

namespace tri::config {
struct configuration;
}  // namespace tri::config

namespace tri::objects {

/// Throws config::configuration_error for a strategy or speeds that cannot be. `pes` 0: their number is not known yet.
void check_balance_options(const config::configuration& values);

/// On every PE before it runs messages; does nothing unless the program balances, or is balanced.
void install_balance_service(sched::pe& here);

/// Something has become of an ordered migration: when it was the last of this PE's, PE 0 hears of it.
void report_moves(sched::pe& here, move_list& moves);

}  // namespace tri::objects
