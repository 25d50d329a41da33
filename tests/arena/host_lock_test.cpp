// The lock and the doorbell that live in shared memory: exclusion, no lost wake-up, between threads and processes.
#include "arena/host_lock.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <mutex>
#include <thread>
#include <vector>

#include "arena/doorbell.hpp"
#include "os/child_process.hpp"

namespace tri::arena {
namespace {

TEST(host_lock, excludes_threads) {
  host_lock lock;
  long counted = 0;  // plain: the thread sanitizer sees every missing exclusion
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int step = 0; step < 20'000; ++step) {
        std::lock_guard guard(lock);
        ++counted;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(counted, 80'000);
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
}

struct shared_part {
  host_lock lock;
  long counted = 0;
  doorbell to_child, to_parent;
};

TEST(host_lock, excludes_processes_and_doorbells_wake_across_them) {
  void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& shared = *new (memory) shared_part;
  const auto count = [&] {
    for (int step = 0; step < 50'000; ++step) {
      std::lock_guard guard(shared.lock);
      shared.counted = shared.counted + 1;
    }
  };
  const std::uint32_t heard = shared.to_parent.listen();
  const pid_t child = os::start_function([&] {
    const std::uint32_t child_heard = shared.to_child.listen();
    shared.to_parent.ring();
    if (child_heard == 0) shared.to_child.sleep(child_heard, -1);  // for ever, unless rung (before or after)
    count();
    return 0;
  });
  while (shared.to_parent.listen() == heard) shared.to_parent.sleep(heard, -1);
  shared.to_child.ring();
  count();
  EXPECT_EQ(os::wait_for(child), 0);
  EXPECT_EQ(shared.counted, 100'000);
  munmap(memory, 4096);
}

TEST(doorbell, never_loses_a_ring_after_listen) {
  doorbell bell;
  std::atomic<int> offered{0};
  std::atomic<int> taken{0};
  constexpr int rounds = 20'000;
  std::thread sleeper([&] {
    while (taken.load() < rounds) {
      const std::uint32_t heard = bell.listen();
      if (offered.load() > taken.load()) {
        taken.fetch_add(1);
        continue;
      }
      bell.sleep(heard, -1);
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    offered.store(round);
    bell.ring();
    if (round % 3 != 0)
      while (taken.load() < round) std::this_thread::yield();
  }
  sleeper.join();
  EXPECT_EQ(taken, rounds);
}

TEST(doorbell, returns_after_its_time_and_at_once_when_rung_before) {
  doorbell bell;
  const std::uint32_t heard = bell.listen();
  bell.sleep(heard, 1'000'000);
  EXPECT_EQ(bell.listen(), heard);
  bell.ring();
  bell.sleep(heard, -1);  // would hang if the ring were lost
  EXPECT_NE(bell.listen(), heard);
}

}  // namespace
}  // namespace tri::arena
