// Who takes part in copying large messages: ranks as threads, with NUMA domains that are only said. A message lies
// on the board while its receiver computes and its sender calls nothing; counters tell who copied it, and who left it
// alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "mpi/engine/rank_statistics.hpp"
#include "ranks_as_threads.hpp"

namespace tri::mpi {
namespace {

using ::testing::ElementsAre;
using testing::run_on_ranks;

constexpr std::size_t large = 1'000'000;
constexpr std::uint64_t chunks_of_large = (large + (64 << 10) - 1) / (64 << 10);
const std::vector<std::int32_t> two_domains{0, 0, 1, 1};

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + (i >> 8));
  return data;
}

void await(const std::function<bool()>& what) {
  while (!what()) std::this_thread::yield();
}

bool is_moved(const receive_record& record) {
  return record.state.load(std::memory_order_acquire) == progress_state::complete;  // pairs: record.complete
}

std::uint64_t refused_by(engine& mine, std::initializer_list<std::uint32_t> ranks) {
  return std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0}, [&](std::uint64_t sum, std::uint32_t rank) {
    return sum + mine.endpoint_of(rank).counters.refused.load();
  });
}

// Rank 1 sends to rank 0, both of domain 0, and calls nothing more; ranks 2 and 3 of domain 1 wait for something else.
// When the copy lies on the board, `receiver` runs on rank 0, outside of any call.
struct result {
  std::vector<rank_statistics> ranks;
  std::uint64_t far() const {
    return std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const rank_statistics& each) { return sum + each.chunks_far; });
  }
};
result with_a_copy_on_the_board(const engine_options& options, activity of_sender,
                                const std::function<void(engine&, receive_record&)>& receiver) {
  std::atomic<bool> sent{false};
  std::atomic<bool> over{false};
  result found{std::vector<rank_statistics>(4)};
  run_on_ranks(
      4, options,
      [&](engine& mine) {
        const std::vector<std::byte> expected = pattern(large);
        if (mine.number() == 1) {
          std::vector<std::byte> data = expected;
          mine.own().now = of_sender;
          send_record* const record = mine.send(0, {1, 1, 0}, {data.data(), data.size()});
          sent = true;
          await([&] { return over.load(); });
          mine.wait([&] { return engine::is_done(*record); });
          mine.release(record);
        } else if (mine.number() == 0) {
          await([&] { return sent.load(); });
          std::vector<std::byte> room(large);
          receive_record* const record = mine.make_receive({1, 1, 0}, {room.data(), room.size()});
          mine.post(*record);
          mine.leave();
          mine.wake(2);
          mine.wake(3);
          receiver(mine, *record);
          mine.wait([&] { return mine.is_done(*record); });
          EXPECT_EQ(room, expected);
          mine.release(record);
          over = true;
          for (const std::uint32_t rank : {2u, 3u}) mine.wake(rank);
        } else {
          mine.wait([&] { return over.load(); });
        }
        found.ranks[mine.number()] = statistics_of(mine.own());
      },
      two_domains);
  EXPECT_EQ(found.ranks[0].chunks_shared, chunks_of_large);
  EXPECT_EQ(check(found.ranks), "");
  return found;
}

engine_options by(help_strategy strategy, std::uint32_t saturation = 0) {
  engine_options options;
  options.help = {strategy, saturation};
  return options;
}

TEST(sharing, near_leaves_copies_of_other_domains_alone) {
  const result found =
      with_a_copy_on_the_board(by(help_strategy::near), activity::busy, [](engine& mine, receive_record& record) {
        await([&] { return refused_by(mine, {2}) > 10 && refused_by(mine, {3}) > 10; });
        EXPECT_FALSE(is_moved(record));
      });
  EXPECT_EQ(found.far(), 0u);
  EXPECT_EQ(found.ranks[0].chunks_copied, chunks_of_large);
}

TEST(sharing, mixed_reaches_over_when_nobody_there_looks_for_work) {
  const result found =
      with_a_copy_on_the_board(by(help_strategy::mixed), activity::busy,
                               [](engine&, receive_record& record) { await([&] { return is_moved(record); }); });
  EXPECT_EQ(found.far(), chunks_of_large);
}

TEST(sharing, mixed_leaves_it_to_a_rank_that_polls_for_work_there) {
  const result found =
      with_a_copy_on_the_board(by(help_strategy::mixed), activity::looking, [](engine& mine, receive_record& record) {
        await([&] { return refused_by(mine, {2, 3}) > 10; });
        EXPECT_FALSE(is_moved(record));
        mine.endpoint_of(1).now = activity::asleep;
        await([&] { return is_moved(record); });
      });
  EXPECT_EQ(found.far(), chunks_of_large);
}

