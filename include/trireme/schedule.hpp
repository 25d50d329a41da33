// Loop schedules of your own, by name, beside those of trireme/loops.hpp.
//
//   tri::add_schedule("mirrored", [](const tri::loop_shape& loop, tri::loop_plan& plan) {
//     const std::uint64_t half = loop.iterations / 2;
//     plan.keep(0, half, loop.iterations);        // participant 0 runs the upper half
//     for (std::uint64_t i = 0; i < half; i += 8) plan.share(i, std::min(i + 8, half));  // the rest goes to
//     // any free participant
//   });
//   tri::parallel_for(n, body, "mirrored");
//
// A schedule is a plan: which participant starts with which iterations, and which are for any. The library executes it
// and runs each iteration once, so the function needs no thread safety beyond this: it may be called by several threads
// at once for different loops. Once added, a name can be used wherever a schedule is named: in the program, in
// TRIREME_LOOPS_SCHEDULE, in tune files (for these, add it before main, as the initialiser of a global variable), and
// in trireme/forall.h. After V. Kale, PhD dissertation, Illinois 2015, chapter 5, where a strategy is a pair of
// functions.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)

namespace tri {

/// The times of the loop's last measured execution, for adaptive schedules.
struct participant_time {
  double seconds = 0.0;          ///< in bodies
  std::uint64_t iterations = 0;  ///< run by the participant
};

/// The loop to plan.
struct loop_shape {
  std::uint64_t iterations = 0;  ///< numbered 0 to iterations - 1, whatever the range of the loop
  int participants = 1;
  std::span<const double> values{};          ///< the numbers after commas in the text: "mirrored,0.5,8" has 0.5 and 8
  std::span<const participant_time> last{};  ///< one per participant, or empty: unknown, or not adaptive
};

/// Filled in by the function of a schedule. Every iteration must be assigned exactly once, in chunks of any length, to
/// any participant. Chunks are the unit of claims: many small ones balance better and cost more (some 20 ns each).
/// Empty chunks are ignored. Errors are reported by the planned loop: std::invalid_argument.
class loop_plan {
 public:
  /// Iterations first .. last - 1 run first on this participant, together with all others it keeps, as one claim. In a
  /// plain program no other participant runs them; on PEs, where a participant may never join the loop, others may
  /// until the owner has joined.
  void keep(int participant, std::uint64_t first, std::uint64_t last) { add({participant, true, first, last}); }
  /// These follow, in the order in which they were offered; a participant that is done takes from the end of the
  /// others' remaining chunks.
  void offer(int participant, std::uint64_t first, std::uint64_t last) { add({participant, false, first, last}); }
  /// Without an owner: taken by participants that are done with their own, in the order in which it was shared, before
  /// any takes from others.
  void share(std::uint64_t first, std::uint64_t last) { add({any_participant, false, first, last}); }
  /// Participants that are done try their neighbours first (participants n - 1 and n + 1, the one with more left before
  /// the other, then n - 2 and n + 2 ...), not those nearest on the machine.
  void neighbours_first() { neighbours_ = true; }

  struct chunk {
    int participant;
    bool kept;
    std::uint64_t first;
    std::uint64_t last;
  };
  static constexpr int any_participant = -1;
  const std::vector<chunk>& chunks() const { return chunks_; }
  bool steals_from_neighbours_first() const { return neighbours_; }

 private:
  void add(const chunk& one) {
    if (one.first != one.last) chunks_.push_back(one);
  }
  std::vector<chunk> chunks_;
  bool neighbours_ = false;
};

using plan_function = std::function<void(const loop_shape& loop, loop_plan& plan)>;

enum class plan_again : std::uint8_t {
  when_the_loop_changes,  ///< another number of iterations or participants
  every_time              ///< executions are measured, and the plan is made again with the times of the last one
};

/// From now on the name (lower case letters, digits, `-` and `_`, beginning with a letter) is a schedule. Any thread.
/// Throws std::invalid_argument when the schedule already exists, the name is invalid, or the function is empty.
void add_schedule(const std::string& name, plan_function plan, plan_again again = plan_again::when_the_loop_changes);

/// The same as the initialiser of a global variable, so that a file with a schedule in it needs no call from anywhere:
///   static const tri::user_schedule mirrored("mirrored", [](...) {...});
struct user_schedule {
  user_schedule(const std::string& name, plan_function plan, plan_again again = plan_again::when_the_loop_changes) {
    add_schedule(name, std::move(plan), again);
  }
};

}  // namespace tri

#pragma GCC visibility pop
