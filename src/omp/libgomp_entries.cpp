// The entry points of libgomp that start parallel regions and distribute loops: called by programs of gcc or gfortran
// (and one compiled for libgomp that runs on libomp). Each translates its arguments and is a few lines; barriers,
// tasks, reductions and everything else stay libgomp's. Signatures as in gcc 12; families that gcc writes out by
// schedule are written out here by macro.
//   end bounds are exclusive; `runtime` variants have no chunk; `nonmonotonic_` and `maybe_nonmonotonic_` variants
//   leave the order to us, plain ones promise rising iterations (and are all that gcc before 9 emits).
// In a combined construct (GOMP_parallel_loop_*) the body begins with *_next: the loop begins before the body.
#include "omp/call_sites.hpp"
#include "omp/fibers/virtual_mode.hpp"
#include "omp/fibers/virtual_ordered.hpp"
#include "omp/fibers/virtual_region.hpp"
#include "omp/native_runtime.hpp"
#include "omp/run_schedule.hpp"
#include "omp/settings.hpp"
#include "omp/team_context.hpp"

namespace {

using namespace tri::omp;
using body = void (*)(void*);
using ull = unsigned long long;

native_function<void(body, void*, unsigned, unsigned)> native_parallel("GOMP_parallel");
native_function<unsigned(body, void*, unsigned, unsigned)> native_parallel_reductions("GOMP_parallel_reductions");
native_function<void(body, void*, unsigned, unsigned, unsigned)> native_parallel_sections("GOMP_parallel_sections");
native_function<void()> native_barrier("GOMP_barrier");
native_function<bool()> native_barrier_cancel("GOMP_barrier_cancel");
native_function<void()> native_loop_end("GOMP_loop_end");
native_function<void()> native_loop_end_nowait("GOMP_loop_end_nowait");
native_function<bool()> native_loop_end_cancel("GOMP_loop_end_cancel");

// omp_* of the libgomp that runs the regions.
void* require_beside_regions(const char* name) {
  void* const function = find_beside(reinterpret_cast<void*>(native_parallel.usual()), name);
  if (function == nullptr) report_missing(name);
  return function;
}
template <class Signature>
using function_beside_regions = native_function<Signature, require_beside_regions>;
function_beside_regions<int()> native_num_threads("omp_get_num_threads");
function_beside_regions<int()> native_thread_num("omp_get_thread_num");
function_beside_regions<void(int*, int*)> native_get_schedule("omp_get_schedule");

const other_runtime* runtime_at(const void* code) {
  return runtime_of(code, "GOMP_parallel", reinterpret_cast<void*>(native_parallel.usual()));
}
// By the body, which is in the object that starts the region: with a tail call the return address is elsewhere.
const other_runtime* runtime_at(body function) { return runtime_at(reinterpret_cast<const void*>(function)); }
// Virtual threads are those of one runtime, the usual one.
bool run_on_virtual(const region_start& start) { return this_runtime == nullptr && run_on_virtual_threads(start); }

std::uint32_t threads_of_team() {
  if (const virtual_thread_state* const state = current_state()) return state->threads;
  return static_cast<std::uint32_t>(native_num_threads());
}
std::uint32_t number_of_thread() {
  if (const virtual_thread_state* const state = current_state()) return state->thread;
  return static_cast<std::uint32_t>(native_thread_num());
}

// A loop of schedule(runtime): space_of(chunk) has its iterations in units of that chunk.
template <class SpaceOf>
loop_start runtime_loop(const void* site, bool monotonic, SpaceOf&& space_of) {
  const run_schedule asked = run_schedule_here([](int* kind, int* chunk) { native_get_schedule(kind, chunk); });
  return {site, nullptr, monotonic || asked.monotonic, asked.shares, space_of(asked.chunk)};
}

void begin_here(thread_context& context, const loop_start& loop) {
  if (context.thread == unknown_thread) context.thread = number_of_thread();
  begin_loop(context, loop, &threads_of_team);
}

// The body of a region: each thread runs it instead of the program's function. One cache line, read by every thread of
// the team.
struct alignas(64) region {
  void* reductions;  // comes first: GOMP_parallel_reductions finds its list at the beginning of the program's data
  body function;
  void* data;
  team_context* threads;
  const loop_start* combined;    // the loop that the body is inside from its beginning, or null
  const other_runtime* runtime;  // of the thread that begins it
};

void run_region(void* argument) {
  const region& begun = *static_cast<const region*>(argument);
  const runtime_scope scope(begun.runtime);
  thread_context context(*begun.threads);
  if (begun.combined != nullptr) begin_here(context, *begun.combined);
  begun.function(begun.data);
}

// Calls native(run_region, region) with a team for it.
template <class Native>
auto with_region(body function, void* data, const loop_start* combined, Native&& native, void* reductions = nullptr) {
  borrowed_team threads;
  region begun{reductions, function, data, &threads.get(), combined, this_runtime};
  return native(&run_region, static_cast<void*>(&begun));
}

bool next_in(thread_context& context, long* first, long* end) {
  const tri::schedules::item_span got = context.next_items();
  if (got.empty()) return false;
  *first = static_cast<long>(context.space.value_of(got.first));
  *end = static_cast<long>(context.space.end_of(got.last));
  return true;
}
bool next_in(thread_context& context, ull* first, ull* end) {
  const tri::schedules::item_span got = context.next_items();
  if (got.empty()) return false;
  *first = context.space.value_of(got.first);
  *end = context.space.end_of(got.last);
  return true;
}

std::uint64_t chunk_of(long chunk) { return chunk < 1 ? 1 : static_cast<std::uint64_t>(chunk); }
std::uint64_t chunk_of(ull chunk) { return chunk < 1 ? 1 : chunk; }

// The context whose loop we may schedule now; null counts the loop as left to the native runtime.
thread_context* taker(const void* site) {
  thread_context* const context = followed();
  if (context == nullptr) {
    count_left(left_because::outside, site);
    return nullptr;
  }
  if (!the_settings().takes) {
    if (context->thread == unknown_thread) context->thread = number_of_thread();
    if (context->thread == 0) count_left(left_because::asked, site);
    return nullptr;
  }
  return context;
}

template <class Value>
bool start_loop(thread_context& context, const loop_start& loop, Value* first, Value* end) {
  begin_here(context, loop);
  return next_in(context, first, end);
}

ordered_kind static_order(long chunk) { return chunk > 0 ? ordered_kind::static_chunks : ordered_kind::static_blocks; }
ordered_kind any_order(long) { return ordered_kind::in_turn; }

// Counted once for each loop, by the first thread of the team.
void count_passed(left_because reason, const void* site) {
  thread_context* const context = followed();
  if (context != nullptr && context->thread == unknown_thread) context->thread = number_of_thread();
  if (context == nullptr || context->thread == 0) count_left(reason, site);
}

}  // namespace

