// Threads as PEs: random tasks from concurrent posters, nested tasks, helpers that enter late. More threads than cores,
// so PEs are taken off their core anywhere. Effects of every chunk are plain writes that the poster reads after
// finish(): the thread sanitizer checks the pairing of slot.open, slot.enter, slot.report, slot.leave and slot.done.
#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <thread>

#include "board_memory.hpp"

namespace tri::board {
namespace {

struct nested_plan {
  std::vector<board_pe>* pes;
  std::vector<std::uint32_t>* counts;  // a plain counter per item
  operation_id inner;
  std::uint64_t inner_items;
};

void count_items(const task_view& task, std::uint64_t first, std::uint64_t last, int) noexcept {
  auto* counts = reinterpret_cast<std::uint32_t*>(task.arguments[0]);
  const auto weight = static_cast<std::uint32_t>(task.arguments[1]);
  for (std::uint64_t item = first; item < last; ++item) counts[item] += weight;
  if ((first & 15) == 3) std::this_thread::yield();
}

// Each item of the outer task is a task of its own, posted by the PE that runs it.
void post_inner(const task_view& task, std::uint64_t first, std::uint64_t last, int pe) noexcept {
  const auto& plan = *reinterpret_cast<const nested_plan*>(task.arguments[0]);
  for (std::uint64_t item = first; item < last; ++item) {
    task_spec inner;
    inner.operation = plan.inner;
    inner.arguments[0] = reinterpret_cast<std::uint64_t>(plan.counts->data() + item * plan.inner_items);
    inner.arguments[1] = 1;
    inner.total = plan.inner_items;
    inner.chunk = 2;
    inner.participants = static_cast<std::uint32_t>(plan.pes->size());
    inner.static_fraction = 0.5;
    board_pe& me = (*plan.pes)[static_cast<std::size_t>(pe)];
    me.run(inner, [&] {
      if (me.help([] { return false; }) == 0) std::this_thread::yield();
    });
  }
}

void run_pes(std::uint32_t pe_count, std::uint32_t rounds, std::uint64_t seed, bool nested) {
  operation_table operations;
  const operation_id count = operations.chunks.add("count", count_items);
  const operation_id post = operations.chunks.add("post", post_inner);
  test_host host(std::vector<std::uint32_t>(pe_count, 0), operations);
  std::atomic<std::uint32_t> posting{pe_count};
  std::atomic<std::uint64_t> wrong{0};
  const auto one_pe = [&](std::uint32_t number) {
    board_pe& pe = host.pes[number];
    std::mt19937_64 random(seed * 1000 + number);
    const auto help_or_yield = [&] {
      if (pe.help([&] { return random() % 8 != 0; }) == 0) std::this_thread::yield();
    };
    for (std::uint32_t round = 0; round < rounds; ++round) {
      constexpr std::uint64_t inner_items = 13;
      const std::uint64_t items = nested && round % 4 == 0 ? 6 * inner_items : random() % 200;
      std::vector<std::uint32_t> counts(items, 0);
      nested_plan plan{&host.pes, &counts, count, inner_items};
      task_spec spec;
      const bool outer = nested && round % 4 == 0;
      spec.operation = outer ? post : count;
      spec.arguments[0] =
          outer ? reinterpret_cast<std::uint64_t>(&plan) : reinterpret_cast<std::uint64_t>(counts.data());
      spec.arguments[1] = 1;
      spec.total = outer ? 6 : items;
      spec.chunk = 1 + random() % 4;
      spec.first_participant = static_cast<std::uint32_t>(random() % pe_count);
      spec.participants = 1 + static_cast<std::uint32_t>(random() % (pe_count - spec.first_participant));
      spec.static_fraction = static_cast<double>(random() % 5) / 4.0;
      spec.owner.step = 1 + static_cast<std::uint32_t>(random() % 3);
      spec.thief.step = 1 + static_cast<std::uint32_t>(random() % 3);
      if (random() % 2 == 0) spec.owner.shift = static_cast<std::uint8_t>(random() % 4);
      if (random() % 2 == 0) spec.thief.shift = static_cast<std::uint8_t>(random() % 4);
      spec.least = static_cast<std::uint32_t>(random() % 4);
      spec.order = random() % 2 == 0 ? steal_order::nearest : steal_order::neighbours;
      spec.process = random() % 2 == 0 ? any_process : 0;
      std::vector<participant_range> ranges;
      if (random() % 2 == 0) {  // any lengths, and what is left over to the pool
        const auto chunks = static_cast<std::uint32_t>(chunk_count(spec.total, spec.chunk));
        std::uint32_t first = 0;
        for (std::uint32_t index = 0; index < spec.participants; ++index) {
          const auto length = static_cast<std::uint32_t>(random() % (chunks - first + 1));
          ranges.push_back({first, first + length, static_cast<std::uint32_t>(random() % (length + 1)),
                            static_cast<std::uint32_t>(random() % (length + 1))});
          first += length;
        }
        spec.ranges = ranges;
        spec.pool = {first, chunks};
        spec.pool_step = 1 + static_cast<std::uint32_t>(random() % 3);
      }
      pe.run(spec, help_or_yield);
      for (const std::uint32_t runs : counts) {
        if (runs != 1) wrong.fetch_add(1);
      }
    }
    posting.fetch_sub(1);
    while (posting.load() > 0) help_or_yield();
  };
  std::vector<std::thread> threads;
  for (std::uint32_t pe = 0; pe < pe_count; ++pe) threads.emplace_back(one_pe, pe);
  while (posting.load() > 0) {
    EXPECT_TRUE(host.view.is_valid());
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_TRUE(host.view.is_valid());
  for (board_pe& pe : host.pes) EXPECT_FALSE(pe.has_work());
}

constexpr std::uint32_t rounds = 10000;

TEST(board_stress, two_pes) { run_pes(2, rounds, 1, false); }
TEST(board_stress, five_pes_on_fewer_cores) { run_pes(5, rounds / 2, 2, false); }
TEST(board_stress, nested_tasks) { run_pes(4, rounds / 5, 3, true); }
TEST(board_stress, more_than_one_word_of_pes) { run_pes(20, rounds / 20, 4, false); }

// One poster, tiny tasks in quick succession, helpers that pause between looking and entering.
TEST(board_stress, quick_reuse_of_slots) {
  operation_table operations;
  const operation_id count = operations.chunks.add("count", count_items);
  test_host host({0, 0, 0}, operations);
  std::atomic<bool> stop{false};
  std::vector<std::thread> helpers;
  for (const std::size_t number : {1u, 2u}) {
    helpers.emplace_back([&, number] {
      while (!stop.load()) {
        if (host.pes[number].help() == 0) std::this_thread::yield();
      }
    });
  }
  for (std::uint32_t round = 0; round < rounds * 3; ++round) {
    std::array<std::uint32_t, 4> counts{};
    task_spec spec;
    spec.operation = count;
    spec.arguments = {reinterpret_cast<std::uint64_t>(counts.data()), round};
    spec.total = counts.size();
    spec.participants = 3;
    spec.static_fraction = round % 2;
    host.pes[0].run(spec, [] { std::this_thread::yield(); });
    ASSERT_THAT(counts, testing::Each(round));
  }
  stop = true;
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace
}  // namespace tri::board
