// Messages that are held back on their PE, and their way on, as quiescence counts them: from count_held() on the
// message is one more that was sent, since its delivery, if it was one, counts as processed; from count_released() on
// it is no longer among those that only wait; when it has run, was sent on or refused, it counts as processed a second
// time. Called by the PE's own thread.
#pragma once

#include "trireme/detail/sched/handler_table.hpp"
#include "trireme/detail/sched/pe.hpp"

namespace tri::objects {

inline void count_held(sched::pe& here) {
  here.counters().sent.add();
  here.counters().held.add();
}

inline void count_released(sched::pe& here) { here.counters().released.add(); }

/// The handler of a message that is released already runs.
inline void run_released(sched::pe& here, sched::envelope& message) {
  sched::handler_table()[message.handler].run(here, message);
  here.count_processed();
}

inline void release_and_run(sched::pe& here, sched::envelope& message) {
  count_released(here);
  run_released(here, message);
}

}  // namespace tri::objects