#define TRIREME_HERE __builtin_return_address(0)
#define TRIREME_PUBLIC extern "C" [[gnu::visibility("default")]]

#define TRIREME_ORDERED_NEXT(name)                                   \
  TRIREME_PUBLIC bool GOMP_loop_ordered_##name##_next(long*, long*); \
  TRIREME_PUBLIC bool GOMP_loop_ull_ordered_##name##_next(ull*, ull*);
TRIREME_ORDERED_NEXT(static)
TRIREME_ORDERED_NEXT(dynamic)
TRIREME_ORDERED_NEXT(guided)
TRIREME_ORDERED_NEXT(runtime)

// Parallel regions.

TRIREME_PUBLIC void GOMP_parallel(body function, void* data, unsigned threads, unsigned flags) {
  const runtime_scope scope(runtime_at(function));
  if (run_on_virtual({function, data, threads, flags})) return;
  with_region(function, data, nullptr, [&](body run, void* begun) { native_parallel(run, begun, threads, flags); });
}
TRIREME_PUBLIC unsigned GOMP_parallel_reductions(body function, void* data, unsigned threads, unsigned flags) {
  const runtime_scope scope(runtime_at(function));
  return with_region(
      function, data, nullptr,
      [&](body run, void* begun) { return native_parallel_reductions(run, begun, threads, flags); },
      *static_cast<void**>(data));
}
TRIREME_PUBLIC void GOMP_parallel_sections(body function, void* data, unsigned threads, unsigned count,
                                           unsigned flags) {
  const runtime_scope scope(runtime_at(function));
  if (run_on_virtual({function, data, threads, flags, nullptr, count})) return;
  with_region(function, data, nullptr,
              [&](body run, void* begun) { native_parallel_sections(run, begun, threads, count, flags); });
}

