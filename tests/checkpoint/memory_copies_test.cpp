// Two copies of each part: every state that a checkpoint goes through, the loss of every host in it, the restart, and
// every state of the checkpoint that makes two copies again, with a second loss.
#include "checkpoint/memory_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <functional>
#include <optional>
#include <vector>

namespace tri::checkpoint_files {
namespace {

struct file {
  std::uint64_t token = 0;  // 0: there is none
  bool is_complete = false;
};
struct slot_memory {
  std::vector<file> files = std::vector<file>(4);
  std::uint64_t generation = 0, token = 0, parts = 0;  // of the manifest; 0: none
};
struct host_memory {
  slot_memory slots[2];
};
using memories = std::vector<host_memory>;

/// How far a checkpoint has come; one part is of each host.
struct point {
  enum { writing, copying, counting } phase = writing;
  std::vector<int> progress;  // by part: 0 not begun, 1 begun, 2 done; by host where they count: 0 or 2
  bool is_complete() const {
    for (const int each : progress)
      if (each != 2) return false;
    return phase == counting;
  }
};

void for_each_point(int hosts, const std::function<void(const point&)>& visit) {
  for (const auto phase : {point::writing, point::copying, point::counting}) {
    if (phase == point::copying && hosts == 1) continue;
    std::vector<int> progress(static_cast<std::size_t>(hosts), 0);
    const std::function<void(std::size_t)> choose = [&](std::size_t at) {
      if (at == progress.size()) return visit({phase, progress});
      for (int each = 0; each <= 2; ++each) {
        if (phase == point::counting && each == 1) continue;
        progress[at] = each;
        choose(at + 1);
      }
    };
    choose(0);
  }
}

/// The memories at that point of a checkpoint.
memories at_point(memories all, const memory_slots::place& place, std::uint64_t token, const point& now) {
  const int hosts = static_cast<int>(all.size());
  std::vector<int> own_hosts;
  for (int host = 0; host < hosts; ++host) own_hosts.push_back(host);
  copies_under_way copies(own_hosts, hosts);
  const auto slot_of = [&](int host) -> slot_memory& { return all[static_cast<std::size_t>(host)].slots[place.slot]; };
  const auto put = [&](int host, int part, int progress) {
    if (progress != 0) slot_of(host).files[static_cast<std::size_t>(part)] = {token, progress == 2};
  };
  for (int part = 0; part < hosts; ++part) {
    const int progress = now.progress[static_cast<std::size_t>(part)];
    const int written = now.phase == point::writing ? progress : 2;
    const int copied = now.phase == point::writing ? 0 : now.phase == point::copying ? progress : 2;
    put(part, part, written);
    if (written == 2) copies.written(part);
    if (const auto to = copies.copy_goes_to(part)) put(*to, part, copied);
    if (copied == 2) copies.copied(part);
  }
  EXPECT_EQ(copies.copy_goes_to(0).has_value(), hosts > 1);
  if (now.phase != point::counting) {
    bool all_done = hosts == 1 || now.phase == point::copying;
    for (const int each : now.progress) all_done = all_done && each == 2;
    EXPECT_EQ(copies.may_count(), all_done);
    EXPECT_FALSE(copies.is_complete());
    return all;
  }
  EXPECT_TRUE(copies.may_count());
  for (int host = 0; host < hosts; ++host) {
    if (now.progress[static_cast<std::size_t>(host)] == 0) continue;
    slot_memory& slot = slot_of(host);
    slot.generation = place.generation;
    slot.token = token;
    slot.parts = static_cast<std::uint64_t>(hosts);
    for (file& each : slot.files)
      if (each.token != token) each = {};
    copies.counted(host);
  }
  EXPECT_EQ(copies.is_complete(), now.is_complete());
  return all;
}

/// What a restart finds, as objects/checkpoint/memory_checkpoint.cpp lists it.
std::optional<chosen_copies> choose(const memories& all) {
  std::vector<held_generation> known;
  for (const host_memory& memory : all)
    for (int slot = 0; slot < 2; ++slot)
      if (const slot_memory& each = memory.slots[slot]; each.generation != 0)
        known.push_back({each.generation, each.token, slot, false, std::vector<bool>(each.parts)});
  std::vector<std::vector<held_generation>> of_hosts;
  for (const host_memory& memory : all) {
    auto& of_host = of_hosts.emplace_back();
    for (held_generation each : known) {
      const slot_memory& slot = memory.slots[each.slot];
      each.counts = slot.token == each.token;
      for (std::size_t part = 0; part < each.has.size(); ++part)
        each.has[part] = slot.files[part].token == each.token && slot.files[part].is_complete;
      of_host.push_back(each);
    }
  }
  const auto chosen = choose_copies(of_hosts);
  if (!chosen) return {};
  const std::vector<int> readers = choose_readers(*chosen, static_cast<int>(all.size()));
  EXPECT_EQ(readers.size(), chosen->hosts_of_part.size());
  for (std::size_t part = 0; part < readers.size(); ++part) {
    const slot_memory& slot = all[static_cast<std::size_t>(readers[part])].slots[chosen->slot];
    EXPECT_TRUE(slot.files[part].token == chosen->token && slot.files[part].is_complete);
  }
  return chosen;
}

memories without(const memories& all, int host, bool same_number) {
  memories left = all;
  if (same_number)
    left[static_cast<std::size_t>(host)] = {};
  else
    left.erase(left.begin() + host);
  return left;
}

struct counts {
  int restarts = 0, lost = 0;
};

// The job goes on from `found`, and makes two copies of it again. `first_loss`: the host that may be lost once more.
void check_second_loss(const memories& all, const chosen_copies& found, std::optional<int> first_loss, counts& seen) {
  memory_slots slots;
  slots.goes_on_from({found.generation, found.slot});
  const memory_slots::place place = slots.begin();
  ASSERT_NE(place.slot, found.slot);
  ASSERT_GT(place.generation, found.generation);
  constexpr std::uint64_t token = 1000;
  for_each_point(static_cast<int>(all.size()), [&](const point& now) {
    const memories then = at_point(all, place, token, now);
    // Only processes are lost: all memory is there.
    const auto none_lost = choose(then);
    ASSERT_TRUE(none_lost && none_lost->generation >= found.generation);
    for (int host = 0; host < static_cast<int>(all.size()) && all.size() > 1; ++host) {
      const auto chosen = choose(without(then, host, true));
      ++seen.restarts;
      if (!chosen) ++seen.lost;
      if (chosen) {
        ASSERT_TRUE(chosen->token == found.token || chosen->token == token);
      }
      if (host == first_loss || now.is_complete()) {
        ASSERT_TRUE(chosen);
      }
      if (now.is_complete()) {
        ASSERT_EQ(chosen->token, token);
      }
    }
  });
}

void check_all_losses(int hosts, counts& seen) {
  memories all(static_cast<std::size_t>(hosts));
  memory_slots slots;
  std::uint64_t complete = 0;
  for (std::uint64_t number = 1; number <= 3; ++number) {
    const memory_slots::place place = slots.begin();
    ASSERT_EQ(place.generation, number);
    for_each_point(hosts, [&](const point& now) {
      const memories then = at_point(all, place, number, now);
      for (int host = 0; host < hosts; ++host)
        for (const bool same_number : {true, false}) {
          if (hosts == 1) continue;
          const memories left = without(then, host, same_number);
          const auto chosen = choose(left);
          ++seen.restarts;
          ASSERT_EQ(chosen.has_value(), complete != 0 || (chosen && now.phase == point::counting));
          if (!chosen) continue;
          ASSERT_GE(chosen->generation, complete);
          ASSERT_TRUE(chosen->generation == complete || now.phase == point::counting);
          if (now.is_complete()) {
            ASSERT_EQ(chosen->generation, number);
          }
          check_second_loss(left, *chosen, same_number ? std::optional(host) : std::nullopt, seen);
        }
      if (complete != 0) {
        ASSERT_TRUE(choose(then));
      }
    });
    // One that fails is written over by the next, not the complete one before.
    if (number == 2) {
      memory_slots copy = slots;
      ASSERT_EQ(copy.begin().slot, place.slot);
    }
    point last{point::counting, std::vector<int>(static_cast<std::size_t>(hosts), 2)};
    all = at_point(all, place, number, last);
    slots.completed(place);
    complete = number;
    ASSERT_EQ(choose(all)->generation, number);
  }
}

TEST(memory_copies, no_loss_of_a_host_loses_a_complete_generation) {
  for (int hosts = 1; hosts <= 3; ++hosts) {
    SCOPED_TRACE(hosts);
    counts seen;
    check_all_losses(hosts, seen);
    if (hosts > 1) {
      EXPECT_GT(seen.restarts, 1000);
    }
    // The tests can see a loss: two hosts that had both copies of a part.
    if (hosts == 3) {
      EXPECT_GT(seen.lost, 0);
    }
  }
}

// The same number from two lives of a job, of which one began again.
TEST(memory_copies, generations_of_two_lives_do_not_mix) {
  const held_generation own{1, 17, 0, true, {true, false}};
  const held_generation other{1, 18, 0, true, {false, true}};
  EXPECT_FALSE(choose_copies({{own}, {other}}));
  const held_generation rest{1, 17, 0, false, {false, true}};
  const auto chosen = choose_copies({{own}, {other, rest}});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->token, 17u);
  EXPECT_EQ(choose_readers(*chosen, 2), (std::vector<int>{0, 1}));
}

TEST(memory_copies, readers_share_the_parts) {
  chosen_copies chosen;
  chosen.hosts_of_part = {{0, 1}, {0, 1}, {1, 0}, {0, 1}};
  const std::vector<int> readers = choose_readers(chosen, 2);
  EXPECT_EQ(std::count(readers.begin(), readers.end(), 0), 2);
}

}  // namespace
}  // namespace tri::checkpoint_files
