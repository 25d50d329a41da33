// Partial results of a reduction: combined in the order of the range whoever adds what, and few of them are kept.
#include "trireme/detail/schedules/ordered_partials.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tri::schedules {
namespace {

// Combines neighbours only, and only in their order.
struct stretch {
  std::uint64_t first;
  std::uint64_t last;
};
struct joining {
  int calls = 0;
  stretch operator()(const stretch& a, const stretch& b) {
    EXPECT_EQ(a.last, b.first);
    ++calls;
    return {a.first, b.last};
  }
};

TEST(ordered_partials, one_part_while_a_participant_goes_on_where_it_stopped) {
  ordered_partials<stretch> partials(2);
  joining join;
  for (std::uint64_t at = 0; at < 100; ++at) partials.add(1, at, at + 1, {at, at + 1}, join);
  for (std::uint64_t at = 100; at < 200; at += 10) partials.add(0, at, at + 10, {at, at + 10}, join);
  EXPECT_EQ(partials.parts(), 2u);
  const stretch all = partials.combined({0, 0}, join);
  EXPECT_EQ(all.first, 0u);
  EXPECT_EQ(all.last, 200u);
  EXPECT_EQ(join.calls, 110) << "as often as a loop from left to right, each part being a value";
}

TEST(ordered_partials, nothing_added_is_the_initial_value) {
  ordered_partials<std::string> partials(3);
  auto concatenate = [](std::string a, const std::string& b) { return a + b; };
  EXPECT_EQ(partials.combined("initial", concatenate), "initial");
}

TEST(ordered_partials, any_order_of_arrival) {
  std::mt19937 random(7);
  for (const std::size_t count : {1, 2, 255, 256, 257, 5000}) {
    std::vector<std::uint64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    ordered_partials<std::string> partials(4);
    auto concatenate = [](std::string a, const std::string& b) { return a + b; };
    std::string expected = "from ";
    for (std::size_t at = 0; at < count; ++at) expected += std::to_string(at) + ' ';
    for (const std::uint64_t at : order)
      partials.add(static_cast<int>(random() % 4), at, at + 1, std::to_string(at) + ' ', concatenate);
    EXPECT_EQ(partials.combined("from ", concatenate), expected);
  }
}

// Chunks of one iteration that are dealt out in turn: two participants and a million chunks, of which few are kept.
TEST(ordered_partials, what_is_kept_follows_the_gaps) {
  ordered_partials<stretch> partials(2);
  joining join;
  std::size_t most = 0;
  for (std::uint64_t at = 0; at < 1'000'000; ++at) {
    partials.add(static_cast<int>(at % 2), at, at + 1, {at, at + 1}, join);
    if (at % 1000 == 0) most = std::max(most, partials.parts());
  }
  EXPECT_LE(most, 4 * ordered_partials<stretch>::fewest_parts);
  EXPECT_EQ(partials.combined({0, 0}, join).last, 1'000'000u);
}

// One participant far ahead of the other: nothing of its parts can be joined until the other has come. Each is looked
// at a few times only, whatever their number: joining is tried when the number has doubled.
TEST(ordered_partials, a_participant_far_ahead) {
  ordered_partials<stretch> partials(2);
  joining join;
  for (std::uint64_t at = 0; at < 200'000; at += 2) partials.add(0, at, at + 1, {at, at + 1}, join);
  EXPECT_EQ(join.calls, 0);
  for (std::uint64_t at = 1; at < 200'000; at += 2) partials.add(1, at, at + 1, {at, at + 1}, join);
  const stretch all = partials.combined({0, 0}, join);
  EXPECT_EQ(all.last, 200'000u);
  EXPECT_EQ(join.calls, 200'000);
}

TEST(ordered_partials, threads_that_put_their_parts_together_at_the_same_time) {
  constexpr int threads = 4;
  constexpr std::uint64_t chunks = 20'000;
  ordered_partials<stretch> partials(threads);
  std::barrier begin(threads);
  std::vector<std::jthread> team;
  for (int number = 0; number < threads; ++number) {
    team.emplace_back([&, number] {
      joining join;
      begin.arrive_and_wait();
      for (std::uint64_t at = static_cast<std::uint64_t>(number); at < chunks; at += threads)
        partials.add(number, at, at + 1, {at, at + 1}, join);
    });
  }
  team.clear();
  joining join;
  EXPECT_EQ(partials.combined({0, 0}, join).last, chunks);
}

}  // namespace
}  // namespace tri::schedules