// Combined parallel loops. With the schedule `native` everything is left to the native runtime, and then its own entry
// must run.
#define TRIREME_PARALLEL_LOOP(name, is_monotonic)                                                                    \
  TRIREME_PUBLIC void GOMP_parallel_loop_##name(body function, void* data, unsigned threads, long start, long end,   \
                                                long step, long chunk, unsigned flags) {                             \
    static native_function<void(body, void*, unsigned, long, long, long, long, unsigned)> native(                    \
        "GOMP_parallel_loop_" #name);                                                                                \
    const runtime_scope scope(runtime_at(function));                                                                 \
    if (!the_settings().takes) {                                                                                     \
      count_left(left_because::asked, TRIREME_HERE);                                                                 \
      with_region(function, data, nullptr,                                                                           \
                  [&](body run, void* begun) { native(run, begun, threads, start, end, step, chunk, flags); });      \
      return;                                                                                                        \
    }                                                                                                                \
    const loop_start loop{TRIREME_HERE, nullptr, is_monotonic, distribution::chosen,                                 \
                          exclusive_space(start, end, step, chunk_of(chunk))};                                       \
    if (run_on_virtual({function, data, threads, flags, &loop})) return;                                             \
    with_region(function, data, &loop, [&](body run, void* begun) { native_parallel(run, begun, threads, flags); }); \
  }
#define TRIREME_PARALLEL_RUNTIME_LOOP(name, is_monotonic)                                                            \
  TRIREME_PUBLIC void GOMP_parallel_loop_##name(body function, void* data, unsigned threads, long start, long end,   \
                                                long step, unsigned flags) {                                         \
    static native_function<void(body, void*, unsigned, long, long, long, unsigned)> native(                          \
        "GOMP_parallel_loop_" #name);                                                                                \
    const runtime_scope scope(runtime_at(function));                                                                 \
    if (!the_settings().takes) {                                                                                     \
      count_left(left_because::asked, TRIREME_HERE);                                                                 \
      with_region(function, data, nullptr,                                                                           \
                  [&](body run, void* begun) { native(run, begun, threads, start, end, step, flags); });             \
      return;                                                                                                        \
    }                                                                                                                \
    const loop_start loop = runtime_loop(                                                                            \
        TRIREME_HERE, is_monotonic, [&](std::uint64_t chunk) { return exclusive_space(start, end, step, chunk); });  \
    if (run_on_virtual({function, data, threads, flags, &loop})) return;                                             \
    with_region(function, data, &loop, [&](body run, void* begun) { native_parallel(run, begun, threads, flags); }); \
  }
TRIREME_PARALLEL_LOOP(dynamic, true)
TRIREME_PARALLEL_LOOP(guided, true)
TRIREME_PARALLEL_LOOP(nonmonotonic_dynamic, false)
TRIREME_PARALLEL_LOOP(nonmonotonic_guided, false)
TRIREME_PARALLEL_RUNTIME_LOOP(runtime, true)
TRIREME_PARALLEL_RUNTIME_LOOP(nonmonotonic_runtime, false)
TRIREME_PARALLEL_RUNTIME_LOOP(maybe_nonmonotonic_runtime, false)

// Loops inside a region.
#define TRIREME_LOOP_NEXT(name, value)                                               \
  TRIREME_PUBLIC bool GOMP_loop_##name##_next(value* first, value* end) {            \
    static native_function<bool(value*, value*)> native("GOMP_loop_" #name "_next"); \
    thread_context* const context = in_taken_loop();                                 \
    return context != nullptr ? next_in(*context, first, end) : native(first, end);  \
  }
#define TRIREME_LOOP(name, is_monotonic)                                                                             \
  TRIREME_PUBLIC bool GOMP_loop_##name##_start(long start, long end, long step, long chunk, long* first_out,         \
                                               long* end_out) {                                                      \
    static native_function<bool(long, long, long, long, long*, long*)> native("GOMP_loop_" #name "_start");          \
    thread_context* const context = taker(TRIREME_HERE);                                                             \
    if (context == nullptr) return native(start, end, step, chunk, first_out, end_out);                              \
    return start_loop(*context,                                                                                      \
                      {TRIREME_HERE, nullptr, is_monotonic, distribution::chosen,                                    \
                       exclusive_space(start, end, step, chunk_of(chunk))},                                          \
                      first_out, end_out);                                                                           \
  }                                                                                                                  \
  TRIREME_PUBLIC bool GOMP_loop_ull_##name##_start(bool up, ull start, ull end, ull step, ull chunk, ull* first_out, \
                                                   ull* end_out) {                                                   \
    static native_function<bool(bool, ull, ull, ull, ull, ull*, ull*)> native("GOMP_loop_ull_" #name "_start");      \
    thread_context* const context = taker(TRIREME_HERE);                                                             \
    if (context == nullptr) return native(up, start, end, step, chunk, first_out, end_out);                          \
    return start_loop(*context,                                                                                      \
                      {TRIREME_HERE, nullptr, is_monotonic, distribution::chosen,                                    \
                       exclusive_space(up, start, end, step, chunk_of(chunk))},                                      \
                      first_out, end_out);                                                                           \
  }                                                                                                                  \
  TRIREME_LOOP_NEXT(name, long)                                                                                      \
  TRIREME_LOOP_NEXT(ull_##name, ull)
#define TRIREME_RUNTIME_LOOP(name, is_monotonic)                                                                       \
  TRIREME_PUBLIC bool GOMP_loop_##name##_start(long start, long end, long step, long* first_out, long* end_out) {      \
    static native_function<bool(long, long, long, long*, long*)> native("GOMP_loop_" #name "_start");                  \
    thread_context* const context = taker(TRIREME_HERE);                                                               \
    if (context == nullptr) return native(start, end, step, first_out, end_out);                                       \
    return start_loop(*context,                                                                                        \
                      runtime_loop(TRIREME_HERE, is_monotonic,                                                         \
                                   [&](std::uint64_t chunk) { return exclusive_space(start, end, step, chunk); }),     \
                      first_out, end_out);                                                                             \
  }                                                                                                                    \
  TRIREME_PUBLIC bool GOMP_loop_ull_##name##_start(bool up, ull start, ull end, ull step, ull* first_out,              \
                                                   ull* end_out) {                                                     \
    static native_function<bool(bool, ull, ull, ull, ull*, ull*)> native("GOMP_loop_ull_" #name "_start");             \
    thread_context* const context = taker(TRIREME_HERE);                                                               \
    if (context == nullptr) return native(up, start, end, step, first_out, end_out);                                   \
    return start_loop(*context,                                                                                        \
                      runtime_loop(TRIREME_HERE, is_monotonic,                                                         \
                                   [&](std::uint64_t chunk) { return exclusive_space(up, start, end, step, chunk); }), \
                      first_out, end_out);                                                                             \
  }                                                                                                                    \
  TRIREME_LOOP_NEXT(name, long)                                                                                        \
  TRIREME_LOOP_NEXT(ull_##name, ull)
TRIREME_LOOP(dynamic, true)
TRIREME_LOOP(guided, true)
TRIREME_LOOP(nonmonotonic_dynamic, false)
TRIREME_LOOP(nonmonotonic_guided, false)
TRIREME_RUNTIME_LOOP(runtime, true)
TRIREME_RUNTIME_LOOP(nonmonotonic_runtime, false)
TRIREME_RUNTIME_LOOP(maybe_nonmonotonic_runtime, false)

// Ends. The barrier of a taken loop is the team's own.
TRIREME_PUBLIC void GOMP_loop_end() {
  if (virtual_thread_state* const state = current_state()) return end_work(*state, true);
  thread_context* const context = in_taken_loop();
  if (context == nullptr) return native_loop_end();
  context->in_loop = false;
  native_barrier();
}
TRIREME_PUBLIC void GOMP_loop_end_nowait() {
  if (virtual_thread_state* const state = current_state()) return end_work(*state, false);
  thread_context* const context = in_taken_loop();
  if (context == nullptr) return native_loop_end_nowait();
  context->in_loop = false;
}
TRIREME_PUBLIC bool GOMP_loop_end_cancel() {
  if (virtual_thread_state* const state = current_state()) {
    end_work(*state, true);
    return false;
  }
  thread_context* const context = in_taken_loop();
  if (context == nullptr) return native_loop_end_cancel();
  context->in_loop = false;
  return native_barrier_cancel();
}

// Loops that stay libgomp's: counted. (Ordered ones have to be ours where the threads are virtual.)
#define TRIREME_ORDERED_LOOP(name, kind)                                                                             \
  TRIREME_PUBLIC bool GOMP_loop_ordered_##name##_start(long start, long end, long step, long chunk, long* first_out, \
                                                       long* end_out) {                                              \
    static native_function<bool(long, long, long, long, long*, long*)> native("GOMP_loop_ordered_" #name "_start");  \
    if (virtual_thread_state* const state = current_state()) {                                                       \
      begin_ordered_loop(*state, TRIREME_HERE, exclusive_space(start, end, step, chunk_of(chunk)), kind(chunk));     \
      return GOMP_loop_ordered_##name##_next(first_out, end_out);                                                    \
    }                                                                                                                \
    count_passed(left_because::ordered, TRIREME_HERE);                                                               \
    return native(start, end, step, chunk, first_out, end_out);                                                      \
  }                                                                                                                  \
  TRIREME_PUBLIC bool GOMP_loop_ull_ordered_##name##_start(bool up, ull start, ull end, ull step, ull chunk,         \
                                                           ull* first_out, ull* end_out) {                           \
    static native_function<bool(bool, ull, ull, ull, ull, ull*, ull*)> native("GOMP_loop_ull_ordered_" #name         \
                                                                              "_start");                             \
    if (virtual_thread_state* const state = current_state()) {                                                       \
      begin_ordered_loop(*state, TRIREME_HERE, exclusive_space(up, start, end, step, chunk_of(chunk)),               \
                         kind(static_cast<long>(chunk)));                                                            \
      return GOMP_loop_ull_ordered_##name##_next(first_out, end_out);                                                \
    }                                                                                                                \
    count_passed(left_because::ordered, TRIREME_HERE);                                                               \
    return native(up, start, end, step, chunk, first_out, end_out);                                                  \
  }                                                                                                                  \
  TRIREME_PUBLIC bool GOMP_loop_doacross_##name##_start(unsigned depth, long* counts, long chunk, long* first_out,   \
                                                        long* end_out) {                                             \
    static native_function<bool(unsigned, long*, long, long*, long*)> native("GOMP_loop_doacross_" #name "_start");  \
    count_passed(left_because::doacross, TRIREME_HERE);                                                              \
    return native(depth, counts, chunk, first_out, end_out);                                                         \
  }                                                                                                                  \
  TRIREME_PUBLIC bool GOMP_loop_ull_doacross_##name##_start(unsigned depth, ull* counts, ull chunk, ull* first_out,  \
                                                            ull* end_out) {                                          \
    static native_function<bool(unsigned, ull*, ull, ull*, ull*)> native("GOMP_loop_ull_doacross_" #name "_start");  \
    count_passed(left_because::doacross, TRIREME_HERE);                                                              \
    return native(depth, counts, chunk, first_out, end_out);                                                         \
  }
TRIREME_ORDERED_LOOP(static, static_order)
TRIREME_ORDERED_LOOP(dynamic, any_order)
TRIREME_ORDERED_LOOP(guided, any_order)

TRIREME_PUBLIC bool GOMP_loop_ordered_runtime_start(long start, long end, long step, long* first_out, long* end_out) {
  static native_function<bool(long, long, long, long*, long*)> native("GOMP_loop_ordered_runtime_start");
  if (virtual_thread_state* const state = current_state()) {
    begin_ordered_loop(*state, TRIREME_HERE, exclusive_space(start, end, step, 1), ordered_kind::in_turn);
    return GOMP_loop_ordered_runtime_next(first_out, end_out);
  }
  count_passed(left_because::ordered, TRIREME_HERE);
  return native(start, end, step, first_out, end_out);
}
TRIREME_PUBLIC bool GOMP_loop_ull_ordered_runtime_start(bool up, ull start, ull end, ull step, ull* first_out,
                                                        ull* end_out) {
  static native_function<bool(bool, ull, ull, ull, ull*, ull*)> native("GOMP_loop_ull_ordered_runtime_start");
  if (virtual_thread_state* const state = current_state()) {
    begin_ordered_loop(*state, TRIREME_HERE, exclusive_space(up, start, end, step, 1), ordered_kind::in_turn);
    return GOMP_loop_ull_ordered_runtime_next(first_out, end_out);
  }
  count_passed(left_because::ordered, TRIREME_HERE);
  return native(up, start, end, step, first_out, end_out);
}
TRIREME_PUBLIC bool GOMP_loop_doacross_runtime_start(unsigned depth, long* counts, long* first_out, long* end_out) {
  static native_function<bool(unsigned, long*, long*, long*)> native("GOMP_loop_doacross_runtime_start");
  count_passed(left_because::doacross, TRIREME_HERE);
  return native(depth, counts, first_out, end_out);
}
TRIREME_PUBLIC bool GOMP_loop_ull_doacross_runtime_start(unsigned depth, ull* counts, ull* first_out, ull* end_out) {
  static native_function<bool(unsigned, ull*, ull*, ull*)> native("GOMP_loop_ull_doacross_runtime_start");
  count_passed(left_because::doacross, TRIREME_HERE);
  return native(depth, counts, first_out, end_out);
}

// Loops with task reductions or scans: started by libgomp, whatever the schedule.
#define TRIREME_REDUCTION_LOOP(name, reason)                                                                          \
  TRIREME_PUBLIC bool GOMP_loop_##name##start(long start, long end, long step, long schedule, long chunk,             \
                                              long* first_out, long* end_out, void* reductions, void** memory) {      \
    static native_function<bool(long, long, long, long, long, long*, long*, void*, void**)> native("GOMP_loop_" #name \
                                                                                                   "start");          \
    count_passed(reason, TRIREME_HERE);                                                                               \
    return native(start, end, step, schedule, chunk, first_out, end_out, reductions, memory);                         \
  }                                                                                                                   \
  TRIREME_PUBLIC bool GOMP_loop_ull_##name##start(bool up, ull start, ull end, ull step, long schedule, ull chunk,    \
                                                  ull* first_out, ull* end_out, void* reductions, void** memory) {    \
    static native_function<bool(bool, ull, ull, ull, long, ull, ull*, ull*, void*, void**)> native(                   \
        "GOMP_loop_ull_" #name "start");                                                                              \
    count_passed(reason, TRIREME_HERE);                                                                               \
    return native(up, start, end, step, schedule, chunk, first_out, end_out, reductions, memory);                     \
  }
TRIREME_REDUCTION_LOOP(, left_because::reduction)
TRIREME_REDUCTION_LOOP(ordered_, left_because::ordered)

// Regions in two calls, from compilers before gcc 4.9: the body runs outside of our sight on the beginning thread.
TRIREME_PUBLIC void GOMP_parallel_start(body function, void* data, unsigned threads) {
  static native_function<void(body, void*, unsigned)> native("GOMP_parallel_start");
  enter_untracked();
  const runtime_scope scope(runtime_at(function));
  native(function, data, threads);
}
TRIREME_PUBLIC void GOMP_parallel_sections_start(body function, void* data, unsigned threads, unsigned count) {
  static native_function<void(body, void*, unsigned, unsigned)> native("GOMP_parallel_sections_start");
  enter_untracked();
  const runtime_scope scope(runtime_at(function));
  native(function, data, threads, count);
}
#define TRIREME_OLD_LOOP(name)                                                                                     \
  TRIREME_PUBLIC void GOMP_parallel_loop_##name##_start(body function, void* data, unsigned threads, long start,   \
                                                        long end, long step, long chunk) {                         \
    static native_function<void(body, void*, unsigned, long, long, long, long)> native("GOMP_parallel_loop_" #name \
                                                                                       "_start");                  \
    enter_untracked();                                                                                             \
    count_left(left_because::outside, TRIREME_HERE);                                                               \
    const runtime_scope scope(runtime_at(function));                                                               \
    native(function, data, threads, start, end, step, chunk);                                                      \
  }
