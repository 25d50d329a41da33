// Finds the functions of UCX in its shared library, which is loaded on first use: programs that stay on one host do not
// need it. Any thread.
#pragma once

namespace tri::wire {

/// The function of this name in libucp or its dependencies. The first call loads the library after setting, unless the
/// user has set them: UCX_ERROR_SIGNALS (none: the signals are the runtime's), UCX_MEM_EVENTS=n (its hooks patch mmap),
/// UCX_LOG_FILE=stderr (its default is standard output). So it must be called before other threads use the environment.
/// Throws std::runtime_error when the library or the function is missing.
void* ucx_function(const char* name);

}  // namespace tri::wire
