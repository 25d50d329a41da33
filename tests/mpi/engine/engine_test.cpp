// The engine between threads as ranks: every message arrives once, whole and in order, whatever its size, whoever came
// first and whoever copied it. Counters tell which way it went.
#include "mpi/engine/engine.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "mpi/datatypes/layout/layout_encoder.hpp"
#include "ranks_as_threads.hpp"

namespace tri::mpi {
namespace {

using testing::run_on_ranks;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(seed * 31 + i * 7 + (i >> 8));
  return data;
}

user_buffer buffer(const std::vector<std::byte>& data) { return {const_cast<std::byte*>(data.data()), data.size()}; }
user_buffer buffer(const int& value) { return {reinterpret_cast<std::byte*>(const_cast<int*>(&value)), sizeof value}; }

void send(engine& mine, std::uint32_t target, const message_key& key, const std::vector<std::byte>& data,
          send_mode mode = send_mode::standard) {
  send_record* const record = mine.send(target, key, buffer(data), mode);
  if (record == nullptr) return;
  mine.wait([&] { return engine::is_done(*record); });
  mine.release(record);
}

struct received {
  std::vector<std::byte> data;
  message_key key;
  std::uint64_t bytes;
};
received receive(engine& mine, const message_key& key, std::size_t room) {
  received result{std::vector<std::byte>(room), {}, 0};
  found_message found;
  receive_record* const record = mine.receive(key, buffer(result.data), touch_order::unknown, found);
  if (record == nullptr) {
    result.key = found.key;
    result.bytes = found.bytes;
    return result;
  }
  mine.wait([&] { return mine.is_done(*record); });
  result.key = record->taken;
  result.bytes = record->bytes;
  mine.release(record);
  return result;
}

constexpr std::size_t sizes[] = {0,  1,  8,   9,   32,   33,   36,   37,     64,      65,
                                 88, 89, 256, 257, 4096, 8191, 8192, 40'000, 300'000, 3'000'000};

TEST(engine, sizes_of_all_ways_arrive_whole_and_in_order) {
  for (const bool receiver_first : {true, false}) {
    run_on_ranks(2, {}, [&](engine& mine) {
      const std::int32_t me = static_cast<std::int32_t>(mine.number());
      for (int round = 0; round < 20; ++round) {
        for (const std::size_t size : sizes) {
          const auto expected = pattern(size, static_cast<unsigned>(round));
          const message_key key{7, 0, round};
          if (me == 0) {
            if (receiver_first) receive(mine, {8, 1, 1}, 0);
            send(mine, 1, key, expected);
          } else {
            if (receiver_first) send(mine, 0, {8, 1, 1}, {});
            const received got = receive(mine, {7, any_source, any_tag}, size);
            ASSERT_EQ(got.key, key);
            ASSERT_EQ(got.bytes, size);
            ASSERT_EQ(got.data, expected);
          }
        }
      }
    });
  }
}

// More than there are eager buffers wait unexpected: the others have blocks of their own, and all keep what they have.
TEST(engine, short_messages_use_the_buffers_of_their_sender_again) {
  engine_options options;
  options.most_eager_buffers = 4;
  run_on_ranks(3, options, [&](engine& mine) {
    constexpr int senders = 2, messages = 30, rounds = 200;
    const auto size_of = [](int i) { return static_cast<std::size_t>(257 + i * 211 % 7900); };
    for (int round = 0; round < rounds; ++round) {
      if (mine.number() < senders) {
        const auto me = static_cast<std::int32_t>(mine.number());
        for (int i = 0; i < messages; ++i)
          send(mine, senders, {1, me, i}, pattern(size_of(i), static_cast<unsigned>(round + i + 7 * me)));
        receive(mine, {2, senders, round}, 0);
        continue;
      }
      // The last ones first, so that the first ones stay; then in order, and one of them at once with its send.
      for (std::int32_t from = 0; from < senders; ++from) {
        for (int k = 0; k < messages; ++k) {
          const int i = k < 10 ? messages - 1 - k : k - 10;
          const received got = receive(mine, {1, from, i}, size_of(i));
          ASSERT_EQ(got.bytes, size_of(i));
          ASSERT_EQ(got.data, pattern(size_of(i), static_cast<unsigned>(round + i + 7 * from)));
        }
      }
      for (std::uint32_t to = 0; to < senders; ++to) send(mine, to, {2, senders, round}, {});
    }
  });
}

TEST(eager_buffers, are_taken_again_when_they_have_been_given_back) {
  run_on_ranks(1, {}, [&](engine& mine) {
    eager_buffers buffers(mine.blocks(), 64);
    EXPECT_EQ(buffers.take(eager_buffers::most_bytes + 1), nullptr);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1025}, std::size_t{2049}, eager_buffers::most_bytes}) {
      std::vector<unexpected_message*> taken;
      while (unexpected_message* const next = buffers.take(bytes)) taken.push_back(next);
      EXPECT_GE(taken.size(), 16u);
      EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), taken.size());
      for (unexpected_message* const each : taken) std::memset(each->data(), 1, bytes);
      EXPECT_TRUE(eager_buffers::give_back(*taken[2]));
      EXPECT_TRUE(eager_buffers::give_back(*taken[1]));
      // After as many calls as there are buffers, each was asked for.
      std::set<unexpected_message*> again;
      for (std::size_t i = 0; i < taken.size(); ++i)
        if (unexpected_message* const next = buffers.take(bytes)) again.insert(next);
      EXPECT_EQ(again, (std::set{taken[1], taken[2]}));
      EXPECT_EQ(buffers.take(bytes), nullptr);
    }
    unexpected_message block;
    EXPECT_FALSE(eager_buffers::give_back(block));
  });
}

