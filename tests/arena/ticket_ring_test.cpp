// The ring of tickets, step by step in one thread and under real concurrency, with the two cell types that it carries:
// wide stamps and one cell for each message, narrow stamps and several cells in a row.
#include "arena/ticket_ring.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "arena/doorbell.hpp"

namespace tri::arena {
namespace {

struct alignas(64) wide_cell {
  std::uint64_t stamp = 0;
  std::uint64_t value = 0;
};
struct alignas(32) narrow_cell {
  std::uint32_t stamp = 0;
  std::uint32_t cells = 0;
  std::uint64_t value = 0;
};

template <class Cell>
class ticket_ring_of : public ::testing::Test {
 protected:
  static constexpr std::uint64_t capacity = 16;
  static constexpr std::uint64_t margin = 4;

  ticket_ring_of() : cells_(capacity) { ring_.initialise(cells_.data(), capacity, margin); }
  std::uint64_t push(std::uint64_t value, std::uint64_t count = 1) {
    const std::uint64_t word = ring_.draw(count, ring_.limit());
    if (word == ring_.full) return word;
    const std::uint64_t ticket = ring_.ticket_of(word);
    for (std::uint64_t i = 0; i < count; ++i) ring_.cell(ticket + i).value = value + i;
    for (std::uint64_t i = 1; i < count; ++i) ring_.stamp_quietly(ticket + i);
    ring_.publish(word);
    return word;
  }

