// Programs that go wrong on purpose; crash_test.cpp runs them and sees how they end.
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct flyer : array_element<flyer, index<1>> {
  int visits = 0;
  void fly(int left_until, std::string load) {
    ++visits;
    if (visits == left_until && this_index()[0] == 1) kill(getpid(), SIGKILL);
    this_array()((this_index()[0] * 5 + visits) % static_cast<int>(this_array().shape().extent[0]))
        .template send<&flyer::fly>(left_until, std::move(load));
  }
  int visited() const { return visits; }
  void fail() { throw std::length_error("the flyer is too long"); }
  void abort_here() { std::abort(); }
  void leave(int status) { tri::exit(status); }
  void give_up(std::string why) { tri::fail(why); }
  void hoard() {
    while (true) buffers.emplace_back(std::size_t{1} << 20, 'x');
  }
  std::vector<buffer<char>> buffers;
};

array<flyer> flying(int kill_after) {
  auto all = make_array<flyer>({3 * pe_count()}, round_robin());
  for (int i = 0; i < 3 * pe_count(); ++i) all(i).send<&flyer::fly>(kill_after, std::string(100, 'x'));
  return all;
}
void wait_for_ever() {
  future<int> never;
  static_cast<void>(never.get());
}

void crash_kill() {
  flying(2000);
  wait_for_ever();
}
void crash_throw() {
  flying(-1)(1).send<&flyer::fail>();
  wait_for_ever();
}
void crash_abort() {
  flying(-1)(1).send<&flyer::abort_here>();
  wait_for_ever();
}
void crash_exit() {
  flying(-1)(1).send<&flyer::leave>(3);
  wait_for_ever();
}
void crash_exit_main() {
  flying(-1);
  tri::exit(3);
}
void crash_fail() {
  flying(-1)(1).send<&flyer::give_up>(std::string("no fuel"));
  wait_for_ever();
}
void crash_exhaust() {
  flying(-1)(1).send<&flyer::hoard>();
  wait_for_ever();
}
void crash_fly() {
  const auto all = flying(-1);
  for (int i = 0; i < 3 * pe_count(); ++i)  // each is visited again and again
    while (all(i).call<&flyer::visited>().get() < 10) {
    }
  std::puts("\nready");
  std::fflush(stdout);
  wait_for_ever();
}
const case_entry kill_case{"crash_kill", &crash_kill}, throw_case{"crash_throw", &crash_throw},
    abort_case{"crash_abort", &crash_abort}, exit_case{"crash_exit", &crash_exit},
    exit_main_case{"crash_exit_main", &crash_exit_main}, exhaust_case{"crash_exhaust", &crash_exhaust},
    fly_case{"crash_fly", &crash_fly}, fail_case{"crash_fail", &crash_fail};

}  // namespace
}  // namespace tri::testing
