// The number of a process of the job, as flow control and the wire use it.
#pragma once

#include <cstdint>

namespace tri::flow {

/// 0 to peers - 1, the same in every process of the job.
using peer_number = std::uint32_t;

}  // namespace tri::flow