  std::vector<Cell> cells_;
  ticket_ring<Cell> ring_;
};
using cell_types = ::testing::Types<wide_cell, narrow_cell>;
TYPED_TEST_SUITE(ticket_ring_of, cell_types);

TYPED_TEST(ticket_ring_of, messages_come_in_the_order_of_their_tickets) {
  std::uint64_t next = 0;
  for (std::uint64_t lap = 0; lap < 100; ++lap) {
    for (std::uint64_t i = 0; i < 12; ++i) ASSERT_EQ(this->push(lap * 12 + i), lap * 12 + i);
    for (std::uint64_t i = 0; i < 12; ++i, ++next) {
      ASSERT_TRUE(this->ring_.is_published(next));
      ASSERT_EQ(this->ring_.cell(next).value, next);
    }
    ASSERT_FALSE(this->ring_.is_published(next));
    this->ring_.publish_consumed(next);
  }
}

TYPED_TEST(ticket_ring_of, is_full_at_its_limit_and_keeps_the_margin) {
  for (std::uint64_t i = 0; i < this->capacity - this->margin; ++i) ASSERT_NE(this->push(i), this->ring_.full);
  EXPECT_EQ(this->push(99), this->ring_.full);
  EXPECT_EQ(this->ring_.drawn(), this->capacity - this->margin) << "no ticket was drawn";
  this->ring_.publish_consumed(1);
  EXPECT_NE(this->push(99), this->ring_.full);
  EXPECT_EQ(this->push(99), this->ring_.full);
}

// A message of several cells is there when its first cell is, and all of its cells are then.
TYPED_TEST(ticket_ring_of, cells_in_a_row_are_published_by_the_first) {
  const std::uint64_t slow = this->ring_.draw(3, this->ring_.limit());
  this->push(50, 2);
  this->ring_.stamp_quietly(slow + 1);
  this->ring_.stamp_quietly(slow + 2);
  EXPECT_FALSE(this->ring_.is_published(slow));
  EXPECT_TRUE(this->ring_.is_published(slow + 3)) << "a later message may be ready earlier; the reader keeps the order";
  this->ring_.publish(slow);
  EXPECT_TRUE(this->ring_.is_published(slow));
  EXPECT_EQ(this->ring_.cell(slow + 4).value, 51u);
}

TYPED_TEST(ticket_ring_of, a_reader_does_not_sleep_while_a_ticket_is_out) {
  const std::uint64_t slow = this->ring_.draw(1, this->ring_.limit());
  EXPECT_FALSE(this->ring_.prepare_sleep(0));
  EXPECT_FALSE(this->ring_.seems_asleep());
  this->ring_.publish(slow);
  EXPECT_FALSE(this->ring_.prepare_sleep(0));
  EXPECT_TRUE(this->ring_.prepare_sleep(1));
  EXPECT_TRUE(this->ring_.seems_asleep());
}

TYPED_TEST(ticket_ring_of, a_producer_learns_from_its_ticket_that_the_reader_sleeps) {
  ASSERT_TRUE(this->ring_.prepare_sleep(0));
  const std::uint64_t word = this->push(7);
  EXPECT_TRUE(this->ring_.reader_sleeps(word));
  EXPECT_EQ(this->ring_.ticket_of(word), 0u);
  EXPECT_TRUE(this->ring_.reader_sleeps_after_event());
  EXPECT_TRUE(this->ring_.mark_awake()) << "the first ends the sleep";
  EXPECT_FALSE(this->ring_.mark_awake()) << "and no other";
  EXPECT_FALSE(this->ring_.reader_sleeps_after_event());
  EXPECT_FALSE(this->ring_.reader_sleeps(this->push(8)));
  EXPECT_TRUE(this->ring_.is_published(0) && this->ring_.is_published(1));
}

// Around the end of narrow stamps, of wide ones as signed numbers, and below the bit that marks a sleeper.
TYPED_TEST(ticket_ring_of, works_after_years) {
  for (const std::uint64_t start :
       {(std::uint64_t{1} << 32) - 40, (std::uint64_t{1} << 62) - 40, (std::uint64_t{1} << 63) - 1000}) {
    this->ring_.begin_at(start);
    ASSERT_EQ(this->ring_.consumed(), start);
    for (std::uint64_t ticket = start; ticket < start + 200; ticket += 2) {
      ASSERT_FALSE(this->ring_.is_published(ticket));
      ASSERT_EQ(this->push(ticket, 2), ticket);
      ASSERT_TRUE(this->ring_.is_published(ticket));
      this->ring_.publish_consumed(ticket + 2);
      ASSERT_TRUE(this->ring_.prepare_sleep(ticket + 2));
      ASSERT_TRUE(this->ring_.mark_awake());
    }
  }
}

// M20: each end on a cache line of its own.
static_assert(alignof(ticket_ring<wide_cell>) == 64 && sizeof(ticket_ring<wide_cell>) == 2 * 64);

// Four producers with messages of one to three cells, and a reader that sleeps whenever there is none: nothing is lost,
// nothing torn, the order of each producer kept, and no wake-up missed (a lost one hangs).
TYPED_TEST(ticket_ring_of, many_producers_and_a_reader_that_sleeps) {
  constexpr std::uint64_t producers = 4;
  const std::uint64_t each = os::under_thread_sanitizer ? 5'000 : 100'000;
  constexpr std::uint64_t most_cells = 3;
  std::vector<TypeParam> cells(64);
  ticket_ring<TypeParam> ring;
  ring.initialise(cells.data(), cells.size(), producers * most_cells);
  doorbell bell;
  const auto value_of = [](std::uint64_t producer, std::uint64_t number) { return number * producers + producer; };
  std::vector<std::thread> threads;
  for (std::uint64_t producer = 0; producer < producers; ++producer)
    threads.emplace_back([&, producer] {
      std::mt19937 random(static_cast<unsigned>(producer));
      while (!ring.seems_asleep()) std::this_thread::yield();  // it sleeps at least once
      for (std::uint64_t number = 0; number < each; ++number) {
        const std::uint64_t count = 1 + number % most_cells;
        std::uint64_t word = 0;
        while ((word = ring.draw(count, ring.limit())) == ring.full) std::this_thread::yield();
        const std::uint64_t ticket = ring.ticket_of(word);
        for (std::uint64_t i = 0; i < count; ++i) ring.cell(ticket + i).value = value_of(producer, number);
        for (std::uint64_t i = 1; i < count; ++i) ring.stamp_quietly(ticket + i);
        ring.publish(word);
        if (ring.reader_sleeps(word) && ring.mark_awake()) bell.ring();
        if (random() % 64 == 0)  // so that the ring runs empty in the middle of everything
          for (volatile unsigned spin = 0; spin < random() % 3000;) spin = spin + 1;
      }
    });
  std::uint64_t next = 0, sleeps = 0, wrong = 0;
  std::vector<std::uint64_t> seen(producers, 0);
  for (std::uint64_t taken = 0; taken < producers * each;) {
    if (ring.is_published(next)) {
      const std::uint64_t value = ring.cell(next).value;
      const std::uint64_t number = seen[value % producers]++;
      wrong += value / producers != number ? 1 : 0;
      const std::uint64_t count = 1 + number % most_cells;
      for (std::uint64_t i = 1; i < count; ++i)
        wrong += ring.cell(next + i).value != value || ring.cell(next + i).stamp != ring.stamp_of(next + i) ? 1 : 0;
      next += count;
      ring.publish_consumed(next);
      ++taken;
      continue;
    }
    const std::uint32_t heard = bell.listen();
    if (!ring.prepare_sleep(next)) continue;
    ++sleeps;
    bell.sleep(heard, -1);
    ring.mark_awake();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(seen, std::vector<std::uint64_t>(producers, each));
  EXPECT_GT(sleeps, 0u);
}

}  // namespace
}  // namespace tri::arena
