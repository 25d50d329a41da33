// How messages of a computing rank make progress, a user option. By default waiting ranks do it; the other modes exist
// for comparison (Ouyang 2022, 3.6).
#pragma once

#include <cstdint>
#include <string_view>

namespace tri::mpi {

enum class progress_mode : std::uint8_t {
  dynamic,  // any waiting rank does it
  thread,   // a thread of each rank, on the rank's cores
  reserved  // a thread of each rank, all on cores that no rank computes on
};

struct progress_choice {
  progress_mode mode = progress_mode::dynamic;
  std::uint32_t cores = 0;  // of reserved
  bool has_thread() const { return mode == progress_mode::thread || mode == progress_mode::reserved; }
};

/// dynamic, thread, or reserved,N. Throws std::invalid_argument that names the valid values.
progress_choice parse_progress(std::string_view text);

}  // namespace tri::mpi
