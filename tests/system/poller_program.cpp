// Some PE of a process polls the wire as long as not all are busy. In each round methods on all PEs of host 1 but one
// run until a message from host 0 to that one has come, which is sent only when they all run: without a poller they
// would wait for ever.
//   poller_program        on two hosts of one process each, e.g. --tri-hosts=2 --tri-pes=3
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "trireme/objects.hpp"

namespace {

std::atomic<int> released{0};  // the last round that was, in this process

struct station : tri::group_member<station> {
  void run_until_released(int round, tri::promise<void> runs) {
    runs.set();
    while (released.load() < round) std::this_thread::yield();
  }
  int release(int round) {
    released = round;
    return round;
  }
};

}  // namespace

int main(int argc, char** argv) {
  return tri::run(argc, argv, [] {
    constexpr int rounds = 300;
    const int pes = tri::sched::this_pe().job().pes_of_host();
    auto stations = tri::make_group<station>();
    for (int round = 1; round <= rounds; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that mostly all of host 1 sleep
      const int free = pes + round % pes;
      std::vector<tri::future<void>> runs;
      for (int pe = pes; pe < 2 * pes; ++pe)
        if (pe != free) stations[pe].send<&station::run_until_released>(round, runs.emplace_back().get_promise());
      for (tri::future<void>& each : runs) each.get();
      if (stations[free].call<&station::release>(round).get() != round) return 1;
    }
    std::printf("polled in all %d rounds\n", rounds);
    return 0;
  });
}
