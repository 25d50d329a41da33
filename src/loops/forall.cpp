// The C interface (trireme/forall.h) over loop_sequence and worksharing_loop, with a loop_memory for each place in the
// program that runs a loop.
#include "trireme/forall.h"
#include "os/hash.hpp"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "loops/calibration.hpp"
#include "os/clock.hpp"
#include "schedules/loop_memory.hpp"
#include "schedules/loop_sequence.hpp"
#include "schedules/worksharing_loop.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "trireme/schedule.hpp"

using namespace tri::loops;
using namespace tri::schedules;

namespace {

// A thread's state between its calls.
struct alignas(64) forall_thread {
  loop_sequence::position in_sequence;
  fetch_position position;
  long first = 0;  // of the loop it is in
  bool inside = false;
  std::string text;  // the schedule it used last, and its meaning
  schedule parsed;
};

thread_local std::string last_error;

int fail(std::string text) {
  last_error = std::move(text);
  return -1;
}

// Equal schedules have equal keys whatever text they were written as.
std::uint64_t number_of(const schedule& which) { return tri::os::hashed(to_text(which)); }

}  // namespace

namespace {

// Loops whose plan was found wrong when they were armed: empty for all their threads, which get the reason.
class faulty_loops {
 public:
  void set(const worksharing_loop& loop, std::string why) {
    const std::lock_guard lock(mutex_);
    reasons_.insert_or_assign(&loop, std::move(why));
    count_.store(reasons_.size(), std::memory_order_relaxed);  // relaxed: published with the loop (sequence.publish)
  }
  // True: it was one.
  bool clear(const worksharing_loop& loop) {
    if (count_.load(std::memory_order_relaxed) == 0) return false;  // relaxed: earlier armings are seen
    const std::lock_guard lock(mutex_);
    const bool was = reasons_.erase(&loop) > 0;
    count_.store(reasons_.size(), std::memory_order_relaxed);  // relaxed: as above
    return was;
  }
  std::string reason(const worksharing_loop& loop) {
    if (count_.load(std::memory_order_relaxed) == 0) return {};  // relaxed: as above
    const std::lock_guard lock(mutex_);
    const auto found = reasons_.find(&loop);
    return found != reasons_.end() ? found->second : std::string();
  }

 private:
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::map<const worksharing_loop*, std::string> reasons_;
};

}  // namespace

struct tri_team {
  explicit tri_team(std::size_t count) : threads(count) {}
  loop_sequence loops;
  std::vector<forall_thread> threads;
  faulty_loops faulty;
  // Used by arming threads, which the sequence serializes. By place in the program, schedule, and number of iterations
  // by power of two.
  std::map<std::tuple<const void*, std::uint64_t, int>, std::unique_ptr<loop_memory>> memories;

  void arm(worksharing_loop& loop, const loop_key& key, const schedule& which, held_before held) noexcept {
    if (faulty.clear(loop)) held = held_before::another_loop;
    try {
      if (!learns(which)) {
        if (held == held_before::same_key)
          loop.arm_again();
        else
          loop.arm(layout_of(which, key.items, key.participants));
        return;
      }
      std::unique_ptr<loop_memory>& memory = memories[{key.site, key.variant, std::bit_width(key.items)}];
      if (memory == nullptr) {
        memory = std::make_unique<loop_memory>(memory_setup{
            .which = which, .limits = automatic_limits::of_this_machine(), .machine = &costs_of_this_machine});
      }
      if (memory->arm(loop, key.items, key.participants, held)) loop.measure(tri::os::ticks());
    } catch (const std::exception& problem) {
      loop.arm(layout_of({.kind = schedule_kind::static_blocks}, 0, key.participants));
      loop.link() = {};
      faulty.set(loop, problem.what());
    }
  }
};

