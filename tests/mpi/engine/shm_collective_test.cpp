// Members that come together again and again: nobody leaves before all have come, everybody sees every part, and a
// sleeper is woken.
#include "mpi/engine/shm_collective.hpp"

#include <gtest/gtest.h>

#include "ranks_as_threads.hpp"

namespace tri::mpi {
namespace {

constexpr std::uint64_t barriers = 3000;

class shm_collectives : public ::testing::TestWithParam<std::tuple<std::uint32_t, bool>> {
 protected:
  void SetUp() override {
    ASSERT_LE(shm_collective::size_for(ranks), sizeof memory_);
    place_ = shm_collective::create(memory_, ranks);
    options.oversubscribed = std::get<1>(GetParam());
  }
  shm_collective& place() { return *place_; }

  const std::uint32_t ranks = std::get<0>(GetParam());
  engine_options options;

 private:
  alignas(64) std::byte memory_[16 * 1024];
  shm_collective* place_ = nullptr;
};

TEST_P(shm_collectives, everybody_sees_everybodys_part_of_this_time) {
  std::atomic<std::uint32_t> last_to_leave{0};
  testing::run_on_ranks(ranks, options, [&](engine& mine) {
    for (std::uint64_t count = 1; count <= barriers; ++count) {
      const std::uint64_t own = count * 1000 + mine.number();
      if (place().arrive(mine.number(), &own, sizeof own)) {
        std::uint64_t sum = 0;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          std::uint64_t part = 0;
          std::memcpy(&part, place().data_of(rank), sizeof part);
          ASSERT_EQ(part, count * 1000 + rank);
          sum += part;
        }
        std::memcpy(place().outcome(), &sum, sizeof sum);
        place().end();
        for (std::uint32_t rank = 0; rank < ranks; ++rank) mine.wake(rank);
      } else {
        mine.wait([&] { return place().has_ended(count); });
      }
      std::uint64_t sum = 0;
      std::memcpy(&sum, place().outcome(), sizeof sum);
      ASSERT_EQ(sum, ranks * count * 1000 + ranks * (ranks - 1) / 2);
      EXPECT_FALSE(place().has_ended(count + 1));
    }
    if (place().leave_for_good()) ++last_to_leave;
  });
  EXPECT_EQ(last_to_leave, 1u);
}

std::uint64_t sleeps_of(engine& any, std::uint32_t ranks) {
  std::uint64_t sleeps = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    sleeps += any.endpoint_of(rank).counters.sleeps.load(std::memory_order_relaxed);  // relaxed: a count
  return sleeps;
}

// Members are late by turns, so that the others sleep.
TEST_P(shm_collectives, each_reads_what_all_have_offered_in_this_step) {
  testing::run_on_ranks(ranks, options, [&](engine& mine) {
    for (std::uint64_t count = 1; count <= barriers; ++count) {
      if (ranks > 1 && count % 600 == 0 && count / 600 % ranks == mine.number())
        while (sleeps_of(mine, ranks) < count / 600 * (ranks - 1)) {
        }
      const std::array<std::uint64_t, 7> own{count, mine.number(), 0, 0, 0, 0, count};
      static_assert(sizeof own == shm_collective::most_bytes_offered);
      place().offer(mine.number(), count, own.data(), sizeof own);
      for (std::uint32_t rank = 0; rank < ranks; ++rank) mine.wake_after_store(rank);
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        mine.wait([&] { return place().has_offered(rank, count); });
        std::array<std::uint64_t, 7> theirs{};
        std::memcpy(theirs.data(), place().offered_by(rank, count), sizeof theirs);
        ASSERT_EQ(theirs, (std::array<std::uint64_t, 7>{count, rank, 0, 0, 0, 0, count}));
      }
      EXPECT_FALSE(place().has_offered(mine.number(), count + 1));
    }
  });
}

// Members begin several barriers before they wait for the first one.
TEST_P(shm_collectives, nonblocking_barriers_end_when_all_have_entered_them) {
  constexpr std::uint64_t rounds = 500, open = 4;
  std::array<std::atomic<std::uint64_t>, rounds * open + 1> begun{};
  testing::run_on_ranks(ranks, options, [&](engine& mine) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (std::uint64_t i = 1; i <= open; ++i) {
        begun[round * open + i].fetch_add(1);
        if (place().enter(mine.number()))
          for (std::uint32_t rank = 0; rank < ranks; ++rank) mine.wake(rank);
        EXPECT_EQ(place().entered(mine.number()), round * open + i);
      }
      for (std::uint64_t i = 1; i <= open; ++i) {
        mine.wait([&] { return place().have_all_entered(round * open + i); });
        ASSERT_EQ(begun[round * open + i].load(), ranks);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(of, shm_collectives, ::testing::Combine(::testing::Values(1u, 2u, 3u, 8u), ::testing::Bool()));

}  // namespace
}  // namespace tri::mpi
