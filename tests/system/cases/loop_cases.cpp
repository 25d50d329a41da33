// Loops inside entry methods and in the main program of a job: idle PEs of the process join, busy ones are not waited
// for (M29-M31, M35-M37), and nobody of another process touches them.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "system/cases/cases.hpp"
#include "trireme/loops.hpp"

namespace tri::testing {
namespace {

const char* const schedules[] = {"automatic",  "static",    "dynamic,3",     "guided",
                                 "hybrid,0.7", "staggered", "tasklets,0.25", "staggered,0.5,keep=1"};

void run_all_schedules(int items) {
  for (const char* schedule : schedules) {
    std::vector<int> runs(static_cast<std::size_t>(items), 0);
    parallel_for(
        items,
        [&](int i, int participant) {
          check(participant >= 0 && participant < loop_participants(), "a participant number out of range");
          check(this_process() == sched::this_pe().job().process(), "a chunk ran in another process");
          ++runs[static_cast<std::size_t>(i)];
        },
        schedule);
    for (const int each : runs) check(each == 1, std::string("an iteration did not run once under ") + schedule);
  }
}

void main_program() {
  check(loop_participants() == expected().pes_per_process, "the PEs of the process share its loops");
  for (const int items : {0, 1, 2, 17, 1000}) run_all_schedules(items);
}
const case_entry loops_in_main{"loops_in_main", &main_program};

struct looping : array_element<looping, index<1>> {
  long sum(int items) {
    run_all_schedules(items);
    return parallel_reduce(
        items, 0l, [](int i) { return static_cast<long>(i); }, std::plus<>());
  }
};

void entry_methods() {
  const int elements = 3 * pe_count();
  auto all = make_array<looping>({elements});
  std::vector<future<long>> sums;
  for (int i = 0; i < elements; ++i) sums.push_back(all(i).call<&looping::sum>(100 + i));
  for (int i = 0; i < elements; ++i)
    check(sums[static_cast<std::size_t>(i)].get() == (100l + i) * (99l + i) / 2, "a wrong sum");
}
const case_entry loops_in_methods{"loops_in_methods", &entry_methods};

// M36: two PEs of a process run a loop each at the same time, and neither loop is ever more than a few iterations ahead
// of the other one: each iteration waits for that. Loops that waited for each other would never end.
struct lockstep : array_element<lockstep, index<1>> {
  static constexpr int iterations = 2000;
  static constexpr int most_ahead = 50;
  inline static std::atomic<int> ran[2];
  inline static std::atomic<int> begun{0};

  int run() {
    const auto own = static_cast<std::size_t>(this_index()[0]);
    ++begun;
    while (begun.load() < 2) std::this_thread::yield();
    std::vector<int> runs(iterations, 0);
    parallel_for(
        iterations,
        [&](int i) {
          while (ran[own].load() > ran[1 - own].load() + most_ahead) std::this_thread::yield();
          ++runs[static_cast<std::size_t>(i)];
          ++ran[own];
        },
        "dynamic,4");
    for (const int each : runs) check_equal(each, 1);
    return ran[1 - own].load();
  }
};

void loops_of_two_pes() {
  if (expected().pes_per_process < 2) return;
  lockstep::ran[0] = lockstep::ran[1] = lockstep::begun = 0;
  auto both = make_array<lockstep>({2}, round_robin());
  std::vector<future<int>> others;
  for (int i = 0; i < 2; ++i) others.push_back(both(i).call<&lockstep::run>());
  for (auto& each : others)
    check(each.get() >= lockstep::iterations - lockstep::most_ahead - 100, "one of two loops was kept from running");
}
const case_entry loops_of_two_pes_case{"loops_of_two_pes_keep_pace", &loops_of_two_pes};

// Under `static` everybody has a block of its own and runs it from the front; what others run, because it came late, is
// the end of it.
void static_blocks() {
  constexpr int items = 1003;
  const int participants = loop_participants();
  std::vector<int> run_by(items, -1);
  parallel_for(
      items, [&](int i, int participant) { run_by[static_cast<std::size_t>(i)] = participant; }, "static");
  for (int block = 0; block < participants; ++block) {
    bool owner_has_left = false;
    // The borders may be rounded either way.
    for (int i = items * block / participants + 1; i < items * (block + 1) / participants - 1; ++i) {
      const bool by_owner = run_by[static_cast<std::size_t>(i)] == block;
      check(!by_owner || !owner_has_left, "an owner went on with its block behind what others had taken");
      owner_has_left |= !by_owner;
    }
  }
}
const case_entry static_case{"static_loop_runs_in_blocks", &static_blocks};

// PE 1 is in a method that ends only after the loops of PE 0 have: a loop that waited for it would never end.
std::atomic<bool> held{false};
std::atomic<bool> over{false};
struct holding : group_member<holding> {
  void hold() {
    held.store(true);
    while (!over.load()) std::this_thread::yield();
  }
};

void busy_pes() {
  if (pes_per_process() < 2) return;
  held = over = false;
  auto everywhere = make_group<holding>();
  everywhere[1].send<&holding::hold>();
  while (!held.load()) std::this_thread::yield();
  run_all_schedules(500);
  if (pes_per_process() == 2) check(!any_idle_pe(), "the only other PE is busy, but is said to be idle");
  over = true;
  quiescence().get();
  while (!any_idle_pe()) std::this_thread::yield();  // the test's own time limit ends it
}
const case_entry loops_beside_busy_pes{"loops_beside_busy_pes", &busy_pes};

}  // namespace
}  // namespace tri::testing
