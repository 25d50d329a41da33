// Statistics: what the ranks counted adds up over all of them, whoever matched and copied; what does not is named.
#include "mpi/engine/rank_statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "mpi/engine/call_statistics.hpp"
#include "ranks_as_threads.hpp"

namespace tri::mpi {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_on_ranks;

// Every rank sends to every other one messages of all ways, and begins its receives before it waits or after.
std::vector<rank_statistics> after_traffic(std::uint32_t ranks, engine_options options, int messages) {
  std::vector<const endpoint*> endpoints(ranks);
  std::vector<rank_statistics> found(ranks);
  std::mutex lock;
  std::uint32_t ended = 0;
  run_on_ranks(ranks, options, [&](engine& mine) {
    std::mt19937 random(mine.number());
    std::vector<std::vector<std::byte>> rooms;
    std::vector<receive_record*> receives;
    std::vector<send_record*> sends;
    std::vector<std::byte> data(400'000);
    for (int i = 0; i < messages; ++i) {
      for (std::uint32_t other = 0; other < ranks; ++other) {
        const std::size_t bytes = i % 3 == 0 ? 20 : i % 3 == 1 ? 3000 : 3000 + random() % (data.size() - 3000);
        if (send_record* const record = mine.send(other, {1, static_cast<int>(mine.number()), i}, {data.data(), bytes}))
          sends.push_back(record);
        if (i % 2 == 0) mine.leave();
        rooms.emplace_back(data.size());
        receives.push_back(mine.make_receive({1, static_cast<int>(other), i}, {rooms.back().data(), data.size()}));
        mine.post(*receives.back());
      }
    }
    for (receive_record* const each : receives) {
      mine.wait([&] { return mine.is_done(*each); });
      mine.release(each);
    }
    for (send_record* const each : sends) {
      mine.wait([&] { return engine::is_done(*each); });
      mine.release(each);
    }
    const std::lock_guard guard(lock);
    endpoints[mine.number()] = &mine.own();
    if (++ended == ranks) {  // the others have only their last wait to do
      for (std::uint32_t rank = 0; rank < ranks; ++rank) found[rank] = statistics_of(*endpoints[rank]);
    }
  });
  return found;
}

TEST(statistics, add_up_over_all_ranks) {
  for (const bool oversubscribed : {false, true}) {
    engine_options options;
    options.oversubscribed = oversubscribed;
    constexpr std::uint32_t ranks = 3;
    constexpr int messages = 60;
    const std::vector<rank_statistics> all = after_traffic(ranks, options, messages);
    EXPECT_EQ(check(all), "");
    EXPECT_EQ(unreceived(all), 0u);
    for (const rank_statistics& each : all) {
      EXPECT_EQ(each.inlined, messages / 3 * ranks);
      EXPECT_EQ(each.eager + each.rendezvous, messages / 3 * 2 * ranks);
      EXPECT_GT(each.rendezvous, 0u);
    }
  }
}

TEST(statistics, time_of_waits_is_measured_when_asked_for) {
  for (const bool measured : {true, false}) {
    engine_options options;
    options.oversubscribed = true;  // sleeps at once
    options.measures_time = measured;
    run_on_ranks(2, options, [&](engine& mine) {
      if (mine.number() == 1) {  // sends when the other one has waited long enough to sleep
        endpoint& other = mine.endpoint_of(0);
        while (!other.inbox.is_asleep()) std::this_thread::yield();
        EXPECT_EQ(mine.send(0, {1, 1, 0}, {}), nullptr);
        return;
      }
      receive_record* const record = mine.make_receive({1, 1, 0}, {});
      mine.post(*record);
      mine.wait([&] { return mine.is_done(*record); });
      mine.release(record);
      const rank_statistics counted = statistics_of(mine.own());
      EXPECT_EQ(counted.waited_s > 0, measured);
      EXPECT_EQ(counted.slept_s > 0, measured);
      EXPECT_LE(counted.helped_s + counted.slept_s, counted.waited_s);
      EXPECT_GT(counted.sleeps, 0u);
    });
  }
}

rank_statistics some(std::uint64_t messages, std::uint64_t bytes) {
  rank_statistics made;
  made.inlined = messages / 2;
  made.rendezvous = messages - messages / 2;
  made.received_by_itself = messages;
  made.bytes_received = made.bytes_copied = bytes;
  made.total_s = 2;
  made.waited_s = 1;
  made.slept_s = 0.5;
  return made;
}

TEST(statistics, name_what_does_not_add_up) {
  std::vector<rank_statistics> ranks{some(10, 1000), some(20, 5000)};
  EXPECT_EQ(check(ranks), "");
  ranks[1].bytes_copied -= 1;
  EXPECT_EQ(check(ranks), "bytes received and copied: 6000 and 5999");
  ranks[0].bytes_helped += 1;
  ranks[0].received_for_others = 3;
  EXPECT_EQ(check(ranks), "messages received by others and for others: 0 and 3");
  ranks[1].received_by_others = 3;
  EXPECT_EQ(check(ranks), "messages sent and received: 30 and 33");
  ranks[1].received_by_itself -= 5;
  EXPECT_EQ(check(ranks), "");
  EXPECT_EQ(unreceived(ranks), 2u);
  ranks[0].chunks_shared = 4;
  EXPECT_THAT(to_table(ranks, "Some MPI"), HasSubstr("inconsistent counts: chunks shared and copied: 4 and 0\n"));
  ranks[0].chunks_shared = 0;
  ranks[0].bytes_copied = 1001;
  EXPECT_THAT(check(ranks), HasSubstr("rank 0 copied 1001 of 1000 bytes that it received"));
}

TEST(statistics, as_a_table_and_as_json) {
  const std::vector<rank_statistics> ranks{some(10, 1000), some(20, 5'000'000)};
  const std::string table = to_table(ranks, "Some MPI");
  EXPECT_THAT(table, HasSubstr("trireme mpi: 2 ranks, Some MPI, 2.000 s from MPI_Init to MPI_Finalize\n"));
  EXPECT_THAT(table, HasSubstr("\n    0         5         0           5          10         0      1000 B"));
  EXPECT_THAT(table, HasSubstr("\n  all        15         0          15          30         0    4884 KiB"));
  EXPECT_THAT(table, AllOf(HasSubstr("    50.0     0.0    25.0        0\n"), Not(HasSubstr("inconsistent"))));
  const std::string json = to_json(ranks, "Some MPI");
  EXPECT_THAT(json, HasSubstr("\"library\": \"Some MPI\",\n  \"unreceived\": 0,\n  \"faults\": \"\",\n"));
  EXPECT_THAT(json, HasSubstr("\"all\": {\"inline\": 15, \"eager\": 0, \"rendezvous\": 15,"));
  EXPECT_THAT(json, HasSubstr("\"total_s\": 4.000000000, \"waited_s\": 2.000000000,"));
}

void count(call_counts& rank, std::string_view call, std::string_view communicator, size_class size,
           left_because reason, std::uint64_t times) {
  rank.add(call, communicator, size, reason)->times = times;
}

TEST(statistics, calls_are_summed_over_ranks_and_told_with_what_was_left) {
  std::vector<std::unique_ptr<call_counts>> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    call_counts& each = *ranks.emplace_back(std::make_unique<call_counts>());
    count(each, "MPI_Send", "MPI_COMM_WORLD", size_class::cell, left_because::intercepted, 90);
    if (rank == 1) count(each, "MPI_Send", "inter \"one\"", size_class::block, left_because::inter_communicator, 20);
    count(each, "MPI_Allreduce", "MPI_COMM_WORLD", size_class::cell, left_because::reduction, 5);
    count(each, "MPI_Put", "windows", size_class::none, left_because::intercepted, 3);
  }
  const std::vector<std::span<const call_count>> both{ranks[0]->counted(), ranks[1]->counted()};
  const std::vector<call_count> calls = sum_of(both);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].times, 20u);  // what was left comes first
  EXPECT_EQ(calls[1].times, 10u);
  EXPECT_EQ(calls[2].times, 180u);
  const std::string table = calls_to_table(calls);
  EXPECT_THAT(
      table,
      HasSubstr(
          "\nMPI_Send                                  180              20           90.0  inter-communicator 20\n"));
  EXPECT_THAT(
      table,
      HasSubstr("\nMPI_Allreduce                               0              10            0.0  reduction 10\n"));
  EXPECT_THAT(
      table,
      HasSubstr("\nup to 256 B                               180              10           94.7  reduction 10\n"));
  EXPECT_THAT(
      table,
      HasSubstr("\nMPI_COMM_WORLD                            180              10           94.7  reduction 10\n"));
  EXPECT_THAT(table, HasSubstr("\nwindows                                     6               0          100.0\n"));
  EXPECT_LT(table.find("\nno size"), table.find("\nup to 256 B")) << "sizes ascend";
  EXPECT_LT(table.find("\nup to 256 B"), table.find("\nup to 8 KiB"));
  EXPECT_THAT(calls_to_json(calls),
              HasSubstr("{\"call\": \"MPI_Send\", \"communicator\": \"inter \\\"one\\\"\", \"size\": \"up to 8 KiB\", "
                        "\"times\": 20, \"left_because\": \"inter-communicator\"}"));
  EXPECT_EQ(calls_to_table({}), "");
  EXPECT_EQ(calls_to_json({}), "[\n  ]");
}

TEST(statistics, calls_for_which_there_is_no_room_are_refused) {
  const auto rank = std::make_unique<call_counts>();
  for (std::size_t i = 0; i < rank->all.size(); ++i)
    ASSERT_NE(rank->add(std::string(100, 'n'), "", size_class::none, left_because::intercepted), nullptr);
  EXPECT_EQ(rank->all[0].call_name(), std::string(31, 'n'));
  EXPECT_EQ(rank->add("one more", "", size_class::none, left_because::intercepted), nullptr);
}

TEST(statistics, classes_of_sizes_are_the_ways_of_messages) {
  EXPECT_EQ(size_class_of(0), size_class::cell);
  EXPECT_EQ(size_class_of(256), size_class::cell);
  EXPECT_EQ(size_class_of(257), size_class::block);
  EXPECT_EQ(size_class_of(8192), size_class::block);
  EXPECT_EQ(size_class_of(8193), size_class::large);
  EXPECT_EQ(size_class_of((1 << 20) + 1), size_class::very_large);
}

}  // namespace
}  // namespace tri::mpi
