// Common parts of the rows with PEs: the launches, and batches timed beside the hand-off of a cache line between PE 0
// and PE 1. Everything here is for PE 0 of a benchmark program, unless noted otherwise.
#pragma once

#include <cstdint>
#include <functional>

#include "framework/cacheline.hpp"
#include "framework/suite.hpp"
#include "trireme/objects.hpp"

namespace tri::bench {

inline const launch one_pe{.processes = 1, .pes = 1};
inline const launch two_threads{.processes = 1, .pes = 2};
inline const launch two_processes{.processes = 2, .pes = 1};
inline const launch spinning_peer{.processes = 1, .pes = 2, .options = {"--tri-idle=spin"}};
inline const launch sleeping_peer{.processes = 1, .pes = 2, .options = {"--tri-idle=sleep"}};

// A cache line in the arena that PE 0 and PE 1 pass to and fro, threads or processes.
class pe_handoff {
 public:
  pe_handoff();
  ~pe_handoff();
  pe_handoff(const pe_handoff&) = delete;
  pe_handoff& operator=(const pe_handoff&) = delete;

  double measure();  // nanoseconds one way

 private:
  cacheline_handoff* line_;
};

// Batches of operation(n), which does n operations and returns, with the hand-off measured before and after each.
samples time_beside_handoff(const batch_runner& runner, const std::function<void(std::uint64_t)>& operation);

// The same for messages that go to and fro between PE 0 and PE 1: start(hops, done) sends the first from PE 0, and
// after `hops` messages, an even number, `done` is set. Nanoseconds per message.
samples time_hops(const batch_runner& runner,
                  const std::function<void(std::uint64_t hops, tri::promise<void> done)>& start);

// What all PEs together have counted so far.
using counter_member = sched::counter sched::counter_block::*;
std::uint64_t count_of_all_pes(counter_member which);

}  // namespace tri::bench