TRIREME_OLD_LOOP(static)
TRIREME_OLD_LOOP(dynamic)
TRIREME_OLD_LOOP(guided)
TRIREME_PUBLIC void GOMP_parallel_loop_runtime_start(body function, void* data, unsigned threads, long start, long end,
                                                     long step) {
  static native_function<void(body, void*, unsigned, long, long, long)> native("GOMP_parallel_loop_runtime_start");
  enter_untracked();
  count_left(left_because::outside, TRIREME_HERE);
  const runtime_scope scope(runtime_at(function));
  native(function, data, threads, start, end, step);
}
TRIREME_PUBLIC void GOMP_parallel_end() {
  static native_function<void()> native("GOMP_parallel_end");
  const runtime_scope scope(runtime_at(TRIREME_HERE));
  native();
  leave_untracked();
}

// Target regions. Without a device the native runtime runs them in a team of the calling thread alone, which begins out
// of our sight: loops inside are not those of the team around them.
TRIREME_PUBLIC void GOMP_target(int device, body function, const void* unused, std::size_t maps, void** addresses,
                                std::size_t* sizes, unsigned char* kinds) {
  static native_function<void(int, body, const void*, std::size_t, void**, std::size_t*, unsigned char*)> native(
      "GOMP_target");
  enter_untracked();
  const runtime_scope scope(runtime_at(function));
  native(device, function, unused, maps, addresses, sizes, kinds);
  leave_untracked();
}
TRIREME_PUBLIC void GOMP_target_ext(int device, body function, std::size_t maps, void** addresses, std::size_t* sizes,
                                    unsigned short* kinds, unsigned flags, void** depend, void** arguments) {
  static native_function<void(int, body, std::size_t, void**, std::size_t*, unsigned short*, unsigned, void**, void**)>
      native("GOMP_target_ext");
  enter_untracked();
  const runtime_scope scope(runtime_at(function));
  native(device, function, maps, addresses, sizes, kinds, flags, depend, arguments);
  leave_untracked();
}
