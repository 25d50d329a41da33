// The C interface (trireme/forall.h) over loop_sequence and fetched_loop.
#include "trireme/forall.h"

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "loops/fetched_loop.hpp"
#include "loops/loop_sequence.hpp"
#include "loops/schedule.hpp"

namespace {

using namespace tri::loops;

// What one thread keeps between its calls.
struct alignas(64) forall_thread {
  loop_sequence::place place;
  fetch_position position;
  long first = 0;  // of the loop it is in
  bool inside = false;
  std::string text;  // the schedule it used last, and what that means
  schedule parsed;
};

thread_local std::string last_error;

int fail(std::string text) {
  last_error = std::move(text);
  return -1;
}

// Equal schedules have equal keys whatever text they were written as.
std::uint64_t number_of(const schedule& which) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : to_text(which)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

struct tri_crew {
  explicit tri_crew(std::size_t count) : threads(count) {}
  loop_sequence loops;
  std::vector<forall_thread> threads;
};

namespace {

forall_thread* thread_of(tri_crew* crew, int number) {
  if (crew == nullptr) {
    fail("forall: there is no crew (null); make one with tri_crew_create");
    return nullptr;
  }
  if (number < 0 || static_cast<std::size_t>(number) >= crew->threads.size()) {
    fail(fmt::format("forall: thread number {}; the crew has threads 0 to {}", number, crew->threads.size() - 1));
    return nullptr;
  }
  return &crew->threads[static_cast<std::size_t>(number)];
}

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

tri_crew* tri_crew_create(int threads) {
  if (threads < 1 || static_cast<std::uint32_t>(threads) > most_fetchers) {
    fail(fmt::format("forall: a crew of {} threads; it must be 1 to {}", threads, most_fetchers));
    return nullptr;
  }
  try {
    return new tri_crew(static_cast<std::size_t>(threads));
  } catch (const std::exception& error) {
    fail(error.what());
    return nullptr;
  }
}

void tri_crew_destroy(tri_crew* crew) { delete crew; }

int tri_forall_start(tri_crew* crew, const char* schedule_text, long first, long last, long* start, long* end,
                     int number) {
  forall_thread* const thread = thread_of(crew, number);
  if (thread == nullptr) return -1;
  if (schedule_text == nullptr) return fail("forall: the schedule is null; \"automatic\" is the default one");
  try {
    if (thread->text != schedule_text) {
      thread->parsed = parse_schedule(schedule_text);
      thread->text = schedule_text;
    }
    const auto participants = static_cast<std::uint32_t>(crew->threads.size());
    const std::uint64_t items = first < last ? static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) : 0;
    fetched_loop& loop = crew->loops.enter(
        thread->place,
        [&] { return loop_key{.items = items, .variant = number_of(thread->parsed), .participants = participants}; },
        [&](fetched_loop& found, const loop_key&, held_before held) {
          if (held == held_before::same_key)
            found.arm_again();
          else
            found.arm(layout_of(thread->parsed, items, participants));
        });
    thread->position = fetch_position(loop, static_cast<std::uint32_t>(number));
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  thread->first = first;
  thread->inside = true;
  return hand_out(*thread, start, end);
}

int tri_forall_next(tri_crew* crew, long* start, long* end, int number) {
  forall_thread* const thread = thread_of(crew, number);
  if (thread == nullptr) return -1;
  return thread->inside ? hand_out(*thread, start, end) : 0;
}

const char* tri_forall_error(void) { return last_error.c_str(); }

}  // extern "C"
