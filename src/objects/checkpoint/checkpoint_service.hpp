// tri::checkpoint and --tri-restart on the PEs of a process; installed and ended with them by run.cpp.
#pragma once

#include <string>

#include "trireme/checkpoint.hpp"
#include "trireme/detail/sched/pe.hpp"

namespace tri::objects {

/// On every PE, before its first message. `has_one_main_program`: of tri::run.
void install_checkpoint_service(sched::pe& here, bool has_one_main_program);
/// On PE 0: a checkpoint is under way, which nothing may disturb.
bool is_writing_checkpoint();
/// Before the objects of the PE end.
void end_checkpoint_service(sched::pe& here);
/// On PE 0, in a job that goes on from memory: its state is in memory twice again. Throws remote_error.
void renew_copies(program_state state);
/// When the PEs of the process have ended.
void reset_restored_state();
/// On PE 0, before its main program. If the job is to begin with a checkpoint, its objects exist again afterwards, on
/// all PEs; ends the job with one line when that cannot be.
void restart_if_wanted(sched::pe& here, bool has_one_main_program);

}  // namespace tri::objects
