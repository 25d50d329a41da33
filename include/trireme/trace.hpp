// Switching a trace while a program runs. A trace is written by programs that are started with --tri-trace FOLDER
// (TRIREME_TRACE); without that these calls do nothing, so they may stay in the program. docs/user/tracing.md has more.
//
//   tri::trace::on();   // with --tri-trace-start off: only what follows is of interest
//   solve();
//   tri::trace::off();
//
//   const tri::trace::phase here("assembly");          // until the end of the block
//   tri::trace::mark("residual", norm);                // an event with a value
#pragma once

#include <string_view>

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

/// An event of the program at this moment on the calling PE, with a value if it has one. `name` is copied (at most 256
/// bytes) and may be any text; few different ones make a readable trace. Does nothing while the PE is not traced.
void mark(std::string_view name, double value = 0);

/// A phase of the program on the calling PE, from begin_phase to the end_phase with the same name. Phases may nest, and
/// go across methods: a phase that begins in one method may end in a later one of the same PE.
void begin_phase(std::string_view name);
void end_phase(std::string_view name);

/// A phase as long as a block. In a coroutine the block must not contain a co_await, behind which the PE may be another
/// one.
class phase {
 public:
  /// `name` has to live as long as the phase, as texts in quotes do.
  explicit phase(std::string_view name) : name_(name) { begin_phase(name_); }
  ~phase() { end_phase(name_); }
  phase(const phase&) = delete;
  phase& operator=(const phase&) = delete;

 private:
  std::string_view name_;
};

}  // namespace tri::trace

#pragma GCC visibility pop
