// All orders of what the receiver and the wire do with posted memory: once it was withdrawn nothing writes to it, its
// message finds out whose block it has, and nothing stays behind.
#include "sched/remote/posted_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tri::sched {
namespace {

enum class event : std::uint8_t { begin, whole, lost, withdraw, take };
constexpr std::uint64_t key = 7;
constexpr std::uint64_t bytes = 16;

/// One posted piece of memory, and a body for it.
struct world {
  posted_memory table;
  std::byte memory[bytes]{};
  std::byte block[bytes]{};  // of the arena
  enum class body : std::uint8_t { away, arriving, there, gone } is = body::away;
  std::byte* to = nullptr;
  bool withdrawn = false;

  world() { table.post(key, memory, bytes); }

  bool possible(event what) const {
    switch (what) {
      case event::begin:
        return is == body::away;
      case event::whole:
        return is == body::arriving;
      case event::lost:
        return is == body::arriving || is == body::there;
      case event::withdraw:
        return !withdrawn && is != body::gone;
      case event::take:
        return is == body::there;
    }
    return false;
  }

  void happen(event what) {
    switch (what) {
      case event::begin:
        to = static_cast<std::byte*>(table.begin(key, bytes));
        EXPECT_EQ(to == memory, !withdrawn);
        if (to == nullptr) to = block;
        is = body::arriving;
        break;
      case event::whole:
        EXPECT_FALSE(withdrawn && to == memory) << "it was written after it had been withdrawn";
        table.whole(key, to);
        is = body::there;
        break;
      case event::lost:
        EXPECT_EQ(table.lost(to), to == memory);
        is = body::gone;
        break;
      case event::withdraw:
        if (table.withdraw(key))
          withdrawn = true;
        else
          EXPECT_TRUE(is == body::arriving && to == memory) << "it had to wait for nothing";
        break;
      case event::take:
        EXPECT_EQ(table.take(key, to), to == memory);
        is = body::gone;
        break;
    }
  }
};

int walk(std::vector<event>& so_far) {
  int ends = 0;
  bool is_end = true;
  for (const event next : {event::begin, event::whole, event::lost, event::withdraw, event::take}) {
    world now;
    for (const event each : so_far) now.happen(each);
    if (!now.possible(next) || so_far.size() == 7) continue;
    is_end = false;
    so_far.push_back(next);
    ends += walk(so_far);
    so_far.pop_back();
  }
  if (is_end) {
    world now;
    for (const event each : so_far) now.happen(each);
    if (now.is == world::body::gone) {
      EXPECT_TRUE(now.table.withdraw(key)) << "the receiver would wait for ever";
      EXPECT_EQ(now.table.begin(key, bytes), nullptr);
    }
    return 1;
  }
  return ends;
}

TEST(posted_memory, every_order_is_sound) {
  std::vector<event> none;
  EXPECT_GT(walk(none), 20);
}

TEST(posted_memory, a_body_of_another_size_gets_other_memory) {
  world one;
  EXPECT_EQ(one.table.begin(key, bytes + 1), nullptr);
  EXPECT_EQ(one.table.begin(key + 1, bytes), nullptr);
  EXPECT_EQ(one.table.begin(key, bytes), one.memory);
  EXPECT_EQ(one.table.begin(key, bytes), nullptr) << "a second body";
}

}  // namespace
}  // namespace tri::sched
