// A trace for eyes: the JSON that chrome://tracing and ui.perfetto.dev open, and a timeline as SVG.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "trace/message_path.hpp"
#include "trace/profile.hpp"
#include "trace/trace_folder.hpp"

namespace tri::tools {

/// "Trace Event Format": processes with their PEs and their wire as threads, methods as slices, messages as flows from
/// send to begin (over the wires where they crossed), slow calls as instants.
void write_chrome_trace(std::ostream& out, const trace_folder& trace, const std::vector<message_path>& paths);

/// Rows over time, `from` to `to`; the methods that take longest have colours. Of the messages between hosts the `most`
/// that took longest are drawn, each in its three segments.
std::string to_svg(const trace_folder& trace, const trace_profile& profile, const std::vector<message_path>& paths,
                   std::int64_t from, std::int64_t to, std::size_t most);

}  // namespace tri::tools
