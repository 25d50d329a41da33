// The request of the standard's own means, OMP_SCHEDULE and omp_set_schedule, for loops with schedule(runtime). It is
// honoured: the kind static with its distribution, a chunk of the other kinds as the unit that stays together,
// monotonic. Without a request such loops get our schedule; the native runtime's default is not the user's wish. Called
// by each thread that enters such a loop: the schedule is a variable of its task.
#pragma once

#include <cstdint>

#include "omp/loop_choice.hpp"

namespace tri::omp {

struct run_schedule {
  distribution shares = distribution::chosen;
  std::uint64_t chunk = 1;
  bool monotonic = false;
};

using schedule_getter = void (*)(int* kind, int* chunk);
/// `getter` is the native runtime's omp_get_schedule; it is called only when there is a request.
run_schedule run_schedule_here(schedule_getter getter);

/// The program called omp_set_schedule, in any thread.
void note_program_sets_schedule();

}  // namespace tri::omp