// The lines of the last messages are still in the first-level caches of both sides.
TEST(eager_buffers, are_not_taken_again_soon) {
  run_on_ranks(1, {}, [&](engine& mine) {
    eager_buffers buffers(mine.blocks(), 2);
    std::deque<unexpected_message*> last;
    for (int i = 0; i < 2000; ++i) {
      unexpected_message* const next = buffers.take(1000);
      ASSERT_NE(next, nullptr);
      if (i > 512) {  // all were made, and all have had a turn
        EXPECT_THAT(last, ::testing::Not(::testing::Contains(next)));
      }
      last.push_back(next);
      if (last.size() > 200) last.pop_front();
      EXPECT_TRUE(eager_buffers::give_back(*next));
    }
  });
}

// Every byte of a rendezvous is counted once, by the rank that copied it.
TEST(engine, bytes_are_counted_by_the_rank_that_copied_them) {
  std::atomic<std::uint64_t> counted{0};
  constexpr int messages = 20;
  constexpr std::size_t size = 1'000'000;
  run_on_ranks(2, {}, [&](engine& mine) {
    for (int i = 0; i < messages; ++i) {
      if (mine.number() == 0)
        send(mine, 1, {1, 0, i}, pattern(size, 1));
      else
        receive(mine, {1, 0, i}, size);
    }
    counted += mine.own().counters.bytes_copied + mine.own().counters.bytes_helped;
  });
  EXPECT_EQ(counted, messages * size);
}

TEST(engine, a_message_that_is_too_long_fills_the_buffer_and_says_so) {
  run_on_ranks(2, {}, [](engine& mine) {
    for (const std::size_t size : {std::size_t{30}, std::size_t{5000}, std::size_t{100'000}}) {
      if (mine.number() == 0) {
        send(mine, 1, {1, 0, 3}, pattern(size, 5));
      } else {
        std::vector<std::byte> room(size, std::byte{0});
        receive_record* const record = mine.make_receive({1, 0, 3}, {room.data(), size / 2});
        mine.post(*record);
        mine.wait([&] { return mine.is_done(*record); });
        EXPECT_EQ(record->bytes, size);
        auto expected = pattern(size, 5);
        std::fill(expected.begin() + static_cast<std::ptrdiff_t>(size / 2), expected.end(), std::byte{0});
        EXPECT_EQ(room, expected);
        mine.release(record);
      }
    }
  });
}

// One that has just come, and one that was unexpected, in all ways of travelling; with room for half of it, too.
TEST(engine, only_messages_that_are_there_with_their_data_are_received_at_once) {
  run_on_ranks(2, {}, [](engine& mine) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{30}, std::size_t{200}, std::size_t{5000}, std::size_t{9000}})
      for (const bool was_kept : {false, true})
        for (const std::size_t room : {size, size / 2}) {
          if (mine.number() == 0) {
            send(mine, 1, {1, 0, 3}, pattern(size, 5));
            receive(mine, {1, 1, 4}, 0);
            continue;
          }
          std::vector<std::byte> got(size, std::byte{0});
          found_message found;
          if (was_kept) mine.wait([&] { return mine.find({1, 0, 3}).has_value(); });
          // Not by a wait of the engine, which takes what comes out of the inbox.
          while (!was_kept && !mine.own().inbox.has_message()) std::this_thread::yield();
          receive_record* const record = mine.receive({1, 0, 3}, {got.data(), room}, touch_order::unknown, found);
          EXPECT_EQ(record == nullptr, size < 8192) << size;
          if (record != nullptr) {
            mine.wait([&] { return mine.is_done(*record); });
            found = {record->taken, record->bytes};
            mine.release(record);
          }
          EXPECT_EQ(found.key, (message_key{1, 0, 3}));
          EXPECT_EQ(found.bytes, size);
          auto expected = pattern(size, 5);
          std::fill(expected.begin() + static_cast<std::ptrdiff_t>(room), expected.end(), std::byte{0});
          EXPECT_EQ(got, expected) << size;
          send(mine, 0, {1, 1, 4}, {});
        }
  });
}

