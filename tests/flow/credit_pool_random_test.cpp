// Random interleavings of streams that are too large to exhaust, each from its seed, every size of memory in turn.
// TRIREME_FLOW_INTERLEAVINGS sets how many (millions take minutes).
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "credit_pool_world.hpp"
#include "explore/explorer.hpp"

namespace tri::flow {
namespace {

TEST(random_streams, end_with_everything_received_within_the_limit) {
  const char* const wanted = std::getenv("TRIREME_FLOW_INTERLEAVINGS");
  const std::uint64_t count = wanted != nullptr ? std::stoull(wanted) : 200'000;
  constexpr std::uint64_t limits[] = {0, 64, 100, 256, 700, 1024, 3000, 8192, 10'000'000};
  std::uint64_t messages = 0, notes = 0, recalls = 0, alone = 0, notes_of_plenty = 0, senders_of_plenty = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    std::mt19937_64 random(seed);
    credit_pool_scope what;
    what.limit = limits[seed % 9];
    what.silent = seed / 9 % 3 * 2;
    what.may_lose = seed / 27 % 4 == 0;
    what.all_at_once = seed / 108 % 2 == 0;
    what.sends.resize(1 + random() % 5);
    for (auto& sends : what.sends) {
      sends.resize(random() % 9);
      for (std::uint64_t& bytes : sends) bytes = 64 * (random() % 8 == 0 ? 1 + random() % 40 : 1 + random() % 3);
      messages += sends.size();
    }
    credit_pool_world world(what);
    const auto result = explore::explore_random(world, seed, 100'000);
    ASSERT_EQ(result.failure(), "") << "limit " << what.limit;
    notes += world.notes() + world.requests();
    if (what.limit == 10'000'000) notes_of_plenty += world.notes() + world.requests();
    if (what.limit == 10'000'000) senders_of_plenty += what.sends.size();
    recalls += world.recalls();
    alone += world.alone();
  }
  EXPECT_LE(notes_of_plenty, senders_of_plenty) << "one grant in advance, and nothing is asked";
  EXPECT_GT(recalls, count / 10);
  EXPECT_GT(alone, count / 10);
  EXPECT_LT(notes, 5 * messages);
  std::printf("%llu interleavings, per message %.2f notes and %.3f recalls\n", static_cast<unsigned long long>(count),
              static_cast<double>(notes) / static_cast<double>(messages),
              static_cast<double>(recalls) / static_cast<double>(messages));
}

// A long stream, the receiver slower than the sender: what a note carries is a batch.
TEST(random_streams, pay_few_notes_when_the_receiver_is_slow) {
  for (const std::uint64_t limit : {std::uint64_t{4096}, std::uint64_t{65536}, std::uint64_t{1} << 20}) {
    credit_pool_scope what;
    what.limit = limit;
    what.all_at_once = true;
    what.sends.assign(2, std::vector<std::uint64_t>(20'000, 128));
    credit_pool_world world(what);
    ASSERT_EQ(explore::explore_random(world, limit, 10'000'000).failure(), "");
    const std::uint64_t batches = 40'000 * 128 / (limit / 16);
    EXPECT_LT(world.notes() + world.requests(), 3 * batches + 10) << "limit " << limit;
  }
}

}  // namespace
}  // namespace tri::flow
