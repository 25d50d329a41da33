// The queue of a node: nothing lost and nothing twice between many producers and consumers, ring and overflow alike;
// and whom the pusher wakes.
#include "sched/node_queue.hpp"

#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "sched/inbox_reader.hpp"
#include "sched/remote/host_records.hpp"
#include "sched_memory.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace tri::sched {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using namespace testing;

struct made_queue {
  explicit made_queue(std::uint64_t cells)
      : memory(zeroed_memory(node_queue::required_bytes(cells))), queue(*node_queue::initialise(memory.get(), cells)) {}
  std::unique_ptr<void, free_memory> memory;
  node_queue& queue;
};

TEST(node_queue, fills_overflows_and_empties) {
  open_arena arena;
  made_queue made(16);
  envelope message{};
  EXPECT_TRUE(made.queue.seems_empty());
  EXPECT_FALSE(made.queue.pop(message));
  for (int lap = 0; lap < 50; ++lap) {
    std::multiset<std::uint64_t> inside;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(lap); ++i) {
      fill(message, 0, i);
      made.queue.push(message);
      inside.insert(i);
      EXPECT_FALSE(made.queue.seems_empty());
    }
    while (made.queue.pop(message)) {
      const auto found = inside.find(message.element);
      ASSERT_NE(found, inside.end());
      inside.erase(found);
    }
    EXPECT_TRUE(inside.empty());
    EXPECT_TRUE(made.queue.seems_empty());
  }
}

TEST(node_queue, takes_messages_with_a_priority_in_their_order) {
  open_arena arena;
  made_queue made(16);
  const auto push = [&](std::uint64_t number, const priority* urgency) {
    envelope message{};
    fill(message, 0, number);
    if (urgency != nullptr) {
      message.flags |= envelope::has_priority;
      message.block().urgency = *urgency;
    }
    message.element = number;
    made.queue.push(message);
  };
  const std::vector<priority> urgency = {5, -1, 0, -3, 5, priority(5).last_in_first_out(), -1, 2};
  for (std::uint64_t i = 0; i < urgency.size(); ++i) {
    push(i, &urgency[i]);
    if (i % 2 == 0) push(100 + i, nullptr);
  }
  EXPECT_FALSE(made.queue.seems_empty());
  envelope message{};
  for (const std::uint64_t expected : {3u, 1u, 6u, 100u, 102u, 104u, 106u, 2u, 7u, 5u, 0u, 4u}) {
    ASSERT_TRUE(made.queue.pop(message));
    EXPECT_EQ(message.element, expected);
  }
  EXPECT_FALSE(made.queue.pop(message));
  EXPECT_TRUE(made.queue.seems_empty());
  // Many, in the order that makes the heap a list.
  constexpr int many = 20'000;
  for (int i = 0; i < many; ++i) {
    const priority falling(many - i);
    push(static_cast<std::uint64_t>(many - i), &falling);
  }
  for (int i = 1; i <= many; ++i) {
    ASSERT_TRUE(made.queue.pop(message));
    ASSERT_EQ(message.element, static_cast<std::uint64_t>(i));
  }
  EXPECT_TRUE(made.queue.seems_empty());
}

TEST(node_queue, several_producers_and_consumers) {
  open_arena arena;
  made_queue made(16);
  constexpr int pairs = 2;
  const std::uint64_t each = os::under_thread_sanitizer ? 5'000 : 100'000;
  std::vector<std::atomic<std::uint8_t>> seen(pairs * each);
  std::atomic<std::uint64_t> taken{0};
  std::atomic<int> damaged{0};
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < pairs; ++number) {
    threads.emplace_back([&, number] {
      arena::cache_guard cache(static_cast<int>(number));
      envelope message{};
      for (std::uint64_t i = 0; i < each; ++i) {
        fill(message, number, number * each + i);
        made.queue.push(message);
      }
    });
    threads.emplace_back([&, number] {
      arena::cache_guard cache(pairs + static_cast<int>(number));
      envelope message{};
      while (taken.load() < pairs * each) {
        if (!made.queue.pop(message)) {
          std::this_thread::yield();
          continue;
        }
        std::uint64_t words[4];
        std::memcpy(words, message.payload, sizeof words);
        for (const std::uint64_t word : words) damaged += word != message.element ? 1 : 0;
        seen[message.element].fetch_add(1);
        taken.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& count : seen) ASSERT_EQ(count.load(), 1);
  EXPECT_EQ(damaged, 0);
}

TEST(node_queue, refuses_sizes_that_are_no_power_of_two) {
  const auto memory = zeroed_memory(node_queue::required_bytes(48));
  EXPECT_THAT([&] { node_queue::initialise(memory.get(), 48); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("48 cells")));
}

// Two PEs sleep; two pieces of work are announced before the first woken PE has got up. Both PEs must be rung.
TEST(wake, does_not_count_a_pe_that_was_rung_already) {
  constexpr std::uint64_t cells = 16;
  const auto first = zeroed_memory(inbox_shared::required_bytes(2, cells));
  const auto second = zeroed_memory(inbox_shared::required_bytes(2, cells));
  pe_record records[2];
  records[0].inbox = inbox_shared::initialise(first.get(), 2, cells);
  records[1].inbox = inbox_shared::initialise(second.get(), 2, cells);
  process_record process{};
  process.pe[0] = &records[0];
  process.pe[1] = &records[1];
  process.idle_pes[0] = 3;
  inbox_reader readers[2]{inbox_reader(*records[0].inbox), inbox_reader(*records[1].inbox)};
  EXPECT_EQ(process.wake(2), 0U) << "idle, but not yet asleep: they look for themselves";
  for (inbox_reader& reader : readers) ASSERT_TRUE(reader.prepare_sleep());
  EXPECT_EQ(process.wake(1), 1U);
  EXPECT_EQ(process.wake(1), 1U);
  EXPECT_EQ(process.wake(1), 0U);
  for (const pe_record& record : records) EXPECT_EQ(record.inbox->bell.listen(), 1U);
}

}  // namespace
}  // namespace tri::sched
