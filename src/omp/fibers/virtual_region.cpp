#include "omp/fibers/virtual_region.hpp"

#include <dlfcn.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "arena/doorbell.hpp"
#include "omp/fibers/fiber.hpp"
#include "omp/fibers/virtual_mode.hpp"
#include "omp/fibers/virtual_mutex.hpp"
#include "omp/fibers/virtual_schedule.hpp"
#include "omp/fibers/virtual_stacks.hpp"
#include "omp/fibers/virtual_watchdog.hpp"
#include "omp/native_runtime.hpp"
#include "os/cpu/cpu_hints.hpp"

namespace tri::omp {

thread_local virtual_thread_state* state_of_thread [[gnu::tls_model("initial-exec")]] = nullptr;

[[gnu::noinline]] void go_to(virtual_thread_state* state) {
  asm volatile("" ::: "memory");  // not to be merged with a call before a switch
  state_of_thread = state;
}

namespace {

struct real_memory {
  template <class Value>
  using word = std::atomic<Value>;
  using mutex = spin_lock;
};
using schedule_of_contexts = context_schedule<real_memory>;
using advice = schedule_of_contexts::advice;

// The C++ runtime's state per thread: exceptions being handled, and the number in flight.
struct exception_globals {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};
using exception_globals_function = exception_globals* (*)();

struct alignas(128) carrier_thread {
  fiber flow;  // the loop that looks for contexts
  stack_shelf shelf;
};

enum class request : std::uint8_t { end, barrier, word, turn, yield };

}  // namespace

// A virtual thread. Kept for the next region.
class alignas(128) virtual_context {
 public:
  fiber flow;
  carrier_thread* carrier = nullptr;  // that runs it, or ran it last
  stack_area stack;                   // the one it is on
  virtual_thread_state state;
  bool started = false;

  // Why it is suspended.
  request why = request::end;
  std::uint32_t* wanted = nullptr;  // word
  bool granted = false;             // it got it while it was being suspended

  // Of the thread, while it is suspended.
  virtual_thread_state* innermost = nullptr;
  thread_context* loops = nullptr;
  exception_globals exceptions;
  int error_number = 0;

  std::uint64_t tasks = 0;
  alignas(thread_context) std::array<std::byte, sizeof(thread_context)> loop_memory;
};

namespace {

// The one region of several threads, and what is reused by the next.
struct virtual_team {
  std::atomic<bool> busy{false};
  schedule_of_contexts schedule;
  arena::doorbell bell;
  virtual_watchdog watchdog;
  std::vector<std::unique_ptr<virtual_context>> contexts;
  std::vector<std::unique_ptr<carrier_thread>> carriers;
  stack_sizes stacks;
  exception_globals_function exceptions_of_thread = nullptr;
  int (*number_of_carrier)() = nullptr;
  int (*count_of_carriers)() = nullptr;

  alignas(64) std::optional<team_share> share;
  int error_number = 0;  // of the program's thread, which is virtual thread 0 inside the region

