// The inbox of a PE under real concurrency: four producers, real sleep on the doorbell without a time limit (so
// a lost wake-up hangs), payloads that must arrive whole (M16-M19), and two processes.
#include <gmock/gmock.h>

#include <array>
#include <random>
#include <thread>

#include "os/child_process.hpp"
#include "os/cpu/cpu_hints.hpp"
#include "os/cpu/pinning.hpp"
#include "sched/inbox_reader.hpp"
#include "sched_memory.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace tri::sched {
namespace {

using namespace testing;

constexpr std::uint64_t scaled(std::uint64_t count) { return os::under_thread_sanitizer ? count / 10 : count; }

// Takes `expected` messages, sleeping whenever there is none. Returns how often it slept.
std::uint64_t consume(inbox_shared& inbox, std::uint64_t expected, std::vector<std::uint64_t>& next_of_producer,
                      std::uint64_t& wrong) {
  inbox_reader reader(inbox);
  std::uint64_t sleeps = 0;
  for (std::uint64_t taken = 0; taken < expected;) {
    for (envelope* block = reader.has_urgent() ? reader.take_urgent() : nullptr; block != nullptr; ++taken)
      arena::release(std::exchange(block, block->next()));
    if (const envelope* const message = reader.front()) {
      std::uint64_t words[4];
      std::memcpy(words, message->payload, sizeof words);
      wrong += message->element != next_of_producer[message->source]++ ? 1 : 0;
      for (const std::uint64_t word : words) wrong += word != message->element ? 1 : 0;
      reader.pop();
      ++taken;
      continue;
    }
    const std::uint32_t heard = reader.bell().listen();
    if (!reader.prepare_sleep()) continue;
    ++sleeps;
    reader.bell().sleep(heard, -1);
    reader.wake_up();
  }
  return sleeps;
}

struct inbox_memory {
  inbox_memory(std::uint32_t producers, std::uint64_t cells)
      : memory(zeroed_memory(inbox_shared::required_bytes(producers, cells))),
        inbox(*inbox_shared::initialise(memory.get(), producers, cells)) {}
  std::unique_ptr<void, free_memory> memory;
  inbox_shared& inbox;
};

// A ring that overflows all the time, and one that never does.
class inbox_stress : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(cells, inbox_stress, ::testing::Values(16, 1024),
                         [](const auto& tested) { return std::to_string(tested.param); });

TEST_P(inbox_stress, four_producers_lose_nothing_and_keep_their_order) {
  constexpr std::uint32_t producers = 4;
  const std::uint64_t each = scaled(100'000);
  open_arena arena;
  inbox_memory memory(producers, GetParam());
  inbox_shared& inbox = memory.inbox;
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < producers; ++number)
    threads.emplace_back([&, number] {
      arena::cache_guard cache(static_cast<int>(number) + 1);
      for (std::uint64_t i = 0; i < each; ++i) push(inbox, number, i);
    });
  arena::cache_guard cache(0);
  std::vector<std::uint64_t> next(producers, 0);
  std::uint64_t wrong = 0;
  consume(inbox, producers * each, next, wrong);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(next, std::vector<std::uint64_t>(producers, each));
  EXPECT_EQ(inbox.overflow_pending.load(), 0U);
}

// Producers that pause, so that the consumer falls asleep all the time, in the middle of everything they do.
TEST_P(inbox_stress, no_wake_up_is_lost) {
  constexpr std::uint32_t producers = 2;
  const std::uint64_t each = scaled(20'000);
  open_arena arena;
  inbox_memory memory(producers, GetParam());
  inbox_shared& inbox = memory.inbox;
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < producers; ++number)
    threads.emplace_back([&, number] {
      arena::cache_guard cache(static_cast<int>(number) + 1);
      std::mt19937 random(number);
      std::uint64_t ordered = 0;
      for (std::uint64_t i = 0; i < each; ++i) {
        if (random() % 8 == 0) {
          push_urgent(inbox, new (arena::allocate(sizeof(envelope))) envelope{});
        } else {
          push(inbox, number, ordered++);
        }
        if (random() % 8 == 0) inbox.wake_if_asleep();
        const auto pause = random() % 4;
        if (pause == 0) std::this_thread::yield();
        for (volatile unsigned spin = 0; pause != 0 && spin < random() % 300;) spin = spin + 1;
      }
    });
  arena::cache_guard cache(0);
  std::vector<std::uint64_t> next(producers, 0);
  std::uint64_t wrong = 0;
  const std::uint64_t sleeps = consume(inbox, producers * each, next, wrong);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(sleeps, 0U);
}

// One message at a time: whenever it arrives the consumer is about to fall asleep, and if it does so beside the
// message, both wait for ever. Before each push the producer writes lines that the consumer has written just before:
// stores leave a core in order, so its message then leaves late, when a look that is a load has long been made. That is
// why the producer looks, and the consumer marks itself, by atomic steps on one word (arena/ticket_ring.hpp). It needs
// two cores.
TEST_P(inbox_stress, ping_pong_beside_a_consumer_that_falls_asleep) {
  const std::uint64_t rounds = scaled(20'000);
  struct alignas(64) line {
    std::atomic<std::uint64_t> value{0};
  };
  open_arena arena;
  inbox_memory memory(1, GetParam());
  inbox_shared& inbox = memory.inbox;
  std::array<line, 16> both_write;
  std::atomic<std::uint64_t> taken{0};
  const std::vector<int> cpus = os::cpus_of_this_thread();
  const auto touch_all = [&](std::uint64_t value) {
    for (line& each : both_write) each.value.store(value, std::memory_order_relaxed);
  };
  std::thread producer([&] {
    os::pin_this_thread(cpus.back());
    arena::cache_guard cache(1);
    for (std::uint64_t i = 0; i < rounds; ++i) {
      while (taken.load(std::memory_order_acquire) < i) os::cpu_relax();
      for (volatile std::uint64_t spin = 0; spin < i % 128;) spin = spin + 1;
      touch_all(i);
      push(inbox, 0, i);
    }
  });
  os::pin_this_thread(cpus.front());
  arena::cache_guard cache(0);
  inbox_reader reader(inbox);
  std::uint64_t sleeps = 0;
  while (taken.load(std::memory_order_relaxed) < rounds) {
    if (reader.front() != nullptr) {
      reader.pop();
      touch_all(0);
      taken.fetch_add(1, std::memory_order_release);
      continue;
    }
    const std::uint32_t heard = reader.bell().listen();
    if (!reader.prepare_sleep()) continue;
    ++sleeps;
    reader.bell().sleep(heard, -1);
    reader.wake_up();
  }
  producer.join();
  os::pin_this_thread(cpus);
  EXPECT_GT(sleeps, 0U);
}

// M19: message passing as a litmus test; the stamp is the only thing that orders the 56 bytes before it.
TEST(inbox_litmus, ten_million_messages_arrive_whole) {
  const std::uint64_t rounds = scaled(10'000'000);
  open_arena arena;
  inbox_memory memory(2, 64);
  inbox_shared& inbox = memory.inbox;
  std::thread producer([&] {
    arena::cache_guard cache(1);
    for (std::uint64_t i = 0; i < rounds; ++i) {
      while (inbox.overflow_pending.load() != 0) std::this_thread::yield();  // the ring is what is tested here
      push(inbox, 0, i);
    }
  });
  arena::cache_guard cache(0);
  std::vector<std::uint64_t> next(1, 0);
  std::uint64_t wrong = 0;
  consume(inbox, rounds, next, wrong);
  producer.join();
  EXPECT_EQ(wrong, 0U);
}

struct meeting {
  std::atomic<int> arrived{0};
  void wait(int expected) {
    arrived.fetch_add(1);
    while (arrived.load() < expected) usleep(50);
  }
};

// The second process sends to the first through its window; overflow blocks come out of the sender's window and are
// released by the receiver.
int one_of_two(meeting& place, const std::vector<int>& files, int rank) {
  const std::uint64_t messages = scaled(200'000);
  arena::arena_space space({small_window_bytes, 0, arena::allocator_kind::caches}, files, rank, [&] { place.wait(2); });
  arena::cache_guard cache(0);
  if (rank == 0)
    space.publish(inbox_shared::initialise(space.heap().reserve(inbox_shared::required_bytes(2, 16)), 2, 16));
  place.wait(4);
  inbox_shared& inbox = *static_cast<inbox_shared*>(space.root_of(0));
  std::uint64_t wrong = 0;
  if (rank == 1) {
    for (std::uint64_t i = 0; i < messages; ++i) {
      push(inbox, 1, i);
      // Now and then the receiver finds nothing and sleeps; any order is right.
      if (i % 1000 == 0) usleep(20);
    }
  } else {
    std::vector<std::uint64_t> next(2, 0);
    consume(inbox, messages, next, wrong);
  }
  arena::settle();
  place.wait(6);
  return wrong == 0 && space.heap().is_valid() ? 0 : 1;
}

TEST(inbox_processes, send_through_a_shared_window) {
  void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& place = *new (memory) meeting;
  const std::vector<int> files{arena::create_window_file(small_window_bytes),
                               arena::create_window_file(small_window_bytes)};
  const pid_t child = os::start_function([&] {
    try {
      return one_of_two(place, files, 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "second process: %s\n", error.what());
      return 9;
    }
  });
  EXPECT_EQ(one_of_two(place, files, 0), 0);
  EXPECT_EQ(os::wait_for(child), 0);
  for (const int file : files) close(file);
  munmap(memory, 4096);
}

}  // namespace
}  // namespace tri::sched
