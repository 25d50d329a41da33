// The inbox of a PE (M17), step by step in one thread: whatever happens between two steps of a producer or of the
// reader is placed there on purpose.
#include "sched/inbox.hpp"
#include "sched/inbox_reader.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "sched_memory.hpp"

namespace tri::sched {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using namespace testing;

constexpr std::uint32_t producers = 4;

class inbox_steps : public ::testing::Test {
 protected:
  explicit inbox_steps(std::uint64_t cells = 16)
      : memory_(zeroed_memory(inbox_shared::required_bytes(producers, cells))),
        inbox_(*inbox_shared::initialise(memory_.get(), producers, cells)) {
    reader_.emplace(inbox_);
  }
  void push(std::uint32_t producer) { testing::push(inbox_, producer, next_[producer]++); }
  // The next message, which must be the next of its sender. Requires that there is one.
  void take() {
    const envelope* const message = reader_->front();
    ASSERT_NE(message, nullptr);
    ASSERT_EQ(message->element, taken_[message->source]++) << "order of sender " << message->source;
    reader_->pop();
    ++total_taken_;
  }
  void take_all() {
    while (reader_->front() != nullptr) ASSERT_NO_FATAL_FAILURE(take());
    EXPECT_EQ(taken_, next_);
  }
  std::uint32_t rings() const { return inbox_.bell.listen(); }

