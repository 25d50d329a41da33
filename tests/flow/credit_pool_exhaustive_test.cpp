// Every interleaving of small streams to a receiver that grants credits for its memory, with every size of that memory
// from none at all to plenty. What counts as right is in credit_pool_world.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "credit_pool_world.hpp"
#include "explore/in_place.hpp"

namespace tri::flow {
namespace {

constexpr std::size_t state_limit = 6'000'000;

const std::vector<std::uint64_t> memory_sizes = {0,   1,   63,  64,  65,  100, 128, 170, 192, 250,  256,
                                                 300, 320, 384, 448, 500, 512, 513, 640, 768, 1024, 4096};

void explore(const credit_pool_scope& what, std::size_t* states) {
  const auto result = explore::explore_all_in_place(credit_pool_world(what), state_limit);
  *states += result.states;
  EXPECT_EQ(result.failure(), "") << "limit " << what.limit;
  EXPECT_TRUE(result.complete) << "limit " << what.limit;
  EXPECT_GT(result.ends, 0U) << "limit " << what.limit;
}

class streams : public testing::Test {
 protected:
  void TearDown() override {
    RecordProperty("states", static_cast<int>(states_));
    std::printf("%zu states\n", states_);
  }
  void of_each_memory(credit_pool_scope what) {
    for (const std::uint64_t limit : memory_sizes) {
      what.limit = limit;
      explore(what, &states_);
    }
  }
  std::size_t states_ = 0;
};

TEST_F(streams, of_one_sender) { of_each_memory({.sends = {{64, 128, 64, 192, 64}}}); }

TEST_F(streams, of_two_senders) { of_each_memory({.sends = {{64, 64}, {64, 128}}}); }

TEST_F(streams, of_two_senders_with_sizes_that_differ) {
  of_each_memory({.sends = {{64, 192}, {128, 64}}, .all_at_once = true});
}

TEST_F(streams, of_two_senders_beside_silent_peers) {
  of_each_memory({.sends = {{64, 256}, {320}}, .silent = 2, .all_at_once = true});
}

TEST_F(streams, of_three_senders) { of_each_memory({.sends = {{64}, {128}, {64, 64}}, .all_at_once = true}); }

TEST_F(streams, of_a_sender_that_holds_what_another_needs) {
  of_each_memory({.sends = {{64, 64, 64}, {512}}, .all_at_once = true});
}

TEST_F(streams, when_a_sender_is_lost) {
  of_each_memory({.sends = {{64, 128}, {192}}, .all_at_once = true, .may_lose = true});
}

}  // namespace
}  // namespace tri::flow