namespace {

forall_thread* thread_of(tri_team* team, int number) {
  if (team == nullptr) {
    fail("forall: there is no team (null); make one with tri_team_create");
    return nullptr;
  }
  if (number < 0 || static_cast<std::size_t>(number) >= team->threads.size()) {
    fail(fmt::format("forall: thread number {}; the team has threads 0 to {}", number, team->threads.size() - 1));
    return nullptr;
  }
  return &team->threads[static_cast<std::size_t>(number)];
}

tri::loop_plan& plan_of(tri_plan* plan) { return *reinterpret_cast<tri::loop_plan*>(plan); }
// A negative number is invalid in any loop; the check of the plan reports it.
std::uint64_t number_in_plan(long number) { return static_cast<std::uint64_t>(number); }

int hand_out(forall_thread& thread, long* start, long* end) {
  const item_span found = thread.position.next();
  if (found.empty()) {
    thread.inside = false;
    return 0;
  }
  *start = static_cast<long>(static_cast<std::uint64_t>(thread.first) + found.first);
  *end = static_cast<long>(static_cast<std::uint64_t>(thread.first) + found.last);
  return 1;
}

}  // namespace

extern "C" {

tri_team* tri_team_create(int threads) {
  if (threads < 1 || static_cast<std::uint32_t>(threads) > most_worksharing_threads) {
    fail(fmt::format("forall: a team of {} threads; it must be 1 to {}", threads, most_worksharing_threads));
    return nullptr;
  }
  try {
    return new tri_team(static_cast<std::size_t>(threads));
  } catch (const std::exception& error) {
    fail(error.what());
    return nullptr;
  }
}

void tri_team_destroy(tri_team* team) { delete team; }

// Not inlined: the call site identifies the loop.
__attribute__((noinline)) int tri_forall_start(tri_team* team, const char* schedule_text, long first, long last,
                                               long* start, long* end, int number) {
  forall_thread* const thread = thread_of(team, number);
  if (thread == nullptr) return -1;
  if (schedule_text == nullptr) return fail("forall: the schedule is null; \"automatic\" is the default one");
  try {
    if (thread->text != schedule_text) {
      thread->parsed = parse_schedule(schedule_text);
      thread->text = schedule_text;
    }
    const auto participants = static_cast<std::uint32_t>(team->threads.size());
    const std::uint64_t items = first < last ? static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) : 0;
    const void* const site = __builtin_return_address(0);
    worksharing_loop& loop = team->loops.enter(
        thread->in_sequence,
        [&] {
          return loop_key{
              .site = site, .items = items, .variant = number_of(thread->parsed), .participants = participants};
        },
        [&](worksharing_loop& found, const loop_key& key, held_before held) {
          team->arm(found, key, thread->parsed, held);
        });
    if (std::string why = team->faulty.reason(loop); !why.empty()) return thread->inside = false, fail(std::move(why));
    thread->position = fetch_position(loop, static_cast<std::uint32_t>(number));
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  thread->first = first;
  thread->inside = true;
  return hand_out(*thread, start, end);
}

int tri_forall_next(tri_team* team, long* start, long* end, int number) {
  forall_thread* const thread = thread_of(team, number);
  if (thread == nullptr) return -1;
  return thread->inside ? hand_out(*thread, start, end) : 0;
}

int tri_schedule_add(const char* name, tri_plan_function function, void* context) {
  if (name == nullptr) return fail("add_schedule: the name is null");
  if (function == nullptr) return fail(fmt::format("add_schedule('{}'): there is no function", name));
  try {
    tri::add_schedule(name, [function, context](const tri::loop_shape& loop, tri::loop_plan& plan) {
      function(context, static_cast<long>(loop.iterations), loop.participants, loop.values.data(),
               static_cast<int>(loop.values.size()), reinterpret_cast<tri_plan*>(&plan));
    });
    return 0;
  } catch (const std::exception& problem) {
    return fail(problem.what());
  }
}

void tri_plan_keep(tri_plan* plan, int participant, long first, long last) {
  plan_of(plan).keep(participant, number_in_plan(first), number_in_plan(last));
}
void tri_plan_offer(tri_plan* plan, int participant, long first, long last) {
  plan_of(plan).offer(participant, number_in_plan(first), number_in_plan(last));
}
void tri_plan_share(tri_plan* plan, long first, long last) {
  plan_of(plan).share(number_in_plan(first), number_in_plan(last));
}

const char* tri_forall_error(void) { return last_error.c_str(); }

}  // extern "C"
