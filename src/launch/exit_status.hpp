// Translates a wait status of waitpid() into text and into our own exit status. Pure functions, any thread.
#pragma once

#include <string>

namespace tri::launch {

// "exited with status 3" or "ended by signal 9 (Killed)" (", core dumped" where it was).
std::string describe_exit(int wait_status);

// The status that a shell would report: the exit status, or 128 + the signal.
int shell_status(int wait_status);

}  // namespace tri::launch
