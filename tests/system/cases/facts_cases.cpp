// Where am I, how many are we (M03-M05), methods one at a time on a PE (M01).
#include <unistd.h>

#include <functional>
#include <set>
#include <thread>

#include "system/cases/cases.hpp"
#include "trireme/balance.hpp"  // which must not measure by itself

namespace tri::testing {
namespace {

struct place {
  int pe, pes, process, processes, pes_per_process;
  int pid;
  std::uint64_t thread;
};

struct reporter : group_member<reporter> {
  place where(int) {
    return {this_pe(),
            pe_count(),
            this_process(),
            process_count(),
            pes_per_process(),
            static_cast<int>(getpid()),
            std::hash<std::thread::id>{}(std::this_thread::get_id())};
  }
};

void facts() {
  const auto [processes, pes_each] = expected();
  auto group = make_group<reporter>();
  const std::vector<place> places = group.reduce<&reporter::where>(gather, 0).get();
  check_equal(static_cast<int>(places.size()), processes * pes_each);
  std::set<int> pids;
  std::set<std::pair<int, std::uint64_t>> threads;
  for (int pe = 0; pe < processes * pes_each; ++pe) {
    const place& found = places[static_cast<std::size_t>(pe)];
    check_equal(found.pe, pe);
    check_equal(found.pes, processes * pes_each);
    check_equal(found.process, pe / pes_each);
    check_equal(found.processes, processes);
    check_equal(found.pes_per_process, pes_each);
    check_equal(found.pid, places[static_cast<std::size_t>(pe / pes_each * pes_each)].pid);
    pids.insert(found.pid);
    threads.emplace(found.pid, found.thread);
  }
  check_equal(static_cast<int>(pids.size()), processes);
  check_equal(static_cast<int>(threads.size()), processes * pes_each);
}
const case_entry facts_case{"facts", &facts};

// ---- ring

thread_local int methods_active = 0;

struct link : array_element<link, index<1>> {
  int links;
  std::thread::id first_thread = std::this_thread::get_id();
  int visits = 0;
  explicit link(int how_many) : links(how_many) {}
  void token(int left, promise<int> done) {
    check_equal(++methods_active, 1);
    check(first_thread == std::this_thread::get_id(), "an element that never migrated ran on another thread");
    ++visits;
    if (left == 0)
      done.set(this_pe());
    else
      this_array()((this_index()[0] + 1) % links).send<&link::token>(left - 1, done);
    for (int spin = 0; spin < 20; ++spin) this_element().send<&link::nudge>();  // work that might overlap
    --methods_active;
  }
  void nudge() {
    check_equal(++methods_active, 1);
    --methods_active;
  }
  int visited() { return visits; }
};

void ring() {
  constexpr int links = 17, tokens = 5, hops = 400;
  auto array = make_array<link>({links}, round_robin(), links);
  std::vector<future<int>> ends;
  for (int t = 0; t < tokens; ++t) {
    ends.emplace_back();
    array(t).send<&link::token>(hops, ends.back().get_promise());
  }
  for (int t = 0; t < tokens; ++t)
    check_equal(ends[static_cast<std::size_t>(t)].get(), (t + hops) % links % pe_count());
  quiescence().get();
  check_equal(array.reduce<&link::visited>(sum).get(), tokens * (hops + 1));
}
const case_entry ring_case{"ring", &ring};

// ---- functions on PEs

int functions_run = 0;
void bounce(int left, std::string text, promise<std::string> done) {
  ++functions_run;
  if (left == 0) return done.set(text);
  send<&bounce>((this_pe() + 1) % pe_count(), left - 1, text + std::to_string(this_pe()), done);
}
void functions() {
  future<std::string> done;
  send<&bounce>(0, 2 * pe_count(), std::string("a text longer than any envelope can hold: "), done.get_promise());
  std::string expected_text = "a text longer than any envelope can hold: ";
  for (int round = 0; round < 2; ++round)
    for (int pe = 0; pe < pe_count(); ++pe) expected_text += std::to_string(pe);
  check_equal(done.get(), expected_text);
}
const case_entry functions_case{"functions", &functions};

struct measured_one : group_member<measured_one> {
  bool is_measured(int) { return objects::running_load_meter != nullptr; }
};

// No program of this one calls a balancing: what it costs to measure loads is for those that do.
void loads_are_measured_for_programs_that_balance() {
  auto group = make_group<measured_one>();
  check(!group.reduce<&measured_one::is_measured>(logical_or, 0).get(), "loads are measured");
}
const case_entry measured_case{"loads_are_measured_for_programs_that_balance",
                               &loads_are_measured_for_programs_that_balance};

}  // namespace
}  // namespace tri::testing
