// Progress on behalf of other ranks: polling ranks make progress for ranks that compute with a receive open, and for no
// others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "mpi/engine/progress_mode.hpp"
#include "ranks_as_threads.hpp"

namespace tri::mpi {
namespace {

using testing::run_on_ranks;

constexpr int many_polls = 2000;

void await(const std::function<bool()>& what) {
  while (!what()) std::this_thread::yield();
}

bool is_filled(const receive_record& record) {
  return record.state.load(std::memory_order_acquire) == progress_state::complete;  // pairs: record.complete
}

void send_small(engine& mine, std::uint32_t target, int tag) {
  std::byte data{std::byte{7}};
  EXPECT_EQ(mine.send(target, {1, static_cast<std::int32_t>(mine.number()), tag}, {&data, 1}), nullptr);
}

// A receive on the stack of a test that ends with the rank's last call.
struct awaited {
  awaited(engine& of, std::int32_t source, int tag) : owner(of), record(of.make_receive({1, source, tag}, {&room, 1})) {
    of.post(*record);
  }
  ~awaited() { owner.release(record); }
  awaited(const awaited&) = delete;
  awaited& operator=(const awaited&) = delete;
  engine& owner;
  std::byte room{};
  receive_record* record;
};

// Rank 1 has begun a receive and is computing; rank 0 sends; rank 2 polls for work.
void with_a_message_for_a_computing_rank(const engine_options& options, bool expected) {
  std::atomic<bool> posted{false};
  std::atomic<bool> sent{false};
  std::atomic<bool> looked{false};
  run_on_ranks(3, options, [&](engine& mine) {
    if (mine.number() == 0) {
      await([&] { return posted.load(); });
      send_small(mine, 1, 5);
      sent = true;
      await([&] { return looked.load(); });
    } else if (mine.number() == 1) {
      awaited one(mine, 0, 5);
      mine.leave();
      posted = true;
      await([&] { return looked.load(); });
      EXPECT_EQ(is_filled(*one.record), expected);
      mine.wait([&] { return mine.is_done(*one.record); });
      EXPECT_EQ(one.room, std::byte{7});
      EXPECT_EQ(mine.own().received.by_others, expected ? 1u : 0u);
    } else {
      await([&] { return sent.load(); });
      for (int i = 0; i < many_polls; ++i) mine.progress();
      EXPECT_EQ(mine.own().counters.helped_ranks, expected ? 1u : 0u);
      looked = true;
    }
  });
}

TEST(progress, is_chosen_by_a_word) {
  EXPECT_EQ(parse_progress("dynamic").mode, progress_mode::dynamic);
  EXPECT_FALSE(parse_progress("dynamic").has_thread());
  EXPECT_TRUE(parse_progress("thread").has_thread());
  EXPECT_EQ(parse_progress("reserved,12").cores, 12u);
  EXPECT_TRUE(parse_progress("reserved,12").has_thread());
  const auto refusal_of = [](std::string_view text) -> std::string {
    try {
      parse_progress(text);
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
    return "";
  };
  EXPECT_EQ(refusal_of("threads"), "progress 'threads' is not one of dynamic, thread and reserved,N");
  for (const char* incomplete : {"reserved", "reserved,", "reserved,0", "reserved,2x", "reserved,-1"})
    EXPECT_THAT(refusal_of(incomplete), ::testing::HasSubstr("as in reserved,2")) << incomplete;
}

TEST(progress, of_a_computing_rank_is_made_by_a_rank_that_polls_for_work) {
  with_a_message_for_a_computing_rank({}, true);
}

TEST(progress, is_left_to_each_rank_where_that_was_chosen) {
  engine_options alone;
  alone.received_by_others = false;
  with_a_message_for_a_computing_rank(alone, false);
}

// A receive that is open tells others to look, from whom and whatever it is; not so one that was withdrawn.
TEST(progress, is_announced_by_receives_that_are_open) {
  for (const auto& [source, is_withdrawn] :
       {std::pair<std::int32_t, bool>{0, false}, {any_source, false}, {0, true}, {any_source, true}}) {
    std::atomic<bool> left{false};
    std::atomic<bool> looked{false};
    run_on_ranks(2, {}, [&, from = source, withdrawn = is_withdrawn](engine& mine) {
      if (mine.number() == 1) {
        std::optional<awaited> open;
        open.emplace(mine, from, 5);
        if (withdrawn) {
          EXPECT_TRUE(mine.cancel(*open->record));
          open.reset();
        }
        mine.leave();
        left = true;
        await([&] { return looked.load(); });
        EXPECT_EQ(mine.own().received.by_others, withdrawn ? 0u : 1u);
        if (withdrawn) open.emplace(mine, from, 5);
        mine.wait([&] { return mine.is_done(*open->record); });
      } else {
        await([&] { return left.load(); });
        send_small(mine, 1, 5);
        for (int i = 0; i < many_polls; ++i) mine.progress();
        EXPECT_EQ(mine.own().counters.helped_ranks, withdrawn ? 0u : 1u);
        looked = true;
      }
    });
  }
}

TEST(progress, of_a_rank_without_pending_receives_is_left_alone) {
  std::atomic<bool> left{false};
  std::atomic<bool> looked{false};
  run_on_ranks(2, {}, [&](engine& mine) {
    if (mine.number() == 1) {
      mine.leave();
      left = true;
      await([&] { return looked.load(); });
      awaited one(mine, 0, 5);
      mine.wait([&] { return mine.is_done(*one.record); });
      EXPECT_EQ(mine.own().received.by_itself, 1u);
    } else {
      await([&] { return left.load(); });
      send_small(mine, 1, 5);
      for (int i = 0; i < many_polls; ++i) mine.progress();
      EXPECT_EQ(mine.own().counters.helped_ranks, 0u);
      looked = true;
    }
  });
}

// Rule 1: a waiting rank looks after itself, also after it was offering while it computed.
TEST(progress, of_a_waiting_rank_is_left_to_it) {
  engine_options options;
  options.oversubscribed = true;  // sleeps at once, so that others see that it waits
  std::atomic<int> begun{-1};
  std::atomic<bool> over{false};
  run_on_ranks(3, options, [&](engine& mine) {
    constexpr int messages = 50;
    if (mine.number() == 1) {
      for (int i = 0; i < messages; ++i) {
        awaited one(mine, 0, i);
        mine.leave();  // computes for a moment, with a receive open
        begun = i;
        mine.wait([&] { return mine.is_done(*one.record); });
      }
      EXPECT_EQ(mine.own().received.by_others, 0u);
      over = true;
    } else if (mine.number() == 0) {
      for (int i = 0; i < messages; ++i) {
        await([&] { return begun == i && mine.endpoint_of(1).inbox.is_asleep(); });
        send_small(mine, 1, i);
      }
    } else {
      while (!over.load()) mine.progress();
      EXPECT_EQ(mine.own().counters.helped_ranks, 0u);
    }
  });
}

TEST(progress, of_near_ranks_comes_first) {
  std::atomic<int> posted{0};
  std::atomic<bool> helped{false};
  run_on_ranks(3, {},
               [&](engine& mine) {
                 if (mine.number() == 0) {
                   await([&] { return posted.load() == 2; });
                   send_small(mine, 1, 5);
                   send_small(mine, 2, 5);
                   while (mine.own().counters.helped_ranks == 0) mine.progress();
                   EXPECT_EQ(mine.endpoint_of(2).received.by_others, 1u) << "of the own domain";
                   EXPECT_EQ(mine.endpoint_of(1).received.by_others, 0u);
                   while (mine.own().counters.helped_ranks == 1) mine.progress();
                   EXPECT_EQ(mine.endpoint_of(1).received.by_others, 1u) << "farther ones are not forgotten";
                   helped = true;
                 } else {
                   awaited one(mine, 0, 5);
                   mine.leave();
                   ++posted;
                   await([&] { return helped.load(); });
                   EXPECT_TRUE(is_filled(*one.record));
                   mine.wait([&] { return mine.is_done(*one.record); });
                 }
               },
               {0, 1, 0});
}

TEST(progress, of_the_own_messages_comes_before_that_of_others) {
  std::atomic<int> ready{0};
  std::atomic<bool> posted{false};
  std::atomic<bool> looked{false};
  run_on_ranks(3, {}, [&](engine& mine) {
    if (mine.number() == 0) {
      awaited own(mine, 1, 6);
      posted = true;
      await([&] { return ready.load() == 2; });
      send_small(mine, 2, 5);
      EXPECT_TRUE(mine.progress());
      EXPECT_TRUE(is_filled(*own.record));
      EXPECT_EQ(mine.own().counters.helped_ranks, 0u);
      while (mine.own().counters.helped_ranks == 0) mine.progress();
      looked = true;
    } else if (mine.number() == 1) {
      await([&] { return posted.load(); });
      send_small(mine, 0, 6);
      ++ready;
      await([&] { return looked.load(); });
    } else {
      awaited one(mine, 0, 5);
      mine.leave();
      ++ready;
      await([&] { return looked.load(); });
      mine.wait([&] { return mine.is_done(*one.record); });
    }
  });
}

// Rank 1 computes with a message in its inbox; rank 0 waits, and what others hosts send comes first: only when that has
// nothing does it look after rank 1 (OUY-D10).
std::atomic<int> network_messages{0};
TEST(progress, of_the_network_comes_before_that_of_other_ranks) {
  constexpr int many = 500;
  std::atomic<bool> ready{false};
  std::atomic<bool> looked{false};
  network_messages = many;
  run_on_ranks(2, {}, [&](engine& mine) {
    if (mine.number() == 1) {
      awaited one(mine, 0, 5);
      mine.leave();
      ready = true;
      await([&] { return looked.load(); });
      mine.wait([&] { return mine.is_done(*one.record); });
      return;
    }
    await([&] { return ready.load(); });
    send_small(mine, 1, 5);
    mine.set_operations([](bool) {
      const bool any = network_messages.load() > 0;
      if (any) --network_messages;
      return any;
    });
    int helped_before = 0;
    mine.wait([&] {
      if (network_messages.load() > 0) helped_before += static_cast<int>(mine.own().counters.helped_ranks.load());
      return mine.own().counters.helped_ranks.load() > 0;
    });
    EXPECT_EQ(helped_before, 0);
    EXPECT_EQ(network_messages.load(), 0);
    mine.set_operations(nullptr);
    looked = true;
  });
}

}  // namespace
}  // namespace tri::mpi
