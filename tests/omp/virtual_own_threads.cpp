// A program with threads of its own beside those of OpenMP: a nestable lock keeps them apart, and each has control
// variables of its own, which its regions inherit.
#include <omp.h>

#include <atomic>
#include <cstdio>
#include <initializer_list>
#include <thread>

namespace {

std::atomic<int> failures{0};
void check(bool good, int line) {
  if (good) return;
  std::printf("line %d\n", line);
  ++failures;
}
#define CHECK(condition) check(condition, __LINE__)

void wait_for(const std::atomic<int>& step, int value) {
  while (step != value) std::this_thread::yield();
}

// 0: somebody else has it.
int try_and_give_back(omp_nest_lock_t& lock) {
  const int count = omp_test_nest_lock(&lock);
  if (count != 0) omp_unset_nest_lock(&lock);
  return count;
}

void held_by_another_thread() {
  omp_nest_lock_t lock;
  omp_init_nest_lock(&lock);
  std::atomic<int> step{0};
  std::thread holder([&] {
    omp_set_nest_lock(&lock);
    CHECK(omp_test_nest_lock(&lock) == 2);
    step = 1;
    wait_for(step, 2);
    omp_unset_nest_lock(&lock);
    step = 3;
    wait_for(step, 4);
    omp_unset_nest_lock(&lock);
  });
  for (const int held : {1, 3}) {
    wait_for(step, held);
    CHECK(try_and_give_back(lock) == 0);
    int got = 0;
#pragma omp parallel reduction(+ : got)
    got += try_and_give_back(lock);
    CHECK(got == 0);
    step = held + 1;
  }
  holder.join();
  CHECK(try_and_give_back(lock) == 1);
  omp_destroy_nest_lock(&lock);
  std::printf("held\n");
}

void contended() {
  constexpr int rounds = 2000;
  omp_nest_lock_t lock;
  omp_init_nest_lock(&lock);
  volatile int count = 0;
  const auto counts = [&] {
    for (int i = 0; i < rounds; ++i) {
      omp_set_nest_lock(&lock);
      omp_set_nest_lock(&lock);
      count = count + 1;
      omp_unset_nest_lock(&lock);
      omp_unset_nest_lock(&lock);
    }
  };
  std::thread first(counts), second(counts);
  counts();
  first.join();
  second.join();
  CHECK(count == 3 * rounds);
  omp_destroy_nest_lock(&lock);
  std::printf("contended\n");
}

// A region of so many threads, each of which would want as many for the next.
void check_region(int threads) {
  int all = 0, inherited = 0;
#pragma omp parallel reduction(+ : all, inherited)
  {
    ++all;
    inherited += omp_get_max_threads() == threads;
  }
  CHECK(all == threads && inherited == threads);
#pragma omp parallel if (0)
  CHECK(omp_get_max_threads() == threads);
}

void control_variables() {
  const int at_start = omp_get_max_threads();
  check_region(at_start);
  omp_set_num_threads(at_start + 2);
  std::thread other([&] {
    CHECK(omp_get_max_threads() == at_start && omp_get_dynamic() == 0);
    check_region(at_start);
    omp_set_num_threads(2);
    check_region(2);
    omp_set_dynamic(1);
    CHECK(omp_get_dynamic() == 1);
  });
  other.join();
  CHECK(omp_get_max_threads() == at_start + 2 && omp_get_dynamic() == 0);
  check_region(at_start + 2);
  omp_set_num_threads(at_start);
  std::printf("control variables\n");
}

}  // namespace

int main() {
  for (int round = 0; round < 3; ++round) {
    held_by_another_thread();
    control_variables();
    if (failures != 0) break;  // with a lock that lets everybody in, the next part may wait forever
    contended();
  }
  std::printf("%d failures\n", failures.load());
  return failures != 0 ? 1 : 0;
}
