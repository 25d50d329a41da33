// The ring of a rank step by step in one thread: messages of all sizes that travel in cells, at every place of the
// ring, also where the stamps begin again.
#include "mpi/engine/rank_inbox.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <random>
#include <vector>

namespace tri::mpi {
namespace {

constexpr std::uint64_t cells = 128;
constexpr std::uint64_t stamps = std::uint64_t{1} << 32;

class inbox_of_a_rank : public testing::Test {
 protected:
  inbox_of_a_rank() : cells_(cells) { inbox_.initialise(cells_.data(), cells, 1); }

  static std::vector<std::byte> content(std::uint64_t number, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(number * 131 + i * 7);
    return data;
  }
  // As the engine does: short contiguous messages at once, others by a function. False: no cells for it now.
  bool push(std::size_t bytes, bool at_once) {
    const std::vector<std::byte> data = content(pushed_, bytes);
    const message_key key{pushed_, 1, static_cast<std::int32_t>(bytes)};
    const bool taken = at_once
                           ? inbox_.push_bytes(key, data.data(), bytes)
                           : inbox_.push_data(key, bytes, [&](std::size_t offset, std::size_t length, std::byte* to) {
                               std::memcpy(to, data.data() + offset, length);
                             });
    if (!taken) return false;
    sizes_.push_back(bytes);
    ++pushed_;
    return true;
  }
  void take() {
    ASSERT_TRUE(inbox_.has_message());
    inbox_cell* const cell = inbox_.front();
    ASSERT_NE(cell, nullptr);
    const std::size_t bytes = sizes_.front();
    EXPECT_EQ(cell->key, (message_key{taken_, 1, static_cast<std::int32_t>(bytes)}));
    ASSERT_EQ(cell->bytes, bytes);
    std::vector<std::byte> found(bytes);
    inbox_.read_front(bytes, found.data());
    EXPECT_EQ(found, content(taken_, bytes));
    inbox_.pop();
    sizes_.pop_front();
    ++taken_;
  }
  void expect_empty() {
    EXPECT_FALSE(inbox_.has_message());
    EXPECT_EQ(inbox_.front(), nullptr);
  }
  // Fills and empties the ring again and again with messages of all sizes.
  void use(std::uint64_t messages) {
    std::mt19937 random(7);
    for (const std::uint64_t end = pushed_ + messages; pushed_ < end;) {
      const std::size_t bytes = random() % (most_bytes_in_cells + 1);
      const bool at_once = bytes <= most_bytes_in_two_cells && random() % 2 == 0;
      if (!push(bytes, at_once) || random() % 4 == 0) {
        while (!sizes_.empty() && random() % 8 != 0) ASSERT_NO_FATAL_FAILURE(take());
        inbox_.publish_read();
      }
    }
    while (!sizes_.empty()) ASSERT_NO_FATAL_FAILURE(take());
    expect_empty();
  }

  std::vector<inbox_cell> cells_;
  rank_inbox inbox_;
  std::deque<std::size_t> sizes_;  // of what is in the ring
  std::uint64_t pushed_ = 0, taken_ = 0;
};

TEST_F(inbox_of_a_rank, messages_of_all_sizes_come_whole_and_in_order) {
  expect_empty();
  for (std::size_t bytes = 0; bytes <= most_bytes_in_cells; ++bytes) {
    ASSERT_TRUE(inbox_.has_cells_for(bytes));
    ASSERT_TRUE(push(bytes, false));
    ASSERT_NO_FATAL_FAILURE(take());
    expect_empty();
    inbox_.publish_read();
  }
  EXPECT_FALSE(inbox_.has_cells_for(most_bytes_in_cells + 1));
  use(20'000);
}

TEST_F(inbox_of_a_rank, stamps_begin_again) {
  for (const std::uint64_t before : {0, 1, 2, 5, 127, 128, 1000}) {
    inbox_.begin_at(stamps - before);
    expect_empty();
    use(2000);
  }
  inbox_.begin_at(stamps / 2 - 100);  // where a signed difference would change its sign
  use(2000);
  inbox_.begin_at(5 * stamps - 100);
  use(2000);
}

// All of it but the margin, which is for producers that have looked already.
TEST_F(inbox_of_a_rank, short_messages_fill_the_ring) {
  std::uint64_t taken = 0;
  while (push(8, true)) ++taken;
  EXPECT_EQ(taken, cells - most_cells);
  while (!sizes_.empty()) ASSERT_NO_FATAL_FAILURE(take());
  expect_empty();
}

// Also in messages of several cells: else a later round could take one of them for the first of a message.
TEST_F(inbox_of_a_rank, every_cell_has_the_stamp_of_its_round) {
  for (const bool at_once : {true, false}) {
    const std::uint64_t first = stamps - 40;
    inbox_.begin_at(first);
    for (std::uint64_t ticket = first; ticket < first + 2 * cells; ticket += 2) {
      ASSERT_TRUE(push(20, at_once));
      ASSERT_NO_FATAL_FAILURE(take());
      inbox_.publish_read();
    }
    for (std::uint64_t ticket = first + cells; ticket < first + 2 * cells; ++ticket)
      EXPECT_EQ(cells_[ticket % cells].stamp, static_cast<std::uint32_t>(ticket + 1)) << ticket - first;
  }
}

TEST_F(inbox_of_a_rank, many_producers_leave_short_messages_only) {
  inbox_.initialise(cells_.data(), cells, cells / 4);
  EXPECT_TRUE(inbox_.has_cells_for(8));
  EXPECT_FALSE(inbox_.has_cells_for(9));
  EXPECT_TRUE(push(8, true));
  EXPECT_FALSE(push(9, true));
  ASSERT_NO_FATAL_FAILURE(take());
}

TEST_F(inbox_of_a_rank, sleep_is_refused_while_a_message_is_there) {
  EXPECT_TRUE(inbox_.prepare_sleep());
  inbox_.woken();
  ASSERT_TRUE(push(20, true));
  EXPECT_FALSE(inbox_.prepare_sleep());
  ASSERT_NO_FATAL_FAILURE(take());
  EXPECT_TRUE(inbox_.prepare_sleep());
  EXPECT_TRUE(inbox_.is_asleep());
  ASSERT_TRUE(push(8, true));  // rings
  EXPECT_FALSE(inbox_.is_asleep());
}

}  // namespace
}  // namespace tri::mpi
