// Runs real code through its interleavings. The code is compiled as for the thread sanitizer, and what that inserts - a
// call at every access to memory - goes to us instead: each atomic access, lock and futex call is a step, and we say
// who takes the next one. Agents are fibers of one thread, so a schedule can be repeated.
//
// All schedules that differ in something are run: two that differ only in the order of steps which do not concern each
// other are one (dynamic partial-order reduction after Flanagan and Godefroid, POPL 2005, with sleep sets after
// Godefroid 1996). Steps concern each other by the bytes that they touch, so a word and its half do.
//
// The order of steps is sequentially consistent, unless `exploration::old_reads` says otherwise: then a load may find
// an older value than the last one, as far as C++20 lets it. What an agent has read, and what it acquired, bounds how
// old; for seq_cst also what the fences and the stores of that kind say ([atomics.order] 4). So it finds what rests on
// the processor (store buffering, messages that overtake each other, IRIW) instead of on the memory orders. Not found:
// that two stores to different words reach the one order of each word against the order of the program (2+2W), loads of
// values from the future, and failures of a compare-and-exchange by an old value.
//
// What the memory orders promise to plain accesses is checked beside that: they must be ordered (vector clocks, as in
// FastTrack, Flanagan and Freund 2009), else there is a fault even though the schedule at hand went well. So a pairing
// that is too weak for the data that it guards is found, on any processor.
//
// Waiting: an agent that finds the same value again without doing anything else in between has looked in vain. It goes
// on looking, up to `most_looks` times, before anybody else writes the word: if it gives up, that is a schedule. If it
// does not, it waits until the word is written. One that yields waits until somebody else has written something. Sleeps
// with a limit end when nobody can do anything else, and before that as often as `exploration::early_timeouts` says. A
// ring for fewer than sleep wakes any of them. A run that does not end although everybody has turns is a fault, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tri::explore {

inline constexpr int most_agents = 4;
inline constexpr int most_looks = 200;  // of a loop that gives up by itself

/// What is run. `begin` builds everything anew in watched memory; it must be the same every time.
class scenario {
 public:
  virtual ~scenario() = default;
  virtual int agents() const = 0;
  virtual void begin() = 0;
  virtual void run(int agent) = 0;  // may call fail()
  virtual void end() {}             // everybody has finished; may call fail()
};

/// What may happen beside every order of steps. Each adds schedules; in a whole run at most so many of a kind.
struct exploration {
  std::uint64_t most_runs = 2'000'000;
  int old_reads = 0;       // loads that find an older value than the last one; 0: sequentially consistent
  int early_timeouts = 0;  // sleeps that end by their limit although somebody could do something
  bool reduces = true;     // false: every order of steps, also of those that do not concern each other
};

struct interleavings {
  std::string fault;          // empty: none
  std::vector<int> schedule;  // the agents' steps that lead to it; -1 - n: something else was chosen, the n-th way
  std::uint64_t runs = 0;     // different ones
  std::uint64_t cut = 0;      // stopped because what follows was seen before
  std::uint64_t steps = 0;
  std::uint64_t timeouts = 0;  // sleeps that ended by their limit, in all runs
  bool complete = false;       // everything was run
  std::string text() const;
};

interleavings run_all(scenario& of, const exploration& how = {});

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
