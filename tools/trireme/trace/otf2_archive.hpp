// A trace as an OTF2 archive, which Vampir, Scalasca, otf2-print and others read. Where the library was not there when
// the command was built, `has_otf2` is false and the other throws (no_otf2.cpp).
#pragma once

#include <string>
#include <vector>

#include "trace/message_path.hpp"
#include "trace/trace_folder.hpp"

namespace tri::tools {

bool has_otf2();

/// Into a folder that is new or empty. Methods, phases, idle time and waits are regions; messages are MPI's
/// point-to-point events, with the number of the method as tag; marks and loads are metrics. Throws std::runtime_error.
void write_otf2(const std::string& folder, const trace_folder& trace, const std::vector<message_path>& paths);

}  // namespace tri::tools
