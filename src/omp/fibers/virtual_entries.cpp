// The entry points of libgomp that virtual threads implement themselves: barriers, critical sections, single, sections,
// ordered, tasks. Regions and loops are in libgomp_entries.cpp. Without a virtual thread the native runtime's functions
// are called. Signatures as in gcc 12.
//   Tasks are run at once by the creating thread, which a runtime may always do: dependences are then in order, and
//   waiting for children does nothing.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "omp/fibers/virtual_mode.hpp"
#include "omp/fibers/virtual_ordered.hpp"
#include "omp/fibers/virtual_region.hpp"
#include "omp/native_runtime.hpp"
#include "omp/team_context.hpp"

#define TRIREME_PUBLIC extern "C" [[gnu::visibility("default")]]

namespace {

using namespace tri::omp;

}  // namespace

// Barriers.

TRIREME_PUBLIC void GOMP_barrier() {
  static native_function<void()> native("GOMP_barrier");
  if (virtual_thread_state* const state = current_state()) return wait_at_barrier(*state);
  native();
}
// Cancellation is off where there are virtual threads: nothing is ever cancelled.
TRIREME_PUBLIC bool GOMP_barrier_cancel() {
  static native_function<bool()> native("GOMP_barrier_cancel");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) return native();
  wait_at_barrier(*state);
  return false;
}
TRIREME_PUBLIC bool GOMP_cancel(int which, bool wanted) {
  static native_function<bool(int, bool)> native("GOMP_cancel");
  return current_state() != nullptr ? false : native(which, wanted);
}
TRIREME_PUBLIC bool GOMP_cancellation_point(int which) {
  static native_function<bool(int)> native("GOMP_cancellation_point");
  return current_state() != nullptr ? false : native(which);
}

// Critical sections. The compiler gives a named one a pointer of its own, initially zero; its first half is used.

namespace {
std::uint32_t unnamed_critical = 0;
}  // namespace

TRIREME_PUBLIC void GOMP_critical_start() {
  static native_function<void()> native("GOMP_critical_start");
  if (!virtual_on()) return native();
  take_word(current_state(), &unnamed_critical);
}
TRIREME_PUBLIC void GOMP_critical_end() {
  static native_function<void()> native("GOMP_critical_end");
  if (!virtual_on()) return native();
  release_word(current_state(), &unnamed_critical);
}
TRIREME_PUBLIC void GOMP_critical_name_start(void** name) {
  static native_function<void(void**)> native("GOMP_critical_name_start");
  if (!virtual_on()) return native(name);
  take_word(current_state(), reinterpret_cast<std::uint32_t*>(name));
}
TRIREME_PUBLIC void GOMP_critical_name_end(void** name) {
  static native_function<void(void**)> native("GOMP_critical_name_end");
  if (!virtual_on()) return native(name);
  release_word(current_state(), reinterpret_cast<std::uint32_t*>(name));
}

// Single. Threads may be several singles apart (nowait); the first to reach number n finds n singles taken.

namespace {
bool takes_single(virtual_thread_state& state) {
  std::uint64_t number = state.singles++;
  // relaxed: being first publishes nothing
  return state.share->singles.compare_exchange_strong(number, number + 1, std::memory_order_relaxed,
                                                      std::memory_order_relaxed);
}
}  // namespace

TRIREME_PUBLIC bool GOMP_single_start() {
  static native_function<bool()> native("GOMP_single_start");
  virtual_thread_state* const state = current_state();
  return state != nullptr ? takes_single(*state) : native();
}
// With copyprivate: null for the thread that executes it, the address of its values for the others. The compiler emits
// a barrier before the next one can change what the others read.
TRIREME_PUBLIC void* GOMP_single_copy_start() {
  static native_function<void*()> native("GOMP_single_copy_start");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) return native();
  if (takes_single(*state)) return nullptr;
  wait_at_barrier(*state);
  return state->share->copied.load(std::memory_order_relaxed);  // relaxed: the barrier orders it
}
TRIREME_PUBLIC void GOMP_single_copy_end(void* values) {
  static native_function<void(void*)> native("GOMP_single_copy_end");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) return native(values);
  state->share->copied.store(values, std::memory_order_relaxed);  // relaxed: the barrier orders it
  wait_at_barrier(*state);
}

// Sections: a loop over their numbers, which begin with 1; 0 is the end.

