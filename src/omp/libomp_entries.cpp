// The entry points of libomp that start parallel regions and distribute loops: called by programs of clang or flang.
// Each translates its arguments and is a few lines; everything else stays libomp's. Signatures as in LLVM 16;
// __kmpc_dispatch_deinit is called by programs of LLVM 19 and later.
//   Bounds are inclusive. A loop ends when *_next returns 0; a loop that is cancelled just ends, and the next init
//   begins another. Barriers are called by the program.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "omp/call_sites.hpp"
#include "omp/fibers/virtual_mode.hpp"
#include "omp/native_runtime.hpp"
#include "omp/run_schedule.hpp"
#include "omp/settings.hpp"
#include "omp/team_context.hpp"

namespace {

using namespace tri::omp;

struct location {  // ident_t of libomp
  std::int32_t reserved[4];
  const char* source;
};
using microtask = void (*)(std::int32_t* thread_of_process, std::int32_t* thread_of_team, ...);

// Schedule kinds, and the bits that may be added.
constexpr std::int32_t monotonic_bit = 1 << 29;
constexpr std::int32_t nonmonotonic_bit = 1 << 30;
constexpr std::int32_t first_ordered = 64;
constexpr std::int32_t last_ordered = 89;

// dynamic, guided, runtime, auto, trapezoidal; guided in two forms, static_steal; guided and runtime for simd loops.
// Not: static kinds, whose distribution programs may rely on.
constexpr bool may_be_taken(std::int32_t kind) {
  return (kind >= 35 && kind <= 39) || (kind >= 42 && kind <= 44) || kind == 46 || kind == 47;
}

constexpr std::int32_t runtime_kind = 37;
constexpr std::int32_t runtime_simd_kind = 47;  // its chunk is the width of the vectors, which stay whole

native_function<std::int32_t(location*)> native_team_size("__kmpc_bound_num_threads");

void* require_beside_teams(const char* name) {
  void* const function = find_beside(reinterpret_cast<void*>(native_team_size.usual()), name);
  if (function == nullptr) report_missing(name);
  return function;
}
native_function<void(int*, int*), require_beside_teams> native_get_schedule("omp_get_schedule");

std::uint32_t threads_of_team() {
  location nowhere{{0, 2, 0, 0}, ";unknown;unknown;0;0;;"};
  return static_cast<std::uint32_t>(native_team_size(&nowhere));
}

// The threads of a region run this instead of the program's microtask. `arguments` has room for as many as `invoke`
// passes. One cache line, read by every thread of the team.
struct alignas(64) region {
  microtask function;
  void** arguments;
  void (*invoke)(const region& begun, std::int32_t* global, std::int32_t* local);
  team_context* threads;
  const other_runtime* runtime;  // of the thread that begins it
};

// Passes Index... arguments, at least as many as the function has: it ignores the others, and the caller cleans up. The
// function is not variadic, despite libomp's type for it.
template <std::size_t... Index>
void invoke_with(const region& begun, std::int32_t* global, std::int32_t* local, std::index_sequence<Index...>) {
  using exact =
      void (*)(std::int32_t*, std::int32_t*, decltype(static_cast<void>(Index), static_cast<void*>(nullptr))...);
  reinterpret_cast<exact>(begun.function)(global, local, begun.arguments[Index]...);
}
template <std::size_t Capacity>
void invoke_with_capacity(const region& begun, std::int32_t* global, std::int32_t* local) {
  invoke_with(begun, global, local, std::make_index_sequence<Capacity>{});
}

// By the body of a region, which is in the object that begins it.
const other_runtime* runtime_at(const void* code) {
  return runtime_of(code, "__kmpc_fork_call", reinterpret_cast<void*>(native_team_size.usual()));
}

void run_region(std::int32_t* global, std::int32_t* local, const region* begun) {
  const runtime_scope scope(begun->runtime);
  thread_context context(*begun->threads, static_cast<std::uint32_t>(*local));
  begun->invoke(*begun, global, local);
}
const microtask run_region_task = reinterpret_cast<microtask>(&run_region);

native_function<void(location*, std::int32_t, microtask, ...)> native_fork_call("__kmpc_fork_call");

template <std::size_t Capacity>
void fork_with_capacity(location* where, int count, microtask function, va_list list) {
  void* arguments[Capacity] = {};
  for (int index = 0; index < count; ++index) arguments[index] = va_arg(list, void*);
  borrowed_team threads;
  region begun{function, arguments, &invoke_with_capacity<Capacity>, &threads.get(), this_runtime};
  native_fork_call(where, 1, run_region_task, &begun);
}

// The chunk of a loop whose schedule has one.
std::uint64_t chunk_of(std::int64_t chunk) { return chunk < 1 ? 1 : static_cast<std::uint64_t>(chunk); }

const char* source_of(const location* where) { return where != nullptr ? where->source : nullptr; }

void count_passed(left_because reason, const void* site, const location* where) {
  const thread_context* const context = followed();
  if (context == nullptr || context->thread == 0) count_left(reason, site, source_of(where));
}

// Schedules the loop if possible; otherwise counts the reason.
template <class Value>
bool take_loop(const void* site, location* where, std::int32_t kind, Value lower, Value upper,
               std::make_signed_t<Value> step, std::make_signed_t<Value> chunk) {
  thread_context* const context = followed();
  if (context == nullptr) {
    count_passed(left_because::outside, site, where);
    return false;
  }
  context->in_loop = false;  // a loop that was cancelled ends here
  const bool doacross = std::exchange(context->doacross_next, false);
  const std::int32_t plain = kind & ~(monotonic_bit | nonmonotonic_bit);
  left_because reason{};
  run_schedule wanted{distribution::chosen, chunk_of(chunk), (kind & nonmonotonic_bit) == 0};
  if (plain == runtime_kind || plain == runtime_simd_kind) {
    const run_schedule asked =
        run_schedule_here([](int* kind_out, int* chunk_out) { native_get_schedule(kind_out, chunk_out); });
    wanted.shares = asked.shares;
    wanted.chunk = plain == runtime_kind ? asked.chunk : wanted.chunk * asked.chunk;
    wanted.monotonic = wanted.monotonic || asked.monotonic;
  }
  const std::optional<iteration_space> space = inclusive_space(lower, upper, step, wanted.chunk);
  if (!the_settings().takes) {
    reason = left_because::asked;
  } else if (doacross) {
    reason = left_because::doacross;
  } else if (plain >= first_ordered && plain <= last_ordered) {
    reason = left_because::ordered;
  } else if (!may_be_taken(plain)) {
    reason = left_because::unknown;
  } else if (!space) {
    reason = left_because::too_long;
  } else {
    begin_loop(*context, {site, source_of(where), wanted.monotonic, wanted.shares, *space}, &threads_of_team);
    return true;
  }
  context->took_last = false;
  count_passed(reason, site, where);
  return false;
}

template <class Value>
std::int32_t next_in(thread_context& context, std::int32_t* is_last, Value* lower, Value* upper,
                     std::make_signed_t<Value>* step) {
  const tri::schedules::item_span got = context.next_items();
  if (got.empty()) {
    context.in_loop = false;
    return 0;
  }
  *lower = static_cast<Value>(context.space.value_of(got.first));
  *upper = static_cast<Value>(context.space.value_of(got.last - 1));
  if (step != nullptr) *step = static_cast<std::make_signed_t<Value>>(context.space.step);
  if (is_last != nullptr) *is_last = got.last == context.space.items ? 1 : 0;
  return 1;
}

constexpr int most_arguments = 512;

}  // namespace

