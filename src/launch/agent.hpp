// The launcher's hand on another host: `trireme agent`, started by `trireme run --hosts` through a remote shell. It
// starts the processes of its host, reports to the launcher what happens to them and does with them what the launcher
// says. When the launcher is gone, or is not heard of for too long, it ends them all.
#pragma once

namespace tri::host {

// Speaks on standard input and output. Returns the exit status.
int run_agent();

}  // namespace tri::host
