// One process of a job, as the others see it.
#pragma once

#include <sys/types.h>

namespace tri::boot {

struct peer {
  int process = 0;  // rank in the job
  pid_t pid = 0;
  int host = 0;        // (emulated) host
  int local_rank = 0;  // rank among the processes of that host
  int arena_fd = -1;   // -1 for processes of another host, and for those that gave none; closed with the job
};

}  // namespace tri::boot
