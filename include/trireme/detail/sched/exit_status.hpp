// What a job that was stopped ends with.
#pragma once

#pragma GCC visibility push(default)

namespace tri::sched {

class runtime;

/// The status with which every process of the job ends: that of the request which has stopped it. Only once
/// runtime::stopping(); from any thread.
int exit_status_of(const runtime& stopped);

}  // namespace tri::sched

#pragma GCC visibility pop
