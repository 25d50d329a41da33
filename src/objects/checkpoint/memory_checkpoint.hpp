// tri::checkpoint(tri::in_memory) and the way back: states in the memory of hosts, each also on the next host
// (checkpoint/memory_copies.hpp). PE 0 conducts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/kept_memory.hpp"
#include "checkpoint/manifest.hpp"
#include "objects/checkpoint/written_part.hpp"

namespace tri::objects {

/// The memory into which this PE is about to write its own state.
checkpoint_files::kept_memory& begin_own_memory(sched::pe& here, int slot);
/// A checkpoint, when all PEs can be written. Throws checkpoint_error; then the one before still counts.
task<> write_to_memory(sched::pe& here, program_state program, bool leaves_arrays);

/// A checkpoint that was found in memory, and who reads which part of it.
struct found_in_memory {
  checkpoint_files::manifest contents;
  struct part {
    int reader = 0;  // a PE of a host that has it
    std::string path;
  };
  std::vector<part> parts;
  std::string job;  // the bytes of its record
  int slot = 0;
};
/// On PE 0, before the main program. None: there is none that is complete.
std::optional<found_in_memory> find_in_memory(sched::pe& here);
/// The job goes on from it: the next one is not written over it.
void goes_on_from(const found_in_memory& found);
/// On PE 0: the job begins, and what is in memory is of no use.
void forget_memory(sched::pe& here);
/// Ends what PEs of this thread keep mapped.
void end_memory_of_checkpoints();

}  // namespace tri::objects