  // The region: one cache line, read by every carrier.
  struct alignas(64) region {
    void (*function)(void*) = nullptr;
    void* data = nullptr;
    const loop_start* combined = nullptr;
    const virtual_thread_state* outer = nullptr;
    const control_variables* control = nullptr;  // of the thread that began it; carriers are other threads
    team_context* loops = nullptr;
    std::uint32_t sections = 0;
    std::uint32_t count = 0;
    std::uint32_t carrier_count = 0;
  };
  region now;
};
static_assert(sizeof(virtual_team::region) == 64);
virtual_team& process_team() {
  static virtual_team* const only = new virtual_team;  // never destroyed: the process may end inside a region
  return *only;
}

struct alignas(128) totals_so_far {
  std::atomic<std::uint64_t> regions{0};
  std::atomic<std::uint64_t> of_one{0};
  std::atomic<std::uint64_t> tasks{0};
};
totals_so_far totals;
context_counts counts_before_fork;
void count(std::atomic<std::uint64_t>& total, std::uint64_t more) {
  total.fetch_add(more, std::memory_order_relaxed);  // relaxed: a count
}

constexpr std::uint32_t patience = 7;  // pauses before a carrier steals: about a microsecond
// When stolen contexts never return: some tens of microseconds, so that the first short part of a region, up to its
// first barrier, does not decide for the rest.
constexpr std::uint32_t pinned_patience = 100;
constexpr std::size_t wait_buckets = 64;
mutex_waiters<spin_lock>& waiters_for(const void* word) {
  static auto* const buckets = new std::array<mutex_waiters<spin_lock>, wait_buckets>;  // never destroyed, as the team
  return (*buckets)[(reinterpret_cast<std::uintptr_t>(word) * 0x9e3779b97f4a7c15u) >> 58];
}

std::atomic_ref<std::uint32_t> atomically(std::uint32_t* word) { return std::atomic_ref<std::uint32_t>(*word); }

void wake_sleepers(virtual_team& all) {
  if (all.schedule.has_sleepers()) all.bell.ring();
}

void make_ready(std::uint32_t context) {
  virtual_team& all = process_team();
  all.schedule.make_ready(context);
  wake_sleepers(all);
}

// --- what runs on the stack of a context ---

void suspend(virtual_context& context, request why) {
  context.why = why;
  fiber::switch_between(context.flow, context.carrier->flow);
}

void begin_combined(virtual_thread_state& state, thread_context& loops, const loop_start* combined, unsigned sections) {
  if (combined != nullptr) begin_loop(loops, *combined, &threads_here);
  if (sections != 0) begin_sections(state, sections);
}

void run_context(void* argument) {
  auto& self = *static_cast<virtual_context*>(argument);
  const virtual_team::region& now = process_team().now;
  begin_combined(self.state, *self.loops, now.combined, now.sections);
  now.function(now.data);
  self.why = request::end;
  fiber::leave_for(self.carrier->flow);
}

// --- what runs on the stack of a thread of the native runtime ---

void set_up(virtual_team& all, carrier_thread& me, virtual_context& context, std::uint32_t number) {
  context.stack = me.shelf.take(number == 0 ? all.stacks.first : all.stacks.each);
  context.flow.prepare(context.stack.bottom, context.stack.size, &run_context, &context);
  const virtual_team::region& now = all.now;
  virtual_thread_state& state = context.state;
  state = {};
  state.outer = now.outer;
  state.context = &context;
  state.share = &*all.share;
  state.thread = number;
  state.threads = now.count;
  state.level = now.outer != nullptr ? now.outer->level + 1 : 1;
  state.active_level = 1;
  state.control = *now.control;
  context.innermost = &state;
  this_thread = nullptr;
  context.loops = new (&context.loop_memory) thread_context(*now.loops, number);
  context.exceptions = {};
  context.error_number = number == 0 ? all.error_number : 0;
  context.granted = false;
  context.tasks = 0;
  context.started = true;
}

// Queues the context at what it waits for. True: it need not wait and continues.
bool file_away(virtual_team& all, std::uint32_t carrier, virtual_context& context) {
  const std::uint32_t number = context.state.thread;
  if (context.why == request::barrier) {
    all.schedule.arrive(carrier, number);
    return false;
  }
  if (context.why == request::yield) {
    all.schedule.yield(carrier, number);
    return false;
  }
  all.schedule.put_elsewhere(carrier);
  bool goes_on = false;
  if (context.why == request::word) {
    goes_on = waiters_for(context.wanted).take_or_wait(atomically(context.wanted), context.wanted, number);
  } else {
    const virtual_thread_state& state = *context.innermost;
    goes_on = state.ordered->turns.has_turn_or_waits(state.chunk, number);
  }
  // Unless it continues, others may run it from here on: `context` must not be accessed.
  if (goes_on) {
    all.schedule.take_back(carrier);
    context.granted = true;
  }
  return goes_on;
}

void run_on_carrier(virtual_team& all, std::uint32_t carrier, std::uint32_t number, exception_globals* exceptions) {
  carrier_thread& me = *all.carriers[carrier];
  virtual_context& context = *all.contexts[number];
  context.carrier = &me;
  if (!context.started) set_up(all, me, context, number);
  do {
    state_of_thread = context.innermost;
    this_thread = context.loops;
    if (exceptions != nullptr) *exceptions = context.exceptions;
    errno = context.error_number;
    all.watchdog.note_step(carrier);
    fiber::switch_between(me.flow, context.flow);
    if (context.why == request::end) {
      if (number == 0) all.error_number = errno;
      std::destroy_at(context.loops);
      context.started = false;
      me.shelf.put_back(context.stack, all.now.count / all.now.carrier_count + 1);
      if (context.tasks != 0) count(totals.tasks, context.tasks);
      all.schedule.finish(carrier);
      return;
    }
    context.error_number = errno;
    if (exceptions != nullptr) context.exceptions = *exceptions;
    context.loops = this_thread;
    context.innermost = state_of_thread;
  } while (file_away(all, carrier, context));
}

void rest_a_moment(const schedule_of_contexts& schedule, std::uint32_t carrier, int rested) {
  constexpr int longest = 16;  // less than a microsecond
  const int looks = rested < 3 ? 2 << rested : longest;
  for (int count = 0; count < looks && !schedule.has_news(carrier); ++count) os::cpu_relax();
}

void look_for_contexts(virtual_team& all, std::uint32_t carrier) {
  exception_globals* const exceptions = all.exceptions_of_thread != nullptr ? all.exceptions_of_thread() : nullptr;
  const exception_globals own_exceptions = exceptions != nullptr ? *exceptions : exception_globals{};
  const int own_error = errno;
  virtual_thread_state* const own_state = state_of_thread;
  thread_context* const own_loops = this_thread;
  const int most_spins = the_virtual_settings().spins;
  int spins = 0;
  std::uint32_t heard = 0;
  for (bool looks = true; looks;) {
    const schedule_of_contexts::step next = all.schedule.look(carrier);
    switch (next.what) {
      case advice::run:
        run_on_carrier(all, carrier, next.context, exceptions);
        spins = 0;
        break;
      case advice::look_on:
        if (next.rings) wake_sleepers(all);
        break;
      case advice::rest:
        if (++spins < most_spins) {
          rest_a_moment(all.schedule, carrier, spins - 1);
        } else {
          heard = all.bell.listen();
          all.schedule.prepare_sleep(carrier);
        }
        break;
      case advice::sleep:
        all.bell.sleep(heard, -1);
        all.schedule.end_sleep(carrier);
        spins = 0;
        break;
      case advice::leave:
        looks = false;
        break;
    }
  }
  this_thread = own_loops;
  state_of_thread = own_state;
  errno = own_error;
  if (exceptions != nullptr) *exceptions = own_exceptions;
}

void run_carrier(void* argument) {
  auto& all = *static_cast<virtual_team*>(argument);
  // Where contexts may move, the line that all carriers read is not written to.
  if (!the_virtual_settings().started_may_move) {
    all.schedule.set_present(static_cast<std::uint32_t>(all.count_of_carriers()));
  }
  look_for_contexts(all, static_cast<std::uint32_t>(all.number_of_carrier()));
}

// The control variables that a region started by this thread inside `outer` inherits.
const control_variables& control_inside(const virtual_thread_state* outer) {
  return outer != nullptr ? outer->control : outer_control();
}

native_function<void(void (*)(void*), void*, unsigned, unsigned)> native_parallel("GOMP_parallel");

// What does not change from region to region.
void make_ready_for_regions(virtual_team& all) {
  if (all.number_of_carrier != nullptr) return;
  all.watchdog.set_timeout(the_virtual_settings().stall_s);
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  all.stacks = choose_stack_sizes(std::getenv("OMP_STACKSIZE"), std::getenv("GOMP_STACKSIZE"),
                                  limited ? limit.rlim_cur : unlimited);
  // The program's C++ runtime, if it has one; ours is our own.
  all.exceptions_of_thread = reinterpret_cast<exception_globals_function>(dlsym(RTLD_DEFAULT, "__cxa_get_globals"));
  const auto of_runtime = [](const char* name) {
    void* const found = find_beside(reinterpret_cast<void*>(native_parallel.usual()), name);
    if (found == nullptr) report_missing(name);
    return reinterpret_cast<int (*)()>(found);
  };
  all.count_of_carriers = of_runtime("omp_get_num_threads");
  all.number_of_carrier = of_runtime("omp_get_thread_num");
}

void run_region_of_many(virtual_team& all, const region_start& start, const virtual_thread_state* outer,
                        std::uint32_t threads) {
  make_ready_for_regions(all);
  const virtual_settings& settings = the_virtual_settings();
  const std::uint32_t carriers = std::min(threads, settings.carriers);
  while (all.contexts.size() < threads) all.contexts.push_back(std::make_unique<virtual_context>());
  while (all.carriers.size() < carriers) all.carriers.push_back(std::make_unique<carrier_thread>());
  borrowed_team loops;
  all.share.emplace();
  all.error_number = errno;
  all.now = {start.function, start.data,     start.combined, outer,   &control_inside(outer),
             &loops.get(),   start.sections, threads,        carriers};
  all.schedule.begin(
      {threads, carriers, settings.started_may_move, settings.started_may_move ? patience : pinned_patience});
  const bool some_wait = threads > carriers;
  if (some_wait) all.watchdog.region_begins();
  if (carriers == 1) {
    look_for_contexts(all, 0);
  } else {
    native_parallel(&run_carrier, &all, carriers, start.flags);
  }
  if (some_wait) all.watchdog.region_ends();
  errno = all.error_number;
  count(totals.regions, 1);
}

void run_region_of_one(const region_start& start, virtual_thread_state* outer) {
  borrowed_team loops;
  thread_context context(loops.get(), 0);
  team_share share;
  virtual_thread_state state;
  state.share = &share;
  if (outer != nullptr) {
    state.outer = outer;
    state.context = outer->context;
    state.level = outer->level + 1;
    state.active_level = outer->active_level;
    state.in_final = outer->in_final;
  }
  state.control = control_inside(outer);
  go_to(&state);
  begin_combined(state, context, start.combined, start.sections);
  start.function(start.data);
  go_to(outer);
  count(totals.regions, 1);
  count(totals.of_one, 1);
}

std::uint32_t threads_for(const region_start& start, const virtual_thread_state* outer) {
  const virtual_settings& settings = the_virtual_settings();
  if (!settings.parallel || (outer != nullptr && outer->active_level > 0)) return 1;
  const int by_control = control_inside(outer).threads;
  const std::uint32_t wanted = start.threads != 0 ? start.threads : static_cast<std::uint32_t>(std::max(1, by_control));
  return std::min(wanted, settings.most_contexts);
}

}  // namespace

bool run_on_virtual_threads(const region_start& start) {
  if (!virtual_on()) return false;
  virtual_thread_state* const outer = current_state();
  const std::uint32_t threads = threads_for(start, outer);
  virtual_team& all = process_team();
  bool busy = false;
  // acquire: the last region's writes; relaxed on failure: nothing is read
  if (threads > 1 && all.busy.compare_exchange_strong(busy, true, std::memory_order_acquire,  // pairs: team.free
                                                      std::memory_order_relaxed)) {
    run_region_of_many(all, start, outer, threads);
    all.busy.store(false, std::memory_order_release);  // team.free
  } else {
    run_region_of_one(start, outer);
  }
  return true;
}

std::uint32_t threads_here() { return current_state()->threads; }

void wait_at_barrier(virtual_thread_state& state) {
  if (state.threads > 1) suspend(*state.context, request::barrier);
}

void begin_sections(virtual_thread_state& state, unsigned sections) {
  static const char site = 0;  // its address names all sections
  thread_context& loops = *this_thread;
  schedules::worksharing_loop& entered = loops.of.loops.enter(
      loops.in_sequence,
      [&] {
        return schedules::loop_key{&site, sections, 1, 0, state.threads};
      },
      [](schedules::worksharing_loop& found, const schedules::loop_key& key, schedules::held_before held) {
        if (held == schedules::held_before::same_key) {
          found.arm_again();
          return;
        }
        schedules::schedule one_by_one;
        one_by_one.kind = schedules::schedule_kind::dynamic;
        one_by_one.chunk = 1;
        found.arm(schedules::layout_of(one_by_one, key.items, key.participants));
      });
  loops.position = schedules::fetch_position(entered, state.thread);
  state.section = state.last_section = 0;
}

void take_word(virtual_thread_state* state, std::uint32_t* word) {
  constexpr int tries = 30;  // about a microsecond: its holder may be running beside us
  if (take_mutex(atomically(word))) return;
  virtual_context* const context = state != nullptr ? state->context : nullptr;
  if (context == nullptr || process_team().now.carrier_count > 1) {
    for (int count = 0; count < tries; ++count) {
      os::cpu_relax();
      // relaxed: taking it decides
      if (atomically(word).load(std::memory_order_relaxed) == mutex_free && take_mutex(atomically(word))) return;
    }
  }
  if (context == nullptr) {  // not a virtual thread: it has nothing else to run
    while (!take_mutex(atomically(word))) sched_yield();
    return;
  }
  do {
    context->wanted = word;
    context->granted = false;
    suspend(*context, request::word);
  } while (!context->granted && !take_mutex_again(atomically(word)));
}

bool try_word(std::uint32_t* word) { return take_mutex(atomically(word)); }

void release_word(virtual_thread_state*, std::uint32_t* word) {
  if (!release_mutex(atomically(word))) return;
  if (const std::optional<std::uint32_t> next = waiters_for(word).next(word)) make_ready(*next);
}

void yield(virtual_thread_state* state) {
  if (state != nullptr && state->context != nullptr) suspend(*state->context, request::yield);
}

void wait_for_turn(virtual_thread_state& state) {
  if (state.threads == 1 || state.ordered->turns.has_turn(state.chunk)) return;
  suspend(*state.context, request::turn);
}

void pass_turn(virtual_thread_state& state) {
  if (const std::optional<std::uint32_t> next = state.ordered->turns.pass()) make_ready(*next);
}

namespace {

struct call_on_stack {
  void (*function)(void*);
  void* argument;
  fiber inside;
  fiber outside;
};
void make_call(void* argument) {
  auto& call = *static_cast<call_on_stack*>(argument);
  call.function(call.argument);
  fiber::leave_for(call.outside);
}

}  // namespace

void call_on_large_stack(virtual_thread_state& state, void (*function)(void*), void* argument) {
  virtual_context* const context = state.context;
  if (context == nullptr) return function(argument);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto bottom = reinterpret_cast<std::uintptr_t>(context->stack.bottom);
  if (here - bottom > context->stack.size / 2) return function(argument);
  const stack_area old = context->stack;
  context->stack = context->carrier->shelf.take(process_team().stacks.each);
  call_on_stack call{function, argument, {}, {}};
  call.inside.prepare(context->stack.bottom, context->stack.size, &make_call, &call);
  fiber::switch_between(call.outside, call.inside);
  context->carrier->shelf.put_back(context->stack, process_team().now.count / process_team().now.carrier_count + 1);
  context->stack = old;
}

void count_task(virtual_thread_state& state) {
  if (state.context != nullptr) {
    ++state.context->tasks;
  } else {
    count(totals.tasks, 1);
  }
}

virtual_totals counted_so_far() {
  const auto read = [](const std::atomic<std::uint64_t>& total) {
    return total.load(std::memory_order_relaxed);  // relaxed: at the end
  };
  const context_counts counts = process_team().schedule.counts();
  return {read(totals.regions),
          read(totals.of_one),
          counts.run - counts_before_fork.run,
          counts.stolen - counts_before_fork.stolen,
          counts.suspended - counts_before_fork.suspended,
          read(totals.tasks)};
}

void forget_totals() {
  counts_before_fork = process_team().schedule.counts();
  for (std::atomic<std::uint64_t>* each : {&totals.regions, &totals.of_one, &totals.tasks}) {
    each->store(0, std::memory_order_relaxed);  // relaxed: a forked child is alone
  }
}

}  // namespace tri::omp