#define TRIREME_HERE __builtin_return_address(0)
#define TRIREME_PUBLIC extern "C" [[gnu::visibility("default")]]

// Parallel regions.

TRIREME_PUBLIC void __kmpc_fork_call(location* where, std::int32_t count, microtask function, ...) {
  virtual_on();  // if requested: reports that there are none here
  const runtime_scope scope(runtime_at(reinterpret_cast<const void*>(function)));
  va_list list;
  va_start(list, function);
  if (count <= 4) {
    fork_with_capacity<4>(where, count, function, list);
  } else if (count <= 16) {
    fork_with_capacity<16>(where, count, function, list);
  } else if (count <= 64) {
    fork_with_capacity<64>(where, count, function, list);
  } else if (count <= most_arguments) {
    fork_with_capacity<most_arguments>(where, count, function, list);
  } else {
    std::fprintf(stderr,
                 "trireme omp: a parallel region of the program shares %d variables; at most %d are possible. Run it "
                 "without `--omp`.\n",
                 count, most_arguments);
    std::abort();
  }
  va_end(list);
}

TRIREME_PUBLIC void __kmpc_fork_call_if(location* where, std::int32_t count, microtask function, std::int32_t condition,
                                        void* argument) {
  static native_function<void(location*, std::int32_t, microtask, std::int32_t, void*)> native("__kmpc_fork_call_if");
  const runtime_scope scope(runtime_at(reinterpret_cast<const void*>(function)));
  void* arguments[4] = {count > 0 ? argument : nullptr};
  borrowed_team threads;
  region begun{function, arguments, &invoke_with_capacity<4>, &threads.get(), this_runtime};
  native(where, 1, run_region_task, condition, &begun);
}

