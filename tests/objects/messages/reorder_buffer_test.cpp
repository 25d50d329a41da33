// Messages of two senders that come in any order run in that of their sending: every interleaving.
#include "objects/messages/reorder_buffer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "explore/explorer.hpp"

namespace tri::objects {
namespace {

constexpr std::size_t senders = 2;
constexpr std::uint64_t messages = 5;

struct message {
  int sender = 0;
  std::uint64_t text = 0;
};

class world {
 public:
  int steps() const {
    int count = static_cast<int>(under_way_.size());
    for (std::size_t sender = 0; sender < senders; ++sender) count += sent_[sender] < messages ? 1 : 0;
    return count;
  }
  void take(int which) {
    if (which < static_cast<int>(under_way_.size())) {
      const auto [number, what] = under_way_[static_cast<std::size_t>(which)];
      under_way_.erase(under_way_.begin() + which);
      switch (arrivals_.arrived(what.sender, number)) {
        case arrival::early:
          arrivals_.keep(what.sender, number, what);
          return;
        case arrival::past:
          throw std::logic_error("past before its arrival");
        case arrival::now:
          run(what);
          for (message next; arrivals_.next(what.sender, next);) run(next);
      }
      if (arrivals_.arrived(what.sender, number) != arrival::past) throw std::logic_error("arrived, and not past");
      return;
    }
    which -= static_cast<int>(under_way_.size());
    for (int sender = 0; sender < static_cast<int>(senders); ++sender) {
      std::uint64_t& sent = sent_[static_cast<std::size_t>(sender)];
      if (sent == messages || which-- != 0) continue;
      under_way_.push_back({numbers_[static_cast<std::size_t>(sender)].draw(7), {sender, sent++}});
      return;
    }
  }
  void check_end() const {
    for (std::size_t sender = 0; sender < senders; ++sender)
      if (ran_[sender] != messages) throw std::logic_error("messages did not run");
    arrivals_.visit_waiting([](int, std::size_t, std::uint64_t) { throw std::logic_error("messages are kept"); });
  }
  void encode(explore::fingerprint& state) const {
    const auto put = [&state](std::uint64_t word) { state.put(word); };
    for (std::size_t sender = 0; sender < senders; ++sender) put(sent_[sender]), put(ran_[sender]);
    for (const auto& [number, what] : under_way_) put(number), put(static_cast<std::uint64_t>(what.sender));
  }

 private:
  void run(const message& what) {
    if (what.text != ran_[static_cast<std::size_t>(what.sender)]++) throw std::logic_error("not in order");
  }
  std::array<sequence_numbers, senders> numbers_;
  std::array<std::uint64_t, senders> sent_{};
  std::array<std::uint64_t, senders> ran_{};
  std::vector<std::pair<std::uint64_t, message>> under_way_;
  reorder_buffer<message> arrivals_;
};

TEST(reorder_buffer, every_order_of_arrival_runs_in_the_order_of_sending) {
  const auto found = explore::explore_all(world(), 5'000'000);
  EXPECT_EQ(found.failure(), "");
  EXPECT_TRUE(found.complete);
  EXPECT_GT(found.ends, 0U);
}

TEST(reorder_buffer, a_number_that_was_not_used_is_given_again) {
  sequence_numbers numbers;
  EXPECT_EQ(numbers.draw(3), 1U);
  EXPECT_EQ(numbers.draw(4), 1U);
  EXPECT_EQ(numbers.draw(3), 2U);
  EXPECT_TRUE(numbers.take_back(3, 2));
  EXPECT_EQ(numbers.draw(3), 2U);
  EXPECT_FALSE(numbers.take_back(3, 1));
}

TEST(reorder_buffer, tells_and_drops_what_it_keeps) {
  reorder_buffer<message> arrivals;
  EXPECT_EQ(arrivals.arrived(1, 3), arrival::early);
  arrivals.keep(1, 3, {1, 30});
  EXPECT_EQ(arrivals.arrived(1, 4), arrival::early);
  arrivals.keep(1, 4, {1, 40});
  EXPECT_EQ(arrivals.arrived(2, 1), arrival::now);
  std::string told;
  arrivals.visit_waiting([&](int sender, std::size_t kept, std::uint64_t missing) {
    told += std::to_string(sender) + ' ' + std::to_string(kept) + ' ' + std::to_string(missing);
  });
  EXPECT_EQ(told, "1 2 1");
  std::uint64_t dropped = 0;
  arrivals.drop_held([&](const message& each) { dropped += each.text; });
  EXPECT_EQ(dropped, 70U);
}

}  // namespace
}  // namespace tri::objects
