// The API routines of OpenMP (omp_*) in the library that leaves them to the program's runtime, but for
// omp_set_schedule: a schedule that the program sets is kept (run_schedule.hpp). The other library has
// fibers/virtual_api_routines.cpp instead.
#include "omp/fibers/virtual_mode.hpp"
#include "omp/native_api.hpp"
#include "omp/run_schedule.hpp"

#define TRIREME_PUBLIC extern "C" [[gnu::visibility("default")]]

namespace tri::omp {

bool has_virtual_api_routines() { return false; }

namespace {

template <class Kind, class Chunk>
void forward(const char* name, const void* caller, Kind kind, Chunk chunk) {
  note_program_sets_schedule();
  if (void* const native = find_for_caller(name, caller)) reinterpret_cast<void (*)(Kind, Chunk)>(native)(kind, chunk);
}

}  // namespace
}  // namespace tri::omp

TRIREME_PUBLIC void omp_set_schedule(int kind, int chunk) {
  tri::omp::forward("omp_set_schedule", __builtin_return_address(0), kind, chunk);
}
TRIREME_PUBLIC void omp_set_schedule_(int* kind, int* chunk) {
  tri::omp::forward("omp_set_schedule_", __builtin_return_address(0), kind, chunk);
}
TRIREME_PUBLIC void omp_set_schedule_8_(int* kind, std::int64_t* chunk) {
  tri::omp::forward("omp_set_schedule_8_", __builtin_return_address(0), kind, chunk);
}
