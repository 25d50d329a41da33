// The API routines of OpenMP (omp_*) that would return values of the native runtime's threads: implemented for virtual
// ones, in C and with the underscore of Fortran. Without virtual threads the native runtime's are called.
//   The program sees a machine of p*k processors from its start. Regions inside a region have one thread, so at most
//   one level is active.
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "omp/fibers/virtual_mode.hpp"
#include "omp/fibers/virtual_region.hpp"
#include "omp/native_api.hpp"
#include "omp/run_schedule.hpp"

#define TRIREME_HERE __builtin_return_address(0)
#define TRIREME_PUBLIC extern "C" [[gnu::visibility("default")]]

namespace {

using namespace tri::omp;

control_variables& control_here() {
  virtual_thread_state* const state = current_state();
  return state != nullptr ? state->control : outer_control();
}

// The state at `level` above the one here; null for level 0 and below.
const virtual_thread_state* state_at(int level) {
  const virtual_thread_state* state = current_state();
  while (state != nullptr && static_cast<int>(state->level) > level) state = state->outer;
  return state != nullptr && static_cast<int>(state->level) == level ? state : nullptr;
}
int level_here() { return current_state() != nullptr ? static_cast<int>(current_state()->level) : 0; }

int thread_number() { return current_state() != nullptr ? static_cast<int>(current_state()->thread) : 0; }
int thread_count() { return current_state() != nullptr ? static_cast<int>(current_state()->threads) : 1; }
int most_threads() { return control_here().threads; }
int processors() { return static_cast<int>(the_virtual_settings().carriers * the_virtual_settings().per_carrier); }
int is_parallel() { return current_state() != nullptr && current_state()->active_level > 0 ? 1 : 0; }
int active_level() { return current_state() != nullptr ? static_cast<int>(current_state()->active_level) : 0; }
int ancestor(int level) {
  if (level < 0 || level > level_here()) return -1;
  const virtual_thread_state* const state = state_at(level);
  return state != nullptr ? static_cast<int>(state->thread) : 0;
}
int team_size(int level) {
  if (level < 0 || level > level_here()) return -1;
  const virtual_thread_state* const state = state_at(level);
  return state != nullptr ? static_cast<int>(state->threads) : 1;
}
int thread_limit() { return static_cast<int>(the_virtual_settings().most_contexts); }
int active_levels() { return the_virtual_settings().parallel ? 1 : 0; }
int no() { return 0; }
int is_dynamic() { return control_here().dynamic ? 1 : 0; }
int in_final() { return current_state() != nullptr && current_state()->in_final ? 1 : 0; }

void want_threads(int count) { control_here().threads = std::max(1, count); }
void want_dynamic(int value) { control_here().dynamic = value != 0; }
void ignore(int) {}

}  // namespace

bool tri::omp::has_virtual_api_routines() { return true; }

// Calls the native runtime's function of that name, if there is one and `asks`; otherwise the following code runs.
#define TRIREME_ASK_HOST_IF(asks, signature, name, ...)                                 \
  static native_api<signature> native(name);                                            \
  if (asks) {                                                                           \
    if (auto* const function = native.find(TRIREME_HERE)) return function(__VA_ARGS__); \
  }
#define TRIREME_ASK_HOST(signature, name, ...) TRIREME_ASK_HOST_IF(!virtual_on(), signature, name, __VA_ARGS__)
// Outside virtual threads the native runtime's answer is right: a library of another compiler, with threads of its own,
// may have been loaded since.
#define TRIREME_ASK_HOST_OUTSIDE(signature, name, ...) \
  TRIREME_ASK_HOST_IF(current_state() == nullptr, signature, name, __VA_ARGS__)