// The program runs the body itself, alone: nothing to share.
TRIREME_PUBLIC void __kmpc_serialized_parallel(location* where, std::int32_t thread) {
  static native_function<void(location*, std::int32_t)> native("__kmpc_serialized_parallel");
  enter_untracked();
  const runtime_scope scope(runtime_at(TRIREME_HERE));
  native(where, thread);
}
TRIREME_PUBLIC void __kmpc_end_serialized_parallel(location* where, std::int32_t thread) {
  static native_function<void(location*, std::int32_t)> native("__kmpc_end_serialized_parallel");
  const runtime_scope scope(runtime_at(TRIREME_HERE));
  native(where, thread);
  leave_untracked();
}

// Dependences between iterations are announced before the loop.
TRIREME_PUBLIC void __kmpc_doacross_init(location* where, std::int32_t thread, std::int32_t depth, void* dimensions) {
  static native_function<void(location*, std::int32_t, std::int32_t, void*)> native("__kmpc_doacross_init");
  if (thread_context* const context = followed()) context->doacross_next = true;
  native(where, thread, depth, dimensions);
}

// Loops.
#define TRIREME_DISPATCH(suffix, value, signed_value)                                                                  \
  TRIREME_PUBLIC void __kmpc_dispatch_init_##suffix(location* where, std::int32_t thread, std::int32_t kind,           \
                                                    value lower, value upper, signed_value step, signed_value chunk) { \
    static native_function<void(location*, std::int32_t, std::int32_t, value, value, signed_value, signed_value)>      \
        native("__kmpc_dispatch_init_" #suffix);                                                                       \
    if (!take_loop<value>(TRIREME_HERE, where, kind, lower, upper, step, chunk)) {                                     \
      native(where, thread, kind, lower, upper, step, chunk);                                                          \
    }                                                                                                                  \
  }                                                                                                                    \
  TRIREME_PUBLIC void __kmpc_dist_dispatch_init_##suffix(location* where, std::int32_t thread, std::int32_t kind,      \
                                                         std::int32_t* is_last, value lower, value upper,              \
                                                         signed_value step, signed_value chunk) {                      \
    static native_function<void(location*, std::int32_t, std::int32_t, std::int32_t*, value, value, signed_value,      \
                                signed_value)>                                                                         \
        native("__kmpc_dist_dispatch_init_" #suffix);                                                                  \
    if (thread_context* const context = followed()) context->in_loop = context->took_last = false;                     \
    count_passed(left_because::distributed, TRIREME_HERE, where);                                                      \
    native(where, thread, kind, is_last, lower, upper, step, chunk);                                                   \
  }                                                                                                                    \
  TRIREME_PUBLIC std::int32_t __kmpc_dispatch_next_##suffix(                                                           \
      location* where, std::int32_t thread, std::int32_t* is_last, value* lower, value* upper, signed_value* step) {   \
    static native_function<std::int32_t(location*, std::int32_t, std::int32_t*, value*, value*, signed_value*)>        \
        native("__kmpc_dispatch_next_" #suffix);                                                                       \
    thread_context* const context = in_taken_loop();                                                                   \
    return context != nullptr ? next_in(*context, is_last, lower, upper, step)                                         \
                              : native(where, thread, is_last, lower, upper, step);                                    \
  }
TRIREME_DISPATCH(4, std::int32_t, std::int32_t)
TRIREME_DISPATCH(4u, std::uint32_t, std::int32_t)
TRIREME_DISPATCH(8, std::int64_t, std::int64_t)
TRIREME_DISPATCH(8u, std::uint64_t, std::int64_t)
// Behind every loop, from LLVM 19 on.
TRIREME_PUBLIC void __kmpc_dispatch_deinit(location* where, std::int32_t thread) {
  static native_function<void(location*, std::int32_t)> native("__kmpc_dispatch_deinit");
  const thread_context* const context = followed();
  if (context == nullptr || !context->took_last) native(where, thread);
}