TRIREME_PUBLIC unsigned GOMP_sections_next() {
  static native_function<unsigned()> native("GOMP_sections_next");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) return native();
  if (state->section == state->last_section) {
    const tri::schedules::item_span got = this_thread->position.next();
    if (got.empty()) return 0;
    state->section = got.first;
    state->last_section = got.last;
  }
  return static_cast<unsigned>(++state->section);
}
TRIREME_PUBLIC unsigned GOMP_sections_start(unsigned count) {
  static native_function<unsigned(unsigned)> native("GOMP_sections_start");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) return native(count);
  begin_sections(*state, count);
  return GOMP_sections_next();
}
TRIREME_PUBLIC void GOMP_sections_end() {
  static native_function<void()> native("GOMP_sections_end");
  if (virtual_thread_state* const state = current_state()) return end_work(*state, true);
  native();
}
TRIREME_PUBLIC bool GOMP_sections_end_cancel() {
  static native_function<bool()> native("GOMP_sections_end_cancel");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) return native();
  end_work(*state, true);
  return false;
}
TRIREME_PUBLIC void GOMP_sections_end_nowait() {
  static native_function<void()> native("GOMP_sections_end_nowait");
  if (virtual_thread_state* const state = current_state()) return end_work(*state, false);
  native();
}

// Ordered regions. Their loops start in libgomp_entries.cpp.

TRIREME_PUBLIC void GOMP_ordered_start() {
  static native_function<void()> native("GOMP_ordered_start");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) return native();
  if (state->ordered != nullptr) wait_for_turn(*state);
}
TRIREME_PUBLIC void GOMP_ordered_end() {
  static native_function<void()> native("GOMP_ordered_end");
  if (current_state() == nullptr) native();
}

#define TRIREME_ORDERED_NEXT(name)                                                                               \
  TRIREME_PUBLIC bool GOMP_loop_ordered_##name##_next(long* first, long* end) {                                  \
    static native_function<bool(long*, long*)> native("GOMP_loop_ordered_" #name "_next");                       \
    virtual_thread_state* const state = current_state();                                                         \
    return state != nullptr ? next_in_order(*state, first, end) : native(first, end);                            \
  }                                                                                                              \
  TRIREME_PUBLIC bool GOMP_loop_ull_ordered_##name##_next(unsigned long long* first, unsigned long long* end) {  \
    static native_function<bool(unsigned long long*, unsigned long long*)> native("GOMP_loop_ull_ordered_" #name \
                                                                                  "_next");                      \
    virtual_thread_state* const state = current_state();                                                         \
    return state != nullptr ? next_in_order(*state, first, end) : native(first, end);                            \
  }

namespace {
template <class Value>
bool next_in_order(virtual_thread_state& state, Value* first, Value* end) {
  const ordered_chunk got = next_ordered_chunk(state);
  if (!got.any) return false;
  *first = static_cast<Value>(state.ordered->space.value_of(got.first));
  *end = static_cast<Value>(state.ordered->space.end_of(got.last));
  return true;
}
}  // namespace
TRIREME_ORDERED_NEXT(static)
TRIREME_ORDERED_NEXT(dynamic)
TRIREME_ORDERED_NEXT(guided)
TRIREME_ORDERED_NEXT(runtime)

// Tasks.

namespace {

constexpr unsigned task_is_final = 1u << 1;

struct task_call {
  void (*function)(void*);
  void* data;
  void (*copy)(void* to, void* from);
  std::size_t size;
  std::size_t alignment;
  virtual_thread_state* state;
};

void run_task_here(void* argument) {
  const task_call& task = *static_cast<task_call*>(argument);
  if (task.copy == nullptr) return task.function(task.data);
  const std::size_t alignment = std::max<std::size_t>(task.alignment, 1);
  char* const room = static_cast<char*>(__builtin_alloca(task.size + alignment));
  void* const own = room + (alignment - reinterpret_cast<std::uintptr_t>(room) % alignment) % alignment;
  task.copy(own, task.data);
  task.function(own);
}

// A task has control variables of its own.
void run_task(task_call& task, bool is_final) {
  virtual_thread_state& state = *task.state;
  const control_variables control = state.control;
  const bool was_final = state.in_final;
  state.in_final = was_final || is_final;
  count_task(state);
  call_on_large_stack(state, &run_task_here, &task);
  state.control = control;
  state.in_final = was_final;
}

}  // namespace

TRIREME_PUBLIC void GOMP_task(void (*function)(void*), void* data, void (*copy)(void*, void*), long size,
                              long alignment, bool deferred, unsigned flags, void** dependences, int priority,
                              void* detached) {
  static native_function<void(void (*)(void*), void*, void (*)(void*, void*), long, long, bool, unsigned, void**, int,
                              void*)>
      native("GOMP_task");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) {
    return native(function, data, copy, size, alignment, deferred, flags, dependences, priority, detached);
  }
  task_call task{function, data, copy, static_cast<std::size_t>(size), static_cast<std::size_t>(alignment), state};
  run_task(task, (flags & task_is_final) != 0);
}
TRIREME_PUBLIC void GOMP_taskwait() {
  static native_function<void()> native("GOMP_taskwait");
  if (current_state() == nullptr) native();
}
TRIREME_PUBLIC void GOMP_taskwait_depend(void** dependences) {
  static native_function<void(void**)> native("GOMP_taskwait_depend");
  if (current_state() == nullptr) native(dependences);
}
TRIREME_PUBLIC void GOMP_taskyield() {
  static native_function<void()> native("GOMP_taskyield");
  if (virtual_thread_state* const state = current_state()) return yield(state);
  native();
}
TRIREME_PUBLIC void GOMP_taskgroup_start() {
  static native_function<void()> native("GOMP_taskgroup_start");
  if (current_state() == nullptr) native();
}
TRIREME_PUBLIC void GOMP_taskgroup_end() {
  static native_function<void()> native("GOMP_taskgroup_end");
  if (current_state() == nullptr) native();
}

