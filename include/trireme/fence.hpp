// Order between accesses to global arrays, which is relaxed otherwise.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include "trireme/detail/arrays/requests.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Ready when all writes and updates that this PE made before have been carried out, wherever they went.
inline future<void> fence() { return arrays::fence_of_pe(); }
/// A fence of every PE; ready when all PEs have called it. Collective over all PEs, in the same order on each.
inline future<void> barrier() { return arrays::barrier_of_all(); }

}  // namespace tri

#pragma GCC visibility pop