#define TRIREME_QUESTION_BY(ask, name, answer) \
  TRIREME_PUBLIC int name() {                  \
    ask(int(), #name);                         \
    return answer();                           \
  }                                            \
  TRIREME_PUBLIC int name##_() {               \
    ask(int(), #name "_");                     \
    return answer();                           \
  }
#define TRIREME_QUESTION(name, answer) TRIREME_QUESTION_BY(TRIREME_ASK_HOST, name, answer)
#define TRIREME_QUESTION_OF_STATE(name, answer) TRIREME_QUESTION_BY(TRIREME_ASK_HOST_OUTSIDE, name, answer)
TRIREME_QUESTION_OF_STATE(omp_get_thread_num, thread_number)
TRIREME_QUESTION_OF_STATE(omp_get_num_threads, thread_count)
TRIREME_QUESTION(omp_get_max_threads, most_threads)
TRIREME_QUESTION(omp_get_num_procs, processors)
TRIREME_QUESTION_OF_STATE(omp_in_parallel, is_parallel)
TRIREME_QUESTION_OF_STATE(omp_get_level, level_here)
TRIREME_QUESTION_OF_STATE(omp_get_active_level, active_level)
TRIREME_QUESTION(omp_get_thread_limit, thread_limit)
TRIREME_QUESTION(omp_get_max_active_levels, active_levels)
TRIREME_QUESTION(omp_get_supported_active_levels, active_levels)
TRIREME_QUESTION(omp_get_nested, no)
TRIREME_QUESTION(omp_get_dynamic, is_dynamic)
TRIREME_QUESTION_OF_STATE(omp_in_final, in_final)

#define TRIREME_QUESTION_OF_LEVEL(name, answer)                      \
  TRIREME_PUBLIC int name(int level) {                               \
    TRIREME_ASK_HOST_OUTSIDE(int(int), #name, level)                 \
    return answer(level);                                            \
  }                                                                  \
  TRIREME_PUBLIC int name##_(int* level) {                           \
    TRIREME_ASK_HOST_OUTSIDE(int(int*), #name "_", level)            \
    return answer(*level);                                           \
  }                                                                  \
  TRIREME_PUBLIC int name##_8_(std::int64_t* level) {                \
    TRIREME_ASK_HOST_OUTSIDE(int(std::int64_t*), #name "_8_", level) \
    return answer(static_cast<int>(*level));                         \
  }
TRIREME_QUESTION_OF_LEVEL(omp_get_ancestor_thread_num, ancestor)
TRIREME_QUESTION_OF_LEVEL(omp_get_team_size, team_size)

#define TRIREME_WISH(name, change)                            \
  TRIREME_PUBLIC void name(int value) {                       \
    TRIREME_ASK_HOST(void(int), #name, value)                 \
    change(value);                                            \
  }                                                           \
  TRIREME_PUBLIC void name##_(int* value) {                   \
    TRIREME_ASK_HOST(void(int*), #name "_", value)            \
    change(*value);                                           \
  }                                                           \
  TRIREME_PUBLIC void name##_8_(std::int64_t* value) {        \
    TRIREME_ASK_HOST(void(std::int64_t*), #name "_8_", value) \
    change(static_cast<int>(*value));                         \
  }
TRIREME_WISH(omp_set_num_threads, want_threads)
TRIREME_WISH(omp_set_dynamic, want_dynamic)
TRIREME_WISH(omp_set_nested, ignore)
TRIREME_WISH(omp_set_max_active_levels, ignore)

// The schedule of runtime loops. Ours does not depend on it; but a thread must read back what it set, and no other
// thread may. Outside of regions the runtime stores it.
namespace {

void set_schedule(const void* caller, int kind, int chunk) {
  static native_api<void(int, int)> native("omp_set_schedule");
  if (current_state() == nullptr) {
    note_program_sets_schedule();
    if (auto* const function = native.find(caller)) return function(kind, chunk);
  }
  control_variables& control = control_here();
  control.has_schedule = true;
  control.schedule_kind = kind;
  control.schedule_chunk = chunk;
}
void get_schedule(const void* caller, int* kind, int* chunk) {
  static native_api<void(int*, int*)> native("omp_get_schedule");
  const control_variables& control = control_here();
  if (!control.has_schedule) {
    if (auto* const function = native.find(caller)) return function(kind, chunk);
  }
  *kind = control.schedule_kind;
  *chunk = control.schedule_chunk;
}

}  // namespace
TRIREME_PUBLIC void omp_set_schedule(int kind, int chunk) { set_schedule(TRIREME_HERE, kind, chunk); }
TRIREME_PUBLIC void omp_set_schedule_(int* kind, int* chunk) { set_schedule(TRIREME_HERE, *kind, *chunk); }
TRIREME_PUBLIC void omp_set_schedule_8_(int* kind, std::int64_t* chunk) {
  set_schedule(TRIREME_HERE, *kind, static_cast<int>(*chunk));
}
TRIREME_PUBLIC void omp_get_schedule(int* kind, int* chunk) { get_schedule(TRIREME_HERE, kind, chunk); }
TRIREME_PUBLIC void omp_get_schedule_(int* kind, int* chunk) { get_schedule(TRIREME_HERE, kind, chunk); }
TRIREME_PUBLIC void omp_get_schedule_8_(int* kind, std::int64_t* chunk) {
  int narrow = 0;
  get_schedule(TRIREME_HERE, kind, &narrow);
  *chunk = narrow;
}

// Locks: the word is the first in the program's variable. A nestable lock has a count and an owner; in Fortran its
// variable holds a pointer to one.

namespace {

struct nest_lock {
  std::uint32_t word;
  std::uint32_t count;
  const void* owner;
};
static_assert(sizeof(nest_lock) == 16, "the size of omp_nest_lock_t");

// A virtual thread; where there is none, the thread of the program, which the address of a thread-local variable names.
const void* owner_here() {
  const virtual_thread_state* const state = current_state();
  if (state != nullptr && state->context != nullptr) return state->context;
  return &state_of_thread;
}

// A program that tries again and again would keep its carrier from the holder.
bool try_lock_word(std::uint32_t* word) {
  if (try_word(word)) return true;
  yield(current_state());
  return false;
}

void set_nest_lock(nest_lock* lock) {
  const void* const owner = owner_here();
  // Only the owner can read its own value there.
  if (std::atomic_ref(lock->owner).load(std::memory_order_relaxed) != owner) {
    take_word(current_state(), &lock->word);
    std::atomic_ref(lock->owner).store(owner, std::memory_order_relaxed);  // relaxed: the word orders it
  }
  ++lock->count;
}
int test_nest_lock(nest_lock* lock) {
  const void* const owner = owner_here();
  // relaxed: as above
  if (std::atomic_ref(lock->owner).load(std::memory_order_relaxed) != owner) {
    if (!try_lock_word(&lock->word)) return 0;
    std::atomic_ref(lock->owner).store(owner, std::memory_order_relaxed);  // relaxed: as above
  }
  return static_cast<int>(++lock->count);
}
void unset_nest_lock(nest_lock* lock) {
  if (--lock->count > 0) return;
  std::atomic_ref(lock->owner).store(nullptr, std::memory_order_relaxed);  // relaxed: as above
  release_word(current_state(), &lock->word);
}

void init_lock(std::uint32_t* lock) { *lock = 0; }
void destroy_lock(std::uint32_t*) {}
void set_lock(std::uint32_t* lock) { take_word(current_state(), lock); }
void unset_lock(std::uint32_t* lock) { release_word(current_state(), lock); }
int test_lock(std::uint32_t* lock) { return try_lock_word(lock) ? 1 : 0; }
void init_nest_lock(nest_lock* lock) { *lock = {}; }
void destroy_nest_lock(nest_lock*) {}

void init_nest_lock_fortran(nest_lock** lock) { *lock = new nest_lock{}; }
void destroy_nest_lock_fortran(nest_lock** lock) {
  delete *lock;
  *lock = nullptr;
}
void set_nest_lock_fortran(nest_lock** lock) { set_nest_lock(*lock); }
void unset_nest_lock_fortran(nest_lock** lock) { unset_nest_lock(*lock); }
int test_nest_lock_fortran(nest_lock** lock) { return test_nest_lock(*lock); }

}  // namespace

#define TRIREME_LOCK(result, name, type, ours)  \
  TRIREME_PUBLIC result name(type lock) {       \
    TRIREME_ASK_HOST(result(type), #name, lock) \
    return ours(lock);                          \
  }
TRIREME_LOCK(void, omp_init_lock, std::uint32_t*, init_lock)
TRIREME_LOCK(void, omp_init_lock_, std::uint32_t*, init_lock)
TRIREME_LOCK(void, omp_destroy_lock, std::uint32_t*, destroy_lock)
TRIREME_LOCK(void, omp_destroy_lock_, std::uint32_t*, destroy_lock)
TRIREME_LOCK(void, omp_set_lock, std::uint32_t*, set_lock)
TRIREME_LOCK(void, omp_set_lock_, std::uint32_t*, set_lock)
TRIREME_LOCK(void, omp_unset_lock, std::uint32_t*, unset_lock)
TRIREME_LOCK(void, omp_unset_lock_, std::uint32_t*, unset_lock)
TRIREME_LOCK(int, omp_test_lock, std::uint32_t*, test_lock)
TRIREME_LOCK(int, omp_test_lock_, std::uint32_t*, test_lock)
TRIREME_LOCK(void, omp_init_nest_lock, nest_lock*, init_nest_lock)
TRIREME_LOCK(void, omp_init_nest_lock_, nest_lock**, init_nest_lock_fortran)
TRIREME_LOCK(void, omp_destroy_nest_lock, nest_lock*, destroy_nest_lock)
TRIREME_LOCK(void, omp_destroy_nest_lock_, nest_lock**, destroy_nest_lock_fortran)
TRIREME_LOCK(void, omp_set_nest_lock, nest_lock*, set_nest_lock)
TRIREME_LOCK(void, omp_set_nest_lock_, nest_lock**, set_nest_lock_fortran)
TRIREME_LOCK(void, omp_unset_nest_lock, nest_lock*, unset_nest_lock)
TRIREME_LOCK(void, omp_unset_nest_lock_, nest_lock**, unset_nest_lock_fortran)
TRIREME_LOCK(int, omp_test_nest_lock, nest_lock*, test_nest_lock)
TRIREME_LOCK(int, omp_test_nest_lock_, nest_lock**, test_nest_lock_fortran)
