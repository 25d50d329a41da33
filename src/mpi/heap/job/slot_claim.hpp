// The slot: a number unique to this process among the processes of its job on the host. It is the offset of a lock that
// the process holds on a file of the user (private_folder.hpp), one byte per slot of each job; the kernel releases it
// when the process dies, however it dies. The file stays empty and serves all jobs: locks need no bytes. Claimed inside
// the first malloc: nothing here allocates or needs the C++ runtime.
#pragma once

#include <string_view>

#include "mpi/heap/job/private_folder.hpp"
#include "mpi/heap/text_line.hpp"

namespace tri::mpi {

struct slot_claim {
  int slot = -1;  ///< -1: none was free, see `reason`
  int file = -1;  ///< whose description holds the lock; closes on exec
  text_line reason;
};

/// Claims the lowest free slot of the job.
slot_claim claim_slot(std::string_view job, const private_folder& folder);

/// Whether `file` still is a file of slots: a program may have closed it, and the number may be another file now.
bool is_file_of_slots(int file);

/// Processes of the job on this host that hold a slot, this one included, whose file that is.
unsigned processes_of_job(int own_file, std::string_view job);

/// Moves a descriptor out of the program's way, which may rely on low numbers: to one near the top of the first 1024.
/// Returns the new number, or the old one when none is free.
int move_descriptor_up(int descriptor);

}  // namespace tri::mpi