  open_arena arena_;
  arena::cache_guard cache_{0};
  std::unique_ptr<void, free_memory> memory_;
  inbox_shared& inbox_;
  std::optional<inbox_reader> reader_;
  std::map<std::uint32_t, std::uint64_t> next_, taken_;
  std::uint64_t total_taken_ = 0;
};

TEST_F(inbox_steps, empty_then_one_then_empty) {
  EXPECT_EQ(reader_->front(), nullptr);
  EXPECT_TRUE(reader_->seems_empty());
  push(1);
  EXPECT_FALSE(reader_->seems_empty());
  EXPECT_EQ(reader_->front(), reader_->front()) << "looking twice takes nothing";
  take();
  EXPECT_EQ(reader_->front(), nullptr);
}

TEST_F(inbox_steps, full_ring_overflows_and_keeps_the_order) {
  for (int i = 0; i < 100; ++i) push(2);
  EXPECT_GT(inbox_.overflow_pending.load(), 0U);
  take_all();
  EXPECT_EQ(inbox_.overflow_pending.load(), 0U);
  EXPECT_EQ(total_taken_, 100U);
  for (int lap = 0; lap < 100; ++lap) {  // the ring is in use again, without overflow
    push(2);
    EXPECT_EQ(inbox_.overflow_pending.load(), 0U);
    take();
  }
}

TEST_F(inbox_steps, keeps_the_order_of_each_sender_under_random_use) {
  std::mt19937 random(7);
  for (int step = 0; step < 200'000; ++step) {
    const bool filling = step / 500 % 2 == 0;  // long phases of overflow and of draining
    const auto dice = random() % 100;
    if (dice < (filling ? 60 : 35)) {
      push(static_cast<std::uint32_t>(random() % producers));
    } else if (dice < 90) {
      if (reader_->front() != nullptr) {
        ASSERT_NO_FATAL_FAILURE(take());
      }
    } else if (dice < 97) {
      reader_->seems_empty();
    } else if (reader_->prepare_sleep()) {
      ASSERT_EQ(taken_, next_) << "asleep with messages in the inbox";
      reader_->wake_up();
    }
  }
  take_all();
}

// Every interleaving of claims and publications by hand.
TEST_F(inbox_steps, forced_gap_between_claim_and_publication) {
  const inbox_slot slow = claim(inbox_);
  push(1);
  EXPECT_EQ(reader_->front(), nullptr) << "tickets run in order";
  EXPECT_FALSE(reader_->prepare_sleep()) << "a ticket is out";
  fill(*slow.message, 0, next_[0]++);
  publish(inbox_, slow);
  take_all();
  EXPECT_TRUE(reader_->prepare_sleep());
  reader_->wake_up();
}

// Producer 1 is stopped between claiming a slot on the overflow list and publishing it; the consumer has looked at the
// last message of producer 0 without running it, when producer 0 sends another one, which must not overtake.
TEST_F(inbox_steps, a_message_that_was_looked_at_is_not_overtaken_by_overflow) {
  inbox_slot stopped{};
  for (;;) {
    stopped = claim(inbox_);
    if (stopped.is_overflow()) break;
    fill(*stopped.message, 1, next_[1]++);
    publish(inbox_, stopped);
    push(0);
  }
  for (std::uint64_t left = next_[0] + next_[1]; left > 1; --left) take();
  ASSERT_FALSE(reader_->seems_empty());
  push(0);
  EXPECT_FALSE(reader_->prepare_sleep());
  take();
  take();
  EXPECT_EQ(taken_[0], next_[0]);
  fill(*stopped.message, 1, next_[1]++);
  publish(inbox_, stopped);
  take_all();
}

TEST_F(inbox_steps, does_not_sleep_on_a_message_that_was_looked_at) {
  push(0);
  ASSERT_NE(reader_->front(), nullptr);
  EXPECT_FALSE(reader_->prepare_sleep());
  take();
  EXPECT_TRUE(reader_->prepare_sleep());
}

TEST_F(inbox_steps, a_sleeper_is_rung_once_by_whatever_comes) {
  const auto ring_message = [&] { push(0); };
  const auto urgent = [&] {
    auto* const block = new (arena::allocate(sizeof(envelope))) envelope{};
    push_urgent(inbox_, block);
  };
  const auto nothing = [&] { EXPECT_TRUE(inbox_.wake_if_asleep()); };
  for (const std::function<void()>& event :
       {std::function<void()>(ring_message), std::function<void()>(urgent), std::function<void()>(nothing)}) {
    ASSERT_TRUE(reader_->prepare_sleep());
    const std::uint32_t heard = rings();
    event();
    EXPECT_EQ(rings(), heard + 1);
    EXPECT_FALSE(inbox_.wake_if_asleep()) << "somebody has rung already";
    ring_message();
    EXPECT_EQ(rings(), heard + 1) << "awake PEs are not rung";
    reader_->wake_up();
    for (envelope* block = reader_->take_urgent(); block != nullptr;)
      arena::release(std::exchange(block, block->next()));
    take_all();
  }
}

TEST_F(inbox_steps, a_sleeper_is_rung_by_overflow) {
  // Overflow without a full ring: producer 1's slot was claimed when the ring was full and is published much later.
  inbox_slot late{};
  for (;;) {
    late = claim(inbox_);
    if (late.is_overflow()) break;
    fill(*late.message, 1, next_[1]++);
    publish(inbox_, late);
  }
  take_all();
  ASSERT_TRUE(reader_->prepare_sleep());
  const std::uint32_t heard = rings();
  fill(*late.message, 1, next_[1]++);
  publish(inbox_, late);
  EXPECT_EQ(rings(), heard + 1);
  reader_->wake_up();
  take_all();
}

TEST_F(inbox_steps, ticket_that_saw_the_sleeper_rings_when_published) {
  ASSERT_TRUE(reader_->prepare_sleep());
  const std::uint32_t heard = rings();
  const inbox_slot slot = claim(inbox_);
  EXPECT_EQ(rings(), heard) << "nothing to see yet";
  fill(*slot.message, 3, next_[3]++);
  publish(inbox_, slot);
  EXPECT_EQ(rings(), heard + 1);
  reader_->wake_up();
  take_all();
}

TEST_F(inbox_steps, urgent_messages_come_apart_oldest_first) {
  push(0);
  for (std::uint64_t number = 0; number < 5; ++number) {
    auto* const block = new (arena::allocate(sizeof(envelope))) envelope{};
    fill(*block, 1, number);
    push_urgent(inbox_, block);
  }
  EXPECT_TRUE(reader_->has_urgent());
  EXPECT_FALSE(reader_->prepare_sleep());
  std::uint64_t expected = 0;
  for (envelope* block = reader_->take_urgent(); block != nullptr;) {
    EXPECT_EQ(block->element, expected++);
    arena::release(std::exchange(block, block->next()));
  }
  EXPECT_EQ(expected, 5U);
  EXPECT_FALSE(reader_->has_urgent());
  take_all();
}

// Counters that have run for years: around 2^32 and just below the bit that marks a sleeper.
TEST_F(inbox_steps, works_with_large_ticket_numbers) {
  for (const std::uint64_t start :
       {(std::uint64_t{1} << 32) - 40, (std::uint64_t{1} << 63) - (std::uint64_t{1} << 20)}) {
    inbox_.ring.begin_at(start);
    reader_.emplace(inbox_);
    std::mt19937 random(3);
    for (int step = 0; step < 20'000; ++step) {
      if (random() % 2 == 0)
        push(static_cast<std::uint32_t>(random() % producers));
      else if (reader_->front() != nullptr)
        ASSERT_NO_FATAL_FAILURE(take());
      else if (reader_->prepare_sleep())
        reader_->wake_up();
    }
    take_all();
  }
}

// M21: a push changes its cell and the ticket word, a pop changes nothing that is shared (but now and then the consumed
// count): there is no length that both ends write.
TEST(inbox_layout, has_no_shared_length_counter) {
  constexpr std::uint64_t cells = 1024;
  const auto memory = zeroed_memory(inbox_shared::required_bytes(2, cells));
  inbox_shared& inbox = *inbox_shared::initialise(memory.get(), 2, cells);
  inbox_reader reader(inbox);
  const auto snapshot = [&] { return std::string(reinterpret_cast<const char*>(&inbox), sizeof inbox); };
  const std::string before = snapshot();
  testing::push(inbox, 0, 1);
  const std::string pushed = snapshot();
  std::set<std::size_t> changed_words;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != pushed[i]) changed_words.insert(i / 8);
  EXPECT_EQ(changed_words.size(), 1U) << "the ticket word alone";
  EXPECT_EQ(inbox.ring.drawn(), 1U);
  EXPECT_EQ(inbox.ring.consumed(), 0U);
  ASSERT_NE(reader.front(), nullptr);
  reader.pop();
  EXPECT_EQ(snapshot(), pushed);
}

