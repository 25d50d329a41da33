// The launcher's agent on another host: `trireme agent`, started by `trireme run --hosts` through a remote shell. It
// starts the processes of its host, reports their events to the launcher and executes its requests. When the launcher
// is gone or silent for too long, it ends them all.
#pragma once

#include <functional>
#include <string>

namespace tri::launch {

// The answer to a question of a watcher (watchers.hpp), by its number; called between two events.
using figures_source = std::function<std::string(int watcher, const std::string& question)>;

// Speaks on standard input and output. Returns the exit status.
int run_agent(figures_source figures);

}  // namespace tri::launch
