// Switching a trace while a program runs. A trace is written by programs that are started with --tri-trace FOLDER
// (TRIREME_TRACE); without that these calls do nothing, so they may stay in the program. docs/user/tracing.md has more.
//
//   tri::trace::on();   // with --tri-trace-start off: only what follows is of interest
//   solve();
//   tri::trace::off();
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#pragma GCC visibility push(default)

namespace tri::trace {

/// Enables tracing on all selected PEs (--tri-trace-pes): on this one at once, on the others by a message that arrives
/// before this PE's later messages to them. On PEs only.
void on();
void off();

/// The same for the calling PE alone.
void on_this_pe();
void off_this_pe();

/// Whether events of the calling PE are recorded now.
bool is_on();

}  // namespace tri::trace

#pragma GCC visibility pop
