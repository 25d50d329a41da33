// The end of the functions that a PE calls while it is idle (trireme/idle.hpp).
#pragma once

namespace tri::objects {

/// At the end of the job, on every PE: what the functions hold ends with the job, not with the thread.
void end_idle_service();

}  // namespace tri::objects
