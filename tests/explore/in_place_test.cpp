// One model taken back from step to step must visit what copies of it visit, wherever it keeps its state.
#include "explore/in_place.hpp"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tri::explore {
namespace {

struct alignas(64) line {
  std::uint64_t value = 0;
};

// Two queues of numbers, one of which is drawn from the other in any order; memory of every kind.
struct queues {
  std::vector<std::uint64_t> left = {1, 2, 3, 4, 5};
  std::map<std::uint64_t, std::string> drawn;
  std::vector<line> sums = std::vector<line>(2);
  std::vector<std::byte> large = std::vector<std::byte>(5000);
  std::uint64_t forbidden = 0;

  int steps() const { return static_cast<int>(left.size()); }
  void take(int step) {
    const auto at = left.begin() + step;
    const std::uint64_t number = *at;
    left.erase(at);
    if (number == forbidden && drawn.size() == 3)
      throw std::runtime_error("number " + std::to_string(number) + " was drawn as the fourth one");
    drawn[number] = std::string(10 * number, 'x');
    sums[drawn.size() % 2].value += number;
    large[number] = std::byte{1};
  }
  void check_end() const {
    if (drawn.size() != 5) throw std::logic_error("some are left");
  }
  void encode(fingerprint& state) const {
    state.put(left.size());
    for (const std::uint64_t number : left) state.put(number);
    for (const auto& [number, text] : drawn) state.put(number * 100 + text.size());
    for (const line& sum : sums) state.put(sum.value);
    for (const std::byte one : large) state.put(static_cast<std::uint64_t>(one));
  }
};

TEST(in_place, visits_the_states_that_copies_visit) {
  const model_outcome copied = explore_all(queues());
  const model_outcome in_place = explore_all_in_place(queues());
  EXPECT_EQ(in_place.failure(), "");
  EXPECT_TRUE(in_place.complete);
  EXPECT_GT(copied.states, 32U) << "more than the subsets of five, for the sums of two orders differ";
  EXPECT_EQ(in_place.states, copied.states);
  EXPECT_EQ(in_place.steps, copied.steps);
  EXPECT_EQ(in_place.ends, copied.ends);
}

TEST(in_place, finds_the_fault_that_copies_find_by_the_same_schedule) {
  queues start;
  start.forbidden = 3;
  const model_outcome copied = explore_all(start);
  const model_outcome in_place = explore_all_in_place(start);
  EXPECT_EQ(copied.fault, "number 3 was drawn as the fourth one");
  EXPECT_EQ(in_place.failure(), copied.failure());
}

struct with_state_elsewhere {
  std::shared_ptr<int> elsewhere = std::make_shared<int>(0);
  int left = 3;

  int steps() const { return left > 0 ? 2 : 0; }
  void take(int step) {
    --left;
    *elsewhere += step;
  }
  void check_end() const {}
  void encode(fingerprint& state) const {
    state.put(static_cast<std::uint64_t>(left));
    state.put(static_cast<std::uint64_t>(*elsewhere));
  }
};

TEST(in_place, refuses_a_model_with_state_elsewhere) {
  EXPECT_THAT([] { explore_all_in_place(with_state_elsewhere()); },
              testing::ThrowsMessage<std::logic_error>(testing::HasSubstr("neither in itself nor on its heap")));
}

TEST(fingerprint_set, knows_what_it_has) {
  fingerprint_set set;
  const auto of = [](std::uint64_t number) {
    fingerprint made;
    made.put(number);
    return made;
  };
  for (std::uint64_t number = 0; number < 100'000; ++number) ASSERT_TRUE(set.insert(of(number))) << number;
  for (std::uint64_t number = 0; number < 100'000; ++number) ASSERT_FALSE(set.insert(of(number))) << number;
  EXPECT_EQ(set.size(), 100'000U);
}

TEST(snapshot_heap, gives_aligned_memory_of_every_size) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{1008}, std::size_t{5000}}) {
    std::vector<std::unique_ptr<std::byte[]>> blocks;
    {
      const snapshot_heap::inside now;
      for (int i = 0; i < 3; ++i) blocks.push_back(std::make_unique<std::byte[]>(size));
    }
    for (const auto& block : blocks) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.get()) % 16, 0U);
      for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(block[i], std::byte{0});
    }
    blocks.clear();
  }
  const snapshot_heap::inside now;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(std::make_unique<line>().get()) % 64, 0U);
}

}  // namespace
}  // namespace tri::explore
