// Progress entries: one holder at a time, help only while it is offered.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "board_memory.hpp"

namespace tri::board {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct inbox {
  int inside = 0;  // plain on purpose: the claim protects it
  int moved = 0;
  int last_by = -1;
  std::atomic<int> waiting{0};
};

bool move_one(const std::uint64_t* arguments, int, int by) noexcept {
  auto& box = *reinterpret_cast<inbox*>(arguments[0]);
  if (box.inside++ != 0) std::abort();
  const bool any = box.waiting.load() > 0;
  if (any) {
    box.waiting.fetch_sub(1);
    ++box.moved;
    box.last_by = by;
  }
  --box.inside;
  return any;
}

struct progress_test : testing::Test {
  progress_test() { operation = operations.progress.add("move", move_one); }
  std::array<std::uint64_t, progress_argument_words> arguments() { return {reinterpret_cast<std::uint64_t>(&box)}; }
  operation_table operations;
  operation_id operation = 0;
  inbox box;
  test_host host{{0, 0, 1, 1}, operations};
};

TEST_F(progress_test, a_computing_pe_is_helped_only_while_it_offers) {
  progress_pe& owner = host.pes[1].progress();
  progress_pe& idle = host.pes[3].progress();
  EXPECT_THROW(owner.offer_progress(), std::logic_error);
  owner.register_entry(operation, arguments());
  box.waiting = 2;
  EXPECT_FALSE(idle.any_offered());
  EXPECT_FALSE(idle.help());
  owner.offer_progress();
  EXPECT_TRUE(idle.any_offered());
  EXPECT_TRUE(idle.help());
  EXPECT_EQ(box.last_by, 3);
  EXPECT_TRUE(idle.help());
  EXPECT_FALSE(idle.help()) << "nothing is waiting any more";
  owner.withdraw_progress();
  box.waiting = 1;
  EXPECT_FALSE(idle.help());
  owner.offer_progress();
  owner.unregister_entry();
  EXPECT_FALSE(idle.help());
  EXPECT_EQ(box.moved, 2);
}

TEST_F(progress_test, an_entry_has_one_holder_who_may_claim_again) {
  progress_pe& owner = host.pes[1].progress();
  progress_pe& idle = host.pes[0].progress();
  owner.register_entry(operation, arguments());
  owner.offer_progress();
  box.waiting = 1;
  ASSERT_TRUE(owner.try_hold(1));
  ASSERT_TRUE(owner.try_hold(1));
  EXPECT_FALSE(idle.help());
  owner.release(1);
  EXPECT_FALSE(idle.help()) << "claimed twice, released once";
  owner.release(1);
  EXPECT_TRUE(idle.help());
}

TEST_F(progress_test, restricted_entries_are_run_by_their_process_only) {
  progress_pe& owner = host.pes[1].progress();
  EXPECT_THAT([&] { owner.register_entry(operation, arguments(), 1); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("process is 1")));
  EXPECT_THROW(owner.register_entry(9, arguments()), std::invalid_argument);
  owner.register_entry(operation, arguments(), 0);
  owner.offer_progress();
  box.waiting = 1;
  EXPECT_FALSE(host.pes[2].progress().help());
  EXPECT_TRUE(host.pes[0].progress().help());
}

TEST_F(progress_test, threads_never_meet_in_an_entry) {
  constexpr int messages = 20000;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (const std::size_t pe : {0u, 2u, 3u}) {
    threads.emplace_back([&, pe] {
      while (!stop.load()) {
        if (!host.pes[pe].progress().help()) std::this_thread::yield();
      }
    });
  }
  progress_pe& owner = host.pes[1].progress();
  int moved = 0;
  for (int message = 0; message < messages; ++message) {
    if (message % 1000 == 0) owner.register_entry(operation, arguments());
    box.waiting.fetch_add(1);
    owner.offer_progress();
    if (message % 3 == 0 && owner.try_hold(1)) {
      move_one(arguments().data(), 1, 1);
      owner.release(1);
    }
    if (message % 7 == 0) owner.withdraw_progress();
  }
  owner.offer_progress();
  while (box.waiting.load() > 0) std::this_thread::yield();
  owner.unregister_entry();
  moved = box.moved;
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(moved, messages);
  EXPECT_EQ(box.moved, messages);
}

}  // namespace
}  // namespace tri::board
