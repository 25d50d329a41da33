// Runs real code through its interleavings. The code is compiled as for the thread sanitizer, and what that inserts - a
// call at every access to memory - goes to us instead: each atomic access, lock and futex call is a step, and we say
// who takes the next one. Agents are fibers of one thread, so a schedule can be repeated.
//
// All schedules that differ in something are run: two that differ only in the order of steps which do not concern each
// other are one (dynamic partial-order reduction after Flanagan and Godefroid, POPL 2005, with sleep sets after
// Godefroid 1996). The order of steps is sequentially consistent. What the memory orders promise is checked beside
// that: plain accesses must be ordered by them (vector clocks, as in FastTrack, Flanagan and Freund 2009), else there
// is a fault even though the schedule at hand went well. So a pairing that is too weak for the data that it guards is
// found, on any processor. (Not found: orders between atomics that x86 keeps and C++ does not promise.)
//
// Waiting: an agent that looks at the same word again without doing anything else in between waits until it is written;
// one that yields waits until somebody else has written something; time passes, and sleeps with a limit end, only when
// nobody can do anything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tri::explore {

inline constexpr int most_agents = 4;

/// What is run. `begin` builds everything anew in watched memory; it must be the same every time.
class scenario {
 public:
  virtual ~scenario() = default;
  virtual int agents() const = 0;
  virtual void begin() = 0;
  virtual void run(int agent) = 0;  // may call fail()
  virtual void end() {}             // everybody has finished; may call fail()
};

struct interleavings {
  std::string fault;          // empty: none
  std::vector<int> schedule;  // the agents' steps that lead to it
  std::uint64_t runs = 0;     // different ones
  std::uint64_t cut = 0;      // stopped because what follows was seen before
  std::uint64_t steps = 0;
  std::uint64_t timeouts = 0;  // sleeps that ended by their limit, in all runs
  bool complete = false;       // everything was run
  std::string text() const;
};

interleavings run_all(scenario& of, std::uint64_t most_runs = 2'000'000);
/// Every order of steps, also of those that do not concern each other: to check the reduction.
interleavings run_all_unreduced(scenario& of, std::uint64_t most_runs = 2'000'000);

/// Memory whose accesses are checked: who reads what nobody ordered it behind the writer of, or what was given back.
/// Zeroed; gone with the next begin().
void* watched_allocate(std::size_t bytes, std::size_t alignment = 64);
void watched_release(void* address);
std::size_t watched_blocks();  // that were not released
/// Accesses there are nobody's business: counters for reports.
void ignore(const void* address, std::size_t bytes);

/// Ends the run with a fault.
[[noreturn]] void fail(const std::string& fault);
inline void check(bool holds, const char* otherwise) {
  if (!holds) fail(otherwise);
}

/// A lock whose own steps are not taken apart.
void acquire(const void* lock);
bool try_acquire(const void* lock);
void release(const void* lock);

}  // namespace tri::explore
