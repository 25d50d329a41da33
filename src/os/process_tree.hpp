// Finding everything that programs left behind. Used by the launcher, which is a "subreaper": a process that loses its
// parent below it becomes its child, so a walk through /proc from the launcher finds every process of the job, also
// daemons that changed their session. Linux only. One thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace tri::os {

// 0 when there is no such process.
pid_t parent_of(pid_t process);

// It has begun to end, by whatever, and will be reaped: the kernel closes its descriptors before its parent hears of
// it.
bool is_exiting(pid_t process);

// All living descendants of this process, parents before their children; zombies are left out.
std::vector<pid_t> descendants();

// Sends to all descendants except `spared` and what descends from it (0: none); says how many there were.
std::size_t signal_descendants(int signal, pid_t spared);

// Everything that still descends from this process: first asked, then killed, until none is left; reaps its
// children. meanwhile() is called again and again.
void end_descendants(const std::function<void()>& meanwhile);

}  // namespace tri::os