// A loop whose chunks are tasks. Their data begins with the bounds of the chunk.

namespace {

constexpr unsigned task_loop_goes_up = 1u << 8;
constexpr unsigned task_loop_has_grain = 1u << 9;
constexpr unsigned task_loop_is_strict = 1u << 14;

struct chunk_call {
  task_call task;
  const iteration_space* space;
  std::uint64_t first;
  std::uint64_t last;
};

template <class Value>
void run_chunk_here(void* argument) {
  const chunk_call& chunk = *static_cast<chunk_call*>(argument);
  const task_call& task = chunk.task;
  const std::size_t alignment = std::max<std::size_t>(task.alignment, alignof(Value));
  char* const room = static_cast<char*>(__builtin_alloca(task.size + alignment));
  void* const own = room + (alignment - reinterpret_cast<std::uintptr_t>(room) % alignment) % alignment;
  if (task.copy != nullptr) {
    task.copy(own, task.data);
  } else {
    std::memcpy(own, task.data, task.size);
  }
  static_cast<Value*>(own)[0] = static_cast<Value>(chunk.space->value_of(chunk.first));
  static_cast<Value*>(own)[1] = static_cast<Value>(chunk.space->end_of(chunk.last));
  task.function(own);
}

// `count`: of tasks, 0 if it is our choice; with a grain the least iterations of one, all but the last exactly so if it
// is strict.
template <class Value>
void run_task_loop(const task_call& task, const iteration_space& space, unsigned flags, std::uint64_t count) {
  if (space.items == 0) return;
  std::uint64_t chunks = std::clamp<std::uint64_t>(count, 1, space.items);
  std::uint64_t grain = 0;
  if ((flags & task_loop_has_grain) != 0) {
    const std::uint64_t asked = std::clamp<std::uint64_t>(count, 1, space.items);
    if ((flags & task_loop_is_strict) != 0) grain = asked;
    chunks = grain != 0 ? (space.items + grain - 1) / grain : space.items / asked;
  } else if ((flags & task_loop_is_strict) != 0) {
    grain = (space.items + chunks - 1) / chunks;
    chunks = (space.items + grain - 1) / grain;
  }
  virtual_thread_state& state = *task.state;
  const control_variables control = state.control;
  const bool was_final = state.in_final;
  state.in_final = was_final || (flags & task_is_final) != 0;
  for (std::uint64_t number = 0; number < chunks; ++number) {
    chunk_call chunk{task, &space, 0, 0};
    if (grain != 0) {
      chunk.first = number * grain;
      chunk.last = std::min(chunk.first + grain, space.items);
    } else {
      const std::uint64_t each = space.items / chunks;
      const std::uint64_t more = space.items % chunks;
      chunk.first = number * each + std::min(number, more);
      chunk.last = chunk.first + each + (number < more ? 1 : 0);
    }
    count_task(state);
    call_on_large_stack(state, &run_chunk_here<Value>, &chunk);
    state.control = control;
  }
  state.in_final = was_final;
}

}  // namespace

TRIREME_PUBLIC void GOMP_taskloop(void (*function)(void*), void* data, void (*copy)(void*, void*), long size,
                                  long alignment, unsigned flags, unsigned long count, int priority, long start,
                                  long end, long step) {
  static native_function<void(void (*)(void*), void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int,
                              long, long, long)>
      native("GOMP_taskloop");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) return native(function, data, copy, size, alignment, flags, count, priority, start, end, step);
  run_task_loop<long>(
      {function, data, copy, static_cast<std::size_t>(size), static_cast<std::size_t>(alignment), state},
      exclusive_space(start, end, step, 1), flags, count);
}
TRIREME_PUBLIC void GOMP_taskloop_ull(void (*function)(void*), void* data, void (*copy)(void*, void*), long size,
                                      long alignment, unsigned flags, unsigned long count, int priority,
                                      unsigned long long start, unsigned long long end, unsigned long long step) {
  static native_function<void(void (*)(void*), void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int,
                              unsigned long long, unsigned long long, unsigned long long)>
      native("GOMP_taskloop_ull");
  virtual_thread_state* const state = current_state();
  if (state == nullptr) return native(function, data, copy, size, alignment, flags, count, priority, start, end, step);
  run_task_loop<unsigned long long>(
      {function, data, copy, static_cast<std::size_t>(size), static_cast<std::size_t>(alignment), state},
      exclusive_space((flags & task_loop_goes_up) != 0, start, end, step, 1), flags, count);
}
