// Traces by the program. Switching that of all PEs is an ordinary message to each, so what their sender sends
// afterwards finds them switched.
#include "config/configuration.hpp"
#include "os/clock.hpp"
#include "trace/recorder.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"
#include "trireme/trace.hpp"

namespace tri {
namespace {

void switch_here(sched::pe& here, sched::envelope& message) { here.switch_trace(message.element != 0); }
const std::uint32_t switch_handler = sched::register_handler(&switch_here, "scheduler: trace switch");

// What calls outside of any handler is the main program: the trace begins in the middle of it.
void switch_own(sched::pe& here, bool on) {
  const bool was_on = here.trace() != nullptr;
  here.switch_trace(on);
  if (!was_on && here.trace() != nullptr && here.number() == 0 && !here.in_handler())
    here.trace()->mark(trace::event::begin, os::ticks(), trace::main_program);
}

void switch_all(bool on) {
  sched::pe& here = sched::this_pe();
  if (here.job().values().trace.empty()) return;
  for (int pe = 0; pe < here.job().pes(); ++pe) {
    if (pe == here.number()) continue;
    here.send(pe, [&](sched::envelope& message) {
      message.element = on ? 1 : 0;
      message.collection = 0;
      message.handler = switch_handler;
      message.bytes = 0;
      message.kind = sched::payload_kind::direct;
      message.flags = 0;
    });
  }
  switch_own(here, on);
}

}  // namespace

void trace::on() { switch_all(true); }
void trace::off() { switch_all(false); }
void trace::on_this_pe() { switch_own(sched::this_pe(), true); }
void trace::off_this_pe() { switch_own(sched::this_pe(), false); }
void trace::mark(std::string_view name, double value) {
  if (recorder* const row = sched::this_pe().trace()) row->mark_of_program(event::mark, name, value);
}
void trace::begin_phase(std::string_view name) {
  if (recorder* const row = sched::this_pe().trace()) row->mark_of_program(event::enter, name);
}
void trace::end_phase(std::string_view name) {
  if (recorder* const row = sched::this_pe().trace()) row->mark_of_program(event::leave, name);
}

bool trace::is_on() { return sched::this_pe().trace() != nullptr; }

}  // namespace tri