TEST(engine, a_synchronous_send_ends_with_the_receive) {
  std::atomic<bool> received_it{false};
  run_on_ranks(2, {}, [&](engine& mine) {
    if (mine.number() == 0) {
      send_record* const record = mine.send(1, {1, 0, 0}, {}, send_mode::synchronous);
      ASSERT_NE(record, nullptr);
      for (int i = 0; i < 100; ++i) mine.progress();
      EXPECT_FALSE(engine::is_done(*record));
      send(mine, 1, {1, 0, 1}, {});
      mine.wait([&] { return engine::is_done(*record); });
      EXPECT_TRUE(received_it.load());
      mine.release(record);
    } else {
      receive(mine, {1, 0, 1}, 0);
      received_it = true;
      receive(mine, {1, 0, 0}, 0);
    }
  });
}

TEST(engine, probing_and_taking_single_messages) {
  run_on_ranks(2, {}, [](engine& mine) {
    if (mine.number() == 0) {
      for (int i = 0; i < 3; ++i) send(mine, 1, {1, 0, i}, pattern(100 * static_cast<std::size_t>(i), 1));
      send(mine, 1, {1, 0, 9}, pattern(50'000, 4));
      return;
    }
    mine.wait([&] { return mine.find({1, any_source, 2}).has_value(); });
    EXPECT_EQ(mine.find({1, 0, any_tag})->key.tag, 0);
    EXPECT_EQ(mine.find({1, 0, any_tag})->bytes, 0u);
    arrived_message* const second = mine.take({1, any_source, 1});
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(mine.take({1, any_source, 1}), nullptr);
    EXPECT_EQ(receive(mine, {1, any_source, any_tag}, 0).key.tag, 0);
    EXPECT_EQ(receive(mine, {1, any_source, any_tag}, 200).key.tag, 2);
    std::vector<std::byte> room(100);
    receive_record* const record = mine.make_receive({}, {room.data(), 100});
    mine.post(*record, *second);
    EXPECT_TRUE(mine.is_done(*record));
    EXPECT_EQ(room, pattern(100, 1));
    mine.release(record);
    mine.wait([&] { return mine.find({1, 0, 9}).has_value(); });
    EXPECT_EQ(mine.find({1, 0, 9})->bytes, 50'000u);
    EXPECT_EQ(receive(mine, {1, 0, 9}, 50'000).data, pattern(50'000, 4));
  });
}

TEST(engine, a_cancelled_receive_gets_nothing) {
  run_on_ranks(1, {}, [](engine& mine) {
    int value = 0;
    receive_record* const record = mine.make_receive({1, 0, 0}, buffer(value));
    mine.post(*record);
    EXPECT_TRUE(mine.cancel(*record));
    EXPECT_FALSE(mine.cancel(*record));
    mine.release(record);
    const int sent = 5;
    EXPECT_EQ(mine.send(0, {1, 0, 0}, buffer(sent)), nullptr);  // to itself
    receive_record* const second = mine.make_receive({1, 0, 0}, buffer(value));
    mine.post(*second);
    EXPECT_TRUE(mine.is_done(*second));
    EXPECT_FALSE(mine.cancel(*second));
    EXPECT_EQ(value, 5);
    mine.release(second);
  });
}

TEST(engine, a_cancelled_send_leaves_nothing_behind) {
  const auto data = pattern(50'000, 3), part = pattern(40'000, 3);
  run_on_ranks(1, {}, [&](engine& mine) {
    for (const bool is_read : {false, true}) {  // it stands in the inbox, or among the messages
      send_record* const taken_back = mine.send(0, {1, 0, 0}, buffer(data));
      send_record* const stays = mine.send(0, {1, 0, 0}, buffer(part));
      if (is_read) {
        EXPECT_EQ(mine.find({1, 0, 0})->bytes, 50'000u);
      }
      EXPECT_TRUE(mine.cancel(*taken_back, 0));
      mine.release(taken_back);
      EXPECT_EQ(mine.find({1, 0, 0})->bytes, 40'000u);
      EXPECT_EQ(receive(mine, {1, 0, any_tag}, 50'000).bytes, 40'000u);
      EXPECT_FALSE(mine.cancel(*stays, 0));  // too late
      EXPECT_TRUE(engine::is_done(*stays));
      mine.release(stays);
      EXPECT_FALSE(mine.find({1, 0, 0}).has_value());
    }
    send_record* const probed = mine.send(0, {1, 0, 0}, buffer(data));
    arrived_message* const message = mine.take({1, 0, 0});
    EXPECT_FALSE(mine.cancel(*probed, 0));  // whoever took it will receive it
    std::vector<std::byte> room(data.size());
    receive_record* const record = mine.make_receive({}, buffer(room));
    mine.post(*record, *message);
    mine.wait([&] { return mine.is_done(*record); });
    EXPECT_EQ(room, data);
    mine.release(record);
    mine.release(probed);
  });
}

// Sends are cancelled while others write to the same inbox and their receiver looks for them: either it gets the
// message or the sender has it back.
TEST(engine, sends_that_are_cancelled_in_the_race_arrive_or_do_not) {
  constexpr int rounds = 2000;
  std::atomic<int> arrived{0}, taken_back{0};
  run_on_ranks(3, {}, [&](engine& mine) {
    if (mine.number() == 0) {
      int last = 0;
      while (last < 2) {  // each ends with a message of its own tag
        std::vector<std::byte> room(20'000);
        receive_record* const record = mine.make_receive({1, any_source, any_tag}, buffer(room));
        mine.post(*record);
        mine.wait([&] { return mine.is_done(*record); });
        if (record->taken.tag == rounds)
          ++last;
        else
          arrived.fetch_add(1);
        EXPECT_EQ(room[0], static_cast<std::byte>(record->taken.tag));
        mine.release(record);
      }
      return;
    }
    std::vector<std::byte> data(20'000), small(8);
    for (int round = 0; round < rounds; ++round) {
      data[0] = small[0] = static_cast<std::byte>(round);
      const message_key key{1, static_cast<std::int32_t>(mine.number()), round};
      send_record* const record = mine.send(0, key, buffer(round % 2 != 0 ? small : data), send_mode::synchronous);
      for (int poll = 0; poll < round % 5; ++poll) mine.progress();
      if (mine.cancel(*record, 0))
        taken_back.fetch_add(1);
      else
        mine.wait([&] { return engine::is_done(*record); });
      mine.release(record);
    }
    data[0] = static_cast<std::byte>(rounds & 0xff);
    send(mine, 0, {1, static_cast<std::int32_t>(mine.number()), rounds}, data);
  });
  EXPECT_EQ(arrived + taken_back, 2 * rounds);
}

// Nobody receives until everything was sent: more than a ring has, and more than may be kept.
TEST(engine, a_flood_that_nobody_receives_stays_in_bounds) {
  engine_options options;
  options.most_unexpected_bytes = 64 * 1024;
  run_on_ranks(2, options, [](engine& mine) {
    constexpr int messages = 20'000;
    if (mine.number() == 0) {
      std::vector<send_record*> records;
      std::vector<int> values(messages);
      for (int i = 0; i < messages; ++i) {
        values[static_cast<std::size_t>(i)] = i;
        if (send_record* const record = mine.send(1, {1, 0, 0}, buffer(values[static_cast<std::size_t>(i)])))
          records.push_back(record);
      }
      EXPECT_GT(records.size(), messages / 2u);  // most are held back
      send(mine, 1, {1, 0, 1}, {});
      for (send_record* const record : records) {
        mine.wait([&] { return engine::is_done(*record); });
        mine.release(record);
      }
      return;
    }
    receive(mine, {1, 0, 1}, 0);
    // Beyond the limit: the message that crossed it, and the 8,192 that the ring may hold by then.
    EXPECT_LE(mine.own().unexpected_bytes, 64u * 1024 + 8193 * (sizeof(unexpected_message) + sizeof(int)));
    for (int i = 0; i < messages; ++i) {
      int value = -1;
      receive_record* const record = mine.make_receive({1, 0, 0}, buffer(value));
      mine.post(*record);
      mine.wait([&] { return mine.is_done(*record); });
      ASSERT_EQ(value, i);
      mine.release(record);
    }
    EXPECT_EQ(mine.own().unexpected_bytes, 0u);
  });
}

// The receiver computes, without a call, until its buffer is full: somebody else must have copied the message.
TEST(engine, a_waiting_rank_receives_for_a_computing_rank) {
  for (const std::uint32_t ranks : {2u, 3u}) {
    std::atomic<std::uint64_t> helped{0};
    std::atomic<bool> received{false};
    run_on_ranks(ranks, {}, [&](engine& mine) {
      constexpr std::size_t size = 1'000'000;
      if (mine.number() == 0) {
        receive(mine, {1, 1, 5}, 0);  // the receive has been posted
        send(mine, 1, {1, 0, 0}, pattern(size, 3));
      } else if (mine.number() == 1) {
        std::vector<std::byte> room(size);
        receive_record* const record = mine.make_receive({1, 0, 0}, {room.data(), size});
        mine.post(*record);
        send(mine, 0, {1, 1, 5}, {});
        mine.leave();
        while (record->state.load(std::memory_order_acquire) == progress_state::under_way) std::this_thread::yield();
        EXPECT_TRUE(mine.is_done(*record));
        EXPECT_EQ(room, pattern(size, 3));
        mine.release(record);
        received = true;
        mine.wake(ranks - 1);
      }
      if (mine.number() == 2) mine.wait([&] { return received.load(); });
      helped += mine.own().counters.helped_ranks;
    });
    EXPECT_GE(helped, 1u) << ranks;
  }
}

// However small the message is: the receiver may be in a call that nobody of ours knows.
TEST(engine, a_waiting_rank_receives_small_synchronous_messages_for_a_computing_rank) {
  run_on_ranks(2, {}, [&](engine& mine) {
    if (mine.number() == 0) {
      receive(mine, {1, 1, 5}, 0);
      send(mine, 1, {1, 0, 0}, pattern(4, 3), send_mode::synchronous);
    } else {
      std::vector<std::byte> room(4);
      receive_record* const record = mine.make_receive({1, 0, 0}, {room.data(), 4});
      mine.post(*record);
      send(mine, 0, {1, 1, 5}, {});
      mine.leave();
      while (record->state.load(std::memory_order_acquire) == progress_state::under_way) std::this_thread::yield();
      EXPECT_EQ(room, pattern(4, 3));
      mine.release(record);
    }
  });
}

// A condition that takes what it finds is true once, and any look may be the one, also that before sleep.
TEST(engine, a_wait_asks_no_more_once_it_was_told) {
  engine_options options;
  options.oversubscribed = true;  // sleeps soon
  std::atomic<bool> finished{false};
  run_on_ranks(2, options, [&](engine& mine) {
    if (mine.number() == 0) {
      for (int told_at = 1; told_at <= 60; ++told_at) {
        int polls = 0;
        mine.wait([&] { return ++polls == told_at; });
        EXPECT_EQ(polls, told_at);
      }
      finished = true;
    } else {
      while (!finished) {
        mine.wake(0);
        std::this_thread::yield();
      }
    }
  });
}

// Several threads of each rank, in turns, some of which often sleep while another goes on.
TEST(engine, threads_share_the_api_mutex_and_wake_each_other) {
  engine_options options;
  options.oversubscribed = true;
  run_on_ranks(2, options, [](engine& mine) {
    std::mutex turns;
    mine.set_api_mutex(&turns);
    const std::uint32_t other = 1 - mine.number();
    const auto ping_pong = [&](std::uint64_t context) {
      const std::lock_guard guard(turns);
      const auto me = static_cast<std::int32_t>(mine.number());
      for (int i = 0; i < 1000; ++i) {
        const auto data = pattern(8, static_cast<unsigned>(i));
        if (me == 0) send(mine, other, {context, me, i}, data);
        ASSERT_EQ(receive(mine, {context, 1 - me, i}, 8).data, data);
        if (me == 1) send(mine, other, {context, me, i}, data);
      }
    };
    std::vector<std::thread> others;
    for (const std::uint64_t context : {4u, 6u, 8u}) others.emplace_back([&, context] { ping_pong(context); });
    ping_pong(2);
    for (std::thread& each : others) each.join();
    mine.set_api_mutex(nullptr);
  });
}

// One thread leaves while the other sleeps, which has to hear of the next message all the same.
TEST(engine, a_thread_that_leaves_does_not_take_the_bell_along) {
  engine_options options;
  options.oversubscribed = true;
  run_on_ranks(2, options, [](engine& mine) {
    constexpr int rounds = 3000;
    if (mine.number() == 1) {
      for (int i = 0; i < rounds; ++i) {
        for (int spin = 0; spin < i % 50 * 40; ++spin) os::cpu_relax();
        send(mine, 0, {2, 1, i}, {});
        for (int spin = 0; spin < i % 31 * 40; ++spin) os::cpu_relax();
        send(mine, 0, {4, 1, i}, {});
        receive(mine, {6, 0, i}, 0);
      }
      return;
    }
    std::mutex turns;
    mine.set_api_mutex(&turns);
    std::barrier round_begins(2);
    const auto receive_in = [&](std::uint64_t context, int i) {
      round_begins.arrive_and_wait();
      const std::lock_guard guard(turns);
      receive(mine, {context, 1, i}, 0);
    };
    std::thread second([&] {
      for (int i = 0; i < rounds; ++i) {
        receive_in(4, i);
        round_begins.arrive_and_wait();
      }
    });
    for (int i = 0; i < rounds; ++i) {
      receive_in(2, i);
      round_begins.arrive_and_wait();
      const std::lock_guard guard(turns);
      send(mine, 1, {6, 0, i}, {});
    }
    second.join();
    mine.set_api_mutex(nullptr);
  });
}

// A receive that finds its message returns at once; the sender, even asleep, copies all of it while the receiver
// computes.
TEST(engine, what_a_receive_has_found_is_copied_by_the_sender_that_waits) {
  for (const bool oversubscribed : {false, true}) {
    engine_options options;
    options.oversubscribed = oversubscribed;
    run_on_ranks(2, options, [&](engine& mine) {
      constexpr std::size_t size = 1'000'000;
      if (mine.number() == 0) {
        send(mine, 1, {1, 0, 0}, pattern(size, 3));
        EXPECT_EQ(mine.own().counters.bytes_helped, size);
      } else {
        std::vector<std::byte> room(size);
        mine.wait([&] { return mine.find({1, 0, 0}).has_value(); });
        receive_record* const record = mine.make_receive({1, 0, 0}, {room.data(), size});
        mine.post(*record);
        mine.leave();
        while (record->state.load(std::memory_order_acquire) == progress_state::under_way) std::this_thread::yield();
        EXPECT_EQ(room, pattern(size, 3));
        EXPECT_EQ(mine.own().counters.bytes_copied, 0u);
        mine.release(record);
      }
    });
  }
}

// Doubles with gaps, as a rank of the engine's host describes them: where they are, and what they are worth.
class spread_doubles {
 public:
  spread_doubles(engine& mine, std::size_t count, std::int64_t stride)
      : blocks_(mine.blocks()), count_(count), stride_(static_cast<std::size_t>(stride)) {
    const owned_layout made = encode(datatype::resized(datatype::basic(element_kind::float64), 0, stride * 8));
    void* const place = blocks_.allocate(made.bytes());
    std::memcpy(place, made.get(), made.bytes());
    type_ = static_cast<const layout*>(place);
    values_.assign(count * stride_, -1.0);
  }
  ~spread_doubles() { blocks_.release(const_cast<layout*>(type_)); }
  spread_doubles(const spread_doubles&) = delete;
  spread_doubles& operator=(const spread_doubles&) = delete;

  void fill(double from) {
    for (std::size_t i = 0; i < count_; ++i) values_[i * stride_] = from + static_cast<double>(i);
  }
  /// The first `filled` are those of fill(from), the others and the gaps untouched.
  bool holds(double from, std::size_t filled) const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool is_there = i % stride_ == 0 && i / stride_ < filled;
      if (values_[i] != (is_there ? from + static_cast<double>(i / stride_) : -1.0)) return false;
    }
    return true;
  }
  user_buffer described() {
    return {reinterpret_cast<std::byte*>(values_.data()), count_ * sizeof(double), type_, count_};
  }

 private:
  arena::block_cache& blocks_;
  std::size_t count_;
  std::size_t stride_;
  const layout* type_ = nullptr;
  std::vector<double> values_;
};

void* nothing_is_shared(const void*, std::size_t) { return nullptr; }

// Small ones in cells, middling ones in blocks, large ones copied once by whoever is there; with and without shared
// memory and the kernel's help.
TEST(engine, spread_data_arrives_whole_on_either_side) {
  for (const bool shared : {true, false}) {
    for (const bool kernel_copies : {true, false}) {
      engine_options options;
      options.kernel_copies = kernel_copies;
      run_on_ranks(2, options, [&](engine& mine) {
        if (!shared) mine.set_shared_memory(&nothing_is_shared);
        for (const std::size_t count : {0u, 1u, 4u, 5u, 1000u, 1024u, 30'000u, 200'000u}) {
          for (const auto& [from_stride, to_stride] :
               {std::pair{1, 2}, std::pair{3, 1}, std::pair{2, 2}, std::pair{2, 5}}) {
            const double first = static_cast<double>(count) + from_stride;
            if (mine.number() == 0) {
              spread_doubles data(mine, count, from_stride);
              data.fill(first);
              if (send_record* const record = mine.send(1, {1, 0, 0}, data.described())) {
                mine.wait([&] { return engine::is_done(*record); });
                mine.release(record);
              }
              receive(mine, {2, 1, 0}, 0);
            } else {
              spread_doubles room(mine, count + 3, to_stride);  // room for more than comes
              receive_record* const record = mine.make_receive({1, 0, 0}, room.described());
              mine.post(*record);
              mine.wait([&] { return mine.is_done(*record); });
              EXPECT_EQ(record->bytes, count * sizeof(double));
              EXPECT_TRUE(room.holds(first, count)) << shared << kernel_copies << ' ' << count << ' ' << to_stride;
              mine.release(record);
              send(mine, 0, {2, 1, 0}, {});
            }
          }
        }
      });
    }
  }
}

// Both sides spread and in shared memory: copied once, and by the sender alone while the receiver computes.
TEST(engine, spread_data_is_copied_for_ranks_that_compute) {
  run_on_ranks(2, {}, [](engine& mine) {
    constexpr std::size_t count = 200'000;
    if (mine.number() == 0) {
      spread_doubles data(mine, count, 2);
      data.fill(7);
      receive(mine, {1, 1, 5}, 0);
      send_record* const record = mine.send(1, {1, 0, 0}, data.described());
      mine.wait([&] { return engine::is_done(*record); });
      mine.release(record);
      EXPECT_EQ(mine.own().counters.bytes_copied + mine.own().counters.bytes_helped, count * sizeof(double));
      EXPECT_EQ(mine.own().counters.eager, 0u);
    } else {
      spread_doubles room(mine, count, 3);
      receive_record* const record = mine.make_receive({1, 0, 0}, room.described());
      mine.post(*record);
      send(mine, 0, {1, 1, 5}, {});
      mine.leave();
      while (record->state.load(std::memory_order_acquire) == progress_state::under_way) std::this_thread::yield();
      EXPECT_TRUE(room.holds(7, count));
      mine.release(record);
    }
  });
}

// Memory with gaps that only the receiver's process can write: others leave the message to it.
TEST(engine, spread_data_is_set_aside_for_the_only_rank_that_can_write_it) {
  for (const std::size_t count : {3u, 500u, 20'000u}) {
    engine_options options;
    options.kernel_copies = true;
    run_on_ranks(2, options, [&](engine& mine) {
      if (mine.number() == 0) {
        spread_doubles data(mine, count, 2);
        data.fill(7);
        receive(mine, {1, 1, 5}, 0);
        send_record* const record = mine.send(1, {1, 0, 0}, data.described(), send_mode::synchronous);
        mine.wait([&] { return engine::is_done(*record); });
        mine.release(record);
        EXPECT_EQ(mine.own().counters.staged, 1u);
      } else {
        mine.set_shared_memory(&nothing_is_shared);
        spread_doubles room(mine, count, 3);
        receive_record* const record = mine.make_receive({1, 0, 0}, room.described());
        mine.post(*record);
        send(mine, 0, {1, 1, 5}, {});
        mine.leave();
        while (record->state.load(std::memory_order_acquire) == progress_state::under_way) std::this_thread::yield();
        EXPECT_TRUE(room.holds(0, 0));
        EXPECT_TRUE(mine.is_done(*record));
        EXPECT_TRUE(room.holds(7, count));
        mine.release(record);
      }
    });
  }
}

// More of them than the board takes from one rank, and more than one list of copies: none waits for another.
TEST(engine, many_receives_find_their_messages_at_once) {
  run_on_ranks(2, {}, [](engine& mine) {
    constexpr std::size_t size = 100'000;
    constexpr int messages = 50;
    const auto data = pattern(size, 5);
    if (mine.number() == 0) {
      std::vector<send_record*> sends;
      for (int i = 0; i < messages; ++i) sends.push_back(mine.send(1, {1, 0, i}, buffer(data)));
      send(mine, 1, {2, 0, 0}, {});
      for (send_record* const record : sends) {
        mine.wait([&] { return engine::is_done(*record); });
        mine.release(record);
      }
    } else {
      receive(mine, {2, 0, 0}, 0);  // all have come
      std::vector<std::vector<std::byte>> rooms(messages, std::vector<std::byte>(size));
      std::vector<receive_record*> receives;
      for (int i = messages; i-- > 0;) {
        receives.push_back(mine.make_receive({1, 0, i}, buffer(rooms[static_cast<std::size_t>(i)])));
        mine.post(*receives.back());
        mine.leave();
      }
      for (receive_record* const record : receives) {
        mine.wait([&] { return mine.is_done(*record); });
        mine.release(record);
      }
      for (const auto& room : rooms) EXPECT_EQ(room, data);
    }
  });
}

// Every pair, random sizes and tags, receives with and without wildcards, in random order of posting.
TEST(engine, random_traffic_between_all) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    constexpr std::uint32_t ranks = 4;
    constexpr int messages = 300;
    engine_options options;
    options.oversubscribed = true;
    run_on_ranks(ranks, options, [&](engine& mine) {
      const auto size_of = [&](std::uint32_t from, std::uint32_t to, int i) {
        std::mt19937 random(seed * 1000 + from * 100 + to * 10 + static_cast<unsigned>(i) * 7919);
        return std::size_t{random() % 4 == 0 ? random() % 200'000 : random() % 3000};
      };
      std::mt19937 random(seed + mine.number());
      struct open_receive {
        receive_record* record;
        std::vector<std::byte> room;
        std::uint32_t from;
        int number;
      };
      std::vector<open_receive> receives;
      std::vector<std::pair<send_record*, std::vector<std::byte>>> sends;
      std::vector<int> sent(ranks, 0), posted(ranks, 0);
      int left = 2 * messages * static_cast<int>(ranks);
      while (left > 0) {
        const std::uint32_t other = static_cast<std::uint32_t>(random() % ranks);
        if (random() % 2 == 0) {
          int& i = sent[other];
          if (i == messages) continue;
          auto data = pattern(size_of(mine.number(), other, i), static_cast<unsigned>(i));
          const message_key key{5, static_cast<std::int32_t>(mine.number()), i % 3};
          if (send_record* const record = mine.send(other, key, buffer(data),
                                                    random() % 10 == 0 ? send_mode::synchronous : send_mode::standard))
            sends.emplace_back(record, std::move(data));
          ++i;
        } else {
          int& i = posted[other];
          if (i == messages) continue;
          const std::size_t size = size_of(other, mine.number(), i);
          receives.push_back({nullptr, std::vector<std::byte>(size), other, i});
          open_receive& open = receives.back();
          // Messages of a sender come in order, so any tag gets the same one as its own tag.
          const std::int32_t tag = random() % 3 == 0 ? any_tag : i % 3;
          open.record = mine.make_receive({5, static_cast<std::int32_t>(other), tag}, {open.room.data(), size});
          mine.post(*open.record);
          ++i;
        }
        --left;
        if (random() % 16 == 0) mine.progress();
        if (random() % 8 == 0) mine.leave();
      }
      for (auto& [record, data] : sends) {
        mine.wait([&, sent_record = record] { return engine::is_done(*sent_record); });
        mine.release(record);
      }
      for (open_receive& open : receives) {
        mine.wait([&] { return mine.is_done(*open.record); });
        ASSERT_EQ(open.record->taken.source, static_cast<std::int32_t>(open.from));
        ASSERT_EQ(open.record->taken.tag, open.number % 3);
        ASSERT_EQ(open.record->bytes, open.room.size());
        ASSERT_EQ(open.room, pattern(open.room.size(), static_cast<unsigned>(open.number)));
        mine.release(open.record);
      }
    });
  }
}

// ---- without memory

constexpr std::size_t small_limit = std::size_t{32} << 20;

/// Every block that there is, of all sizes.
std::vector<void*> take_all_memory(arena::block_cache& blocks) {
  std::vector<void*> taken;
  for (std::size_t bytes = std::size_t{1} << 20; bytes >= 16; bytes /= 2) {
    try {
      while (true) taken.push_back(blocks.allocate(bytes));
    } catch (const arena::arena_exhausted&) {
    }
  }
  return taken;
}

void expect_same_message(engine& mine, std::size_t bytes) {
  const auto data = pattern(bytes, 3);
  send(mine, 0, {1, 0, 0}, data);
  EXPECT_EQ(receive(mine, {1, 0, 0}, bytes).data, data);
}

TEST(engine, a_send_or_receive_without_memory_can_be_repeated) {
  run_on_ranks(
      1, {},
      [](engine& mine) {
        std::vector<void*> taken = take_all_memory(mine.blocks());
        const auto data = pattern(5000, 1);
        EXPECT_THROW(mine.send(0, {1, 0, 0}, buffer(data)), arena::arena_exhausted);
        EXPECT_THROW(mine.send(0, {1, 0, 0}, buffer(data), send_mode::synchronous), arena::arena_exhausted);
        EXPECT_THROW(mine.make_receive({1, 0, 0}, buffer(data)), arena::arena_exhausted);
        mine.leave();
        for (void* const each : taken) mine.blocks().release(each);
        EXPECT_FALSE(mine.find({1, any_source, any_tag}));
        expect_same_message(mine, 8);
        expect_same_message(mine, 5000);
      },
      {}, small_limit);
}

/// Rank 0 does it without memory. It must not go on: messages or receives would be lost, or a lock kept.
void expect_the_end(std::uint32_t ranks, const std::function<void(engine&)>& body) {
  EXPECT_DEATH(run_on_ranks(
                   ranks, {},
                   [&](engine& mine) {
                     try {
                       body(mine);
                     } catch (const arena::arena_exhausted&) {
                     }
                     std::_Exit(0);
                   },
                   {}, small_limit),
               "arena exhausted");
}

TEST(engine_without_memory, ends_where_an_unexpected_message_has_no_place) {
  expect_the_end(1, [](engine& mine) {
    EXPECT_EQ(mine.send(0, {1, 0, 0}, buffer(8)), nullptr);
    take_all_memory(mine.blocks());
    mine.find({1, 0, 0});
  });
}

TEST(engine_without_memory, ends_where_a_receive_has_no_record) {
  expect_the_end(1, [](engine& mine) {
    take_all_memory(mine.blocks());
    int room = 0;
    found_message found;
    mine.receive({1, 0, 0}, buffer(room), touch_order::unknown, found);
  });
}

/// Rank 0 drains the inbox of rank 1, which has a receive in memory of its own and computes.
void expect_the_end_of_draining_for_another(send_mode mode) {
  std::barrier posted(2);
  expect_the_end(2, [&](engine& mine) {
    int room = 0;
    if (mine.number() == 1) {
      mine.set_shared_memory(&nothing_is_shared);
      mine.post(*mine.make_receive({1, 0, 0}, buffer(room)));
      posted.arrive_and_wait();
      while (true) pause();
    }
    posted.arrive_and_wait();
    mine.send(1, {1, 0, 0}, buffer(room), mode);
    send_record* const last = mine.send(1, {1, 0, 1}, buffer(room), send_mode::synchronous);
    take_all_memory(mine.blocks());
    mine.cancel(*last, 1);
  });
}

TEST(engine_without_memory, ends_where_a_message_cannot_be_set_aside) {
  expect_the_end_of_draining_for_another(send_mode::standard);
}

TEST(engine_without_memory, ends_where_a_rendezvous_cannot_be_set_aside) {
  expect_the_end_of_draining_for_another(send_mode::synchronous);
}

}  // namespace
}  // namespace tri::mpi
