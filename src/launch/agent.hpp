// The launcher's agent on another host: `trireme agent`, started by `trireme run --hosts` through a remote shell. It
// starts the processes of its host, reports their events to the launcher and executes its requests. When the launcher
// is gone or silent for too long, it ends them all.
#pragma once

namespace tri::launch {

// Speaks on standard input and output. Returns the exit status.
int run_agent();

}  // namespace tri::launch