// M20: what producers write and what the reader writes lie on different cache lines (the ring's own: ticket_ring_test).
static_assert(offsetof(inbox_shared, ring) % 64 == 0 && sizeof(inbox_shared::ring) % 64 == 0);
static_assert(offsetof(inbox_shared, urgent) % 64 == 0 && offsetof(inbox_shared, bell) % 64 == 0);

TEST(inbox_layout, refuses_what_cannot_work) {
  const auto memory = zeroed_memory(inbox_shared::required_bytes(4, 64));
  EXPECT_THAT([&] { inbox_shared::initialise(memory.get(), 4, 48); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("48 cells")));
  inbox_shared& inbox = *inbox_shared::initialise(memory.get(), 4, 64);
  inbox.version = 9;
  EXPECT_THAT([&] { inbox_reader reader(inbox); }, ThrowsMessage<std::runtime_error>(HasSubstr("version 9")));
}

// Each of many producers may be between its look and its ticket; the ring has room for them, whatever was asked for.
TEST(inbox_layout, grows_with_the_producers) {
  for (const std::uint32_t many : {8, 9, 511, 512, 513, 1024}) {
    const std::uint64_t capacity = many <= 8 ? 16 : many <= 9 ? 32 : many <= 512 ? 1024 : 2048;
    const std::size_t bytes = inbox_shared::required_bytes(many, 16);
    EXPECT_EQ(bytes, sizeof(inbox_shared) + capacity * sizeof(envelope)) << many;
    const auto memory = zeroed_memory(bytes);
    inbox_shared& inbox = *inbox_shared::initialise(memory.get(), many, 16);
    inbox_reader reader(inbox);
    for (std::uint32_t producer = 0; producer < many; ++producer) {
      const inbox_slot slot = claim(inbox);
      ASSERT_FALSE(slot.is_overflow()) << "a message of each fits";
      slot.message->source = producer;
      publish(inbox, slot);
    }
    for (std::uint32_t producer = 0; producer < many; ++producer) {
      const envelope* const message = reader.front();
      ASSERT_NE(message, nullptr);
      ASSERT_EQ(message->source, producer);
      reader.pop();
    }
  }
}

}  // namespace
}  // namespace tri::sched