TEST(sharing, throughput_reaches_over_while_the_memory_has_room) {
  // Both ranks of the domain are busy.
  const result full = with_a_copy_on_the_board(by(help_strategy::throughput, 2), activity::busy,
                                               [](engine& mine, receive_record& record) {
                                                 await([&] { return refused_by(mine, {2, 3}) > 10; });
                                                 EXPECT_FALSE(is_moved(record));
                                               });
  EXPECT_EQ(full.far(), 0u);
  const result room =
      with_a_copy_on_the_board(by(help_strategy::throughput, 3), activity::busy,
                               [](engine&, receive_record& record) { await([&] { return is_moved(record); }); });
  EXPECT_EQ(room.far(), chunks_of_large);
  // Who only looks for work is not busy: unlike mixed, there is room.
  const result idle =
      with_a_copy_on_the_board(by(help_strategy::throughput, 2), activity::looking,
                               [](engine&, receive_record& record) { await([&] { return is_moved(record); }); });
  EXPECT_EQ(idle.far(), chunks_of_large);
}

// Else a blocking send to another domain would wait until its receiver calls.
TEST(sharing, a_sender_copies_its_own_message_whatever_the_distance) {
  run_on_ranks(2, by(help_strategy::near),
               [&](engine& mine) {
                 if (mine.number() == 1) {
                   std::vector<std::byte> data = pattern(large);
                   send_record* const record = mine.send(0, {1, 1, 0}, {data.data(), data.size()});
                   mine.wait([&] { return engine::is_done(*record); });
                   mine.release(record);
                   EXPECT_EQ(mine.own().counters.chunks_far, chunks_of_large);
                 } else {
                   std::vector<std::byte> room(large);
                   mine.wait([&] { return mine.find({1, 1, 0}).has_value(); });
                   receive_record* const record = mine.make_receive({1, 1, 0}, {room.data(), room.size()});
                   mine.post(*record);
                   mine.leave();
                   await([&] { return is_moved(*record); });
                   EXPECT_EQ(room, pattern(large));
                   mine.release(record);
                 }
               },
               {0, 1});
}

TEST(sharing, what_a_rank_does_is_told_where_there_are_domains) {
  for (const bool domains : {true, false}) {
    engine_options options;
    options.oversubscribed = true;  // sleeps soon, by which the other one knows that it waits
    run_on_ranks(
        2, options,
        [&](engine& mine) {
          if (mine.number() == 1) {
            EXPECT_EQ(mine.own().now, activity::busy);
            if (domains) {
              await([&] { return mine.endpoint_of(0).now != activity::busy; });
            } else {
              await([&] { return mine.endpoint_of(0).counters.sleeps > 0; });
              EXPECT_EQ(mine.endpoint_of(0).now, activity::busy) << "no rank reads it, so it is not written";
            }
            EXPECT_EQ(mine.send(0, {1, 1, 0}, {}), nullptr);
            return;
          }
          receive_record* const record = mine.make_receive({1, 1, 0}, {});
          mine.post(*record);
          mine.wait([&] { return mine.is_done(*record); });
          EXPECT_EQ(mine.own().now, activity::busy);
          mine.release(record);
        },
        domains ? std::vector<std::int32_t>{0, 1} : std::vector<std::int32_t>{5, 5});
  }
}

std::uint64_t pieces_of(std::size_t bytes, const engine_options& options) {
  std::atomic<std::uint64_t> chunks{0};
  run_on_ranks(2, options, [&](engine& mine) {
    std::vector<std::byte> data = pattern(bytes);
    if (mine.number() == 1) {
      send_record* const record = mine.send(0, {1, 1, 0}, {data.data(), data.size()});
      mine.wait([&] { return engine::is_done(*record); });
      mine.release(record);
    } else {
      std::vector<std::byte> room(bytes);
      receive_record* const record = mine.make_receive({1, 1, 0}, {room.data(), room.size()});
      mine.post(*record);
      mine.wait([&] { return mine.is_done(*record); });
      EXPECT_EQ(room, data);
      mine.release(record);
    }
    chunks += mine.own().counters.chunks_shared;
  });
  return chunks;
}

TEST(sharing, begins_at_a_size_and_can_be_switched_off) {
  constexpr std::size_t KiB = 1024;
  EXPECT_EQ(pieces_of(32 * KiB - 1, {}), 0u);
  EXPECT_EQ(pieces_of(32 * KiB, {}), 2u);
  engine_options later;
  later.sharing.from = 64 * KiB;
  EXPECT_EQ(pieces_of(63 * KiB, later), 0u);
  EXPECT_EQ(pieces_of(64 * KiB, later), 4u);
  engine_options never;
  never.sharing.from = ~std::size_t{0};
  EXPECT_EQ(pieces_of(large, never), 0u);
}

TEST(sharing, chunks_are_larger_in_larger_messages) {
  constexpr std::size_t KiB = 1024;
  EXPECT_EQ(pieces_of(64 * KiB, {}), 4u);
  EXPECT_EQ(pieces_of(95 * KiB, {}), 6u);
  EXPECT_EQ(pieces_of(96 * KiB, {}), 3u);
  EXPECT_EQ(pieces_of(511 * KiB, {}), 16u);
  EXPECT_EQ(pieces_of(512 * KiB, {}), 8u);
}

