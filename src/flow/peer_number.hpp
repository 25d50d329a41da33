// What names another process of the job on the wire.
#pragma once

#include <cstdint>

namespace tri::flow {

/// 0 to peers - 1, the same in every process of the job.
using peer_number = std::uint32_t;

}  // namespace tri::flow