// Which chunks were copied first, by a rank that takes one at a time while the receiver computes and the sender calls
// nothing. The last chunk is shorter.
std::vector<std::size_t> order_of_chunks(touch_order touched) {
  std::atomic<bool> sent{false};
  std::atomic<receive_record*> posted{nullptr};
  std::atomic<bool> over{false};
  std::vector<std::byte> room(large);
  std::vector<std::size_t> order;
  run_on_ranks(3, {}, [&](engine& mine) {
    const std::vector<std::byte> expected = pattern(large);
    if (mine.number() == 1) {
      std::vector<std::byte> data = expected;
      send_record* const record = mine.send(0, {1, 1, 0}, {data.data(), data.size()});
      sent = true;
      await([&] { return over.load(); });
      mine.wait([&] { return engine::is_done(*record); });
      mine.release(record);
    } else if (mine.number() == 0) {
      await([&] { return sent.load(); });
      receive_record* const record = mine.make_receive({1, 1, 0}, {room.data(), room.size()}, touched);
      mine.post(*record);
      mine.leave();
      posted = record;
      await([&] { return over.load(); });
      mine.wait([&] { return mine.is_done(*record); });
      EXPECT_EQ(room, expected);
      mine.release(record);
    } else {
      await([&] { return posted.load() != nullptr; });
      const std::atomic<std::uint64_t>& helped = mine.own().counters.chunks_helped;
      for (std::size_t count = 0; count < chunks_of_large; ++count) {
        while (helped == count) mine.progress();
        EXPECT_EQ(helped, count + 1) << "one chunk at a time";
        for (std::size_t piece = 0; piece < chunks_of_large; ++piece) {
          // A byte that is not 0 in the pattern.
          const std::size_t at = piece * (64 << 10) + 1;
          if (room[at] == expected[at] && std::find(order.begin(), order.end(), piece) == order.end())
            order.push_back(piece);
        }
      }
      over = true;
    }
  });
  return order;
}

TEST(sharing, what_is_touched_first_is_copied_last) {
  std::vector<std::size_t> upwards(chunks_of_large);
  std::iota(upwards.begin(), upwards.end(), std::size_t{0});
  const std::vector<std::size_t> downwards(upwards.rbegin(), upwards.rend());
  EXPECT_EQ(order_of_chunks(touch_order::low_first), downwards);
  EXPECT_EQ(order_of_chunks(touch_order::high_first), upwards);
  EXPECT_THAT(order_of_chunks(touch_order::unknown), ::testing::UnorderedElementsAreArray(upwards));
}

// Work of three ranks: rank 1 posts it and stays in its first chunk, rank 2 waits for a message and helps meanwhile. In
// its third chunk the message comes.
struct work_beside_a_message {
  std::atomic<int> chunks_of_helper{0};
  std::atomic<bool> posted{false};
  std::atomic<bool> wanted{false};
  std::atomic<bool> sent{false};
  std::atomic<bool> helper_left{false};
} beside;

void piece_beside_a_message(const board::task_view&, std::uint64_t, std::uint64_t, int by) noexcept {
  if (by == 1) {
    beside.posted = true;
    await([] { return beside.helper_left.load(); });
  }
  if (by != 2 || ++beside.chunks_of_helper != 3) return;
  beside.wanted = true;
  await([] { return beside.sent.load(); });
}
const board::operation_id work_operation =
    board::operation_table::of_process().chunks.add("test: chunks beside a message", &piece_beside_a_message);

TEST(sharing, a_helper_takes_no_further_chunk_when_its_own_message_has_come) {
  int taken = 0;
  run_on_ranks(3, {}, [&](engine& mine) {
    if (mine.number() == 0) {
      await([] { return beside.wanted.load(); });
      std::byte data{7};
      EXPECT_EQ(mine.send(2, {1, 0, 0}, {&data, 1}), nullptr);
      beside.sent = true;
      await([] { return beside.helper_left.load(); });  // else it would help, too
    } else if (mine.number() == 1) {
      EXPECT_TRUE(mine.run_together(work_operation, {}, large));
    } else {
      std::byte room{};
      receive_record* const record = mine.make_receive({1, 0, 0}, {&room, 1});
      mine.post(*record);
      await([] { return beside.posted.load(); });  // nobody rings for the board
      mine.wait([&] { return mine.is_done(*record); });
      taken = beside.chunks_of_helper;
      beside.helper_left = true;
      EXPECT_EQ(room, std::byte{7});
      mine.release(record);
    }
  });
  EXPECT_EQ(taken, 3);
}

TEST(sharing, near_ranks_come_first) {
  std::vector<endpoint> ranks(5);
  std::vector<endpoint*> all;
  const std::int32_t domains[] = {0, 1, 0, 1, no_domain};
  for (std::uint32_t i = 0; i < 5; ++i) {
    ranks[i].domain = domains[i];
    all.push_back(&ranks[i]);
  }
  EXPECT_THAT(order_of_ranks(all, 0), ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(order_of_ranks(all, 3), ElementsAre(4, 1, 2, 0));  // staggered, as victim_order tells
}

}  // namespace
}  // namespace tri::mpi
