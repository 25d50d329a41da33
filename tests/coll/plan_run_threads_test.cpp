// plan_run with a thread for each rank of a host: operations of all kinds follow each other without a pause, some fail.
// Ranks compute for a while after they have entered, so others do their steps. The thread sanitizer sees that the order
// which the records promise is enough for the bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/plan_run.hpp"

namespace tri::coll {
namespace {

using word = std::uint32_t;

class thread_driver final : public plan_driver {
 public:
  thread_driver(const std::vector<plan>& plans, int rank, std::byte* input, std::byte* output, bool has_memory)
      : plans_(plans), rank_(static_cast<std::size_t>(rank)), input_(input), output_(output), has_memory_(has_memory) {}

  void* allocate_record(std::size_t bytes) override { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
  void release_record(void* memory) override { std::free(memory); }
  bool open(buffers& own) override {
    if (!has_memory_) return false;
    own = {input_, output_, new std::byte[plans_[rank_].scratch_bytes + 1]};
    own.step_count = static_cast<std::uint32_t>(plans_[rank_].steps.size());
    own.steps = new std::atomic<step_state>[own.step_count + 1]();
    return true;
  }
  void close() override {}
  void release(const buffers& of_member) override {
    delete[] of_member.scratch;
    delete[] of_member.steps;
  }
  const plan* plan_of(std::int32_t rank) override {
    ++helped;
    return &plans_[static_cast<std::size_t>(rank)];
  }
  void copy(const std::byte* from, std::byte* to, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
  void reduce(step_kind, const std::byte* from, std::byte* to, std::uint64_t bytes) override {
    for (std::uint64_t i = 0; i < bytes; i += sizeof(word)) {
      word one, other;
      std::memcpy(&one, from + i, sizeof one);
      std::memcpy(&other, to + i, sizeof other);
      other += one;
      std::memcpy(to + i, &other, sizeof other);
    }
  }
  void begin_message(std::uint32_t, const step&, std::byte*) override { FAIL() << "there is one host"; }
  void decline_message(std::uint32_t, const step&) override { FAIL() << "there is one host"; }
  message_state test_message(std::uint32_t) override { return message_state::lost; }
  void wake_others() override {}

  int helped = 0;

 private:
  const std::vector<plan>& plans_;
  std::size_t rank_;
  std::byte* input_;
  std::byte* output_;
  bool has_memory_;
};

struct chosen {
  request asked;
  const algorithm* by = nullptr;
  std::vector<plan> plans;
  int computing = -1;  // a rank
  int failing = -1;    // a rank
};

std::vector<chosen> random_operations(int ranks, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<chosen> made;
  const std::array kinds = {collective::broadcast,      collective::allreduce, collective::reduce,
                            collective::reduce_scatter, collective::scan,      collective::exscan,
                            collective::allgather,      collective::barrier};
  while (static_cast<int>(made.size()) < count) {
    chosen one;
    one.asked.what = kinds[random() % kinds.size()];
    one.asked.hosts = shape::uniform(1, ranks);
    one.asked.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
    one.asked.extent = sizeof(word);
    one.asked.blocks = block_layout::uniform(random() % 8 == 0 ? 2000 : 1 + random() % 20);
    if (!has_root(one.asked.what)) one.asked.root = 0;
    const auto all = algorithms_for(one.asked);
    one.by = all[random() % all.size()];
    if (one.by->participants == participation::flat) continue;  // messages
    if (random() % 50 == 0) one.failing = static_cast<int>(random() % static_cast<unsigned>(ranks));
    if (random() % 8 == 0) one.computing = static_cast<int>(random() % static_cast<unsigned>(ranks));
    one.plans = generate_all(*one.by, one.asked);
    made.push_back(std::move(one));
  }
  return made;
}

word input_of(int rank, std::size_t operation, std::uint64_t i) {
  return static_cast<word>(operation * 1000 + static_cast<unsigned>(rank) * 17 + i);
}

// The i-th word of the output of a rank.
word expected(const request& asked, int rank, std::size_t operation, std::uint64_t i) {
  const int ranks = asked.hosts.ranks();
  const std::uint64_t block = asked.blocks.begin(1);
  const auto sum = [&](int first, int last, std::uint64_t at) {
    word total = 0;
    for (int each = first; each < last; ++each) total += input_of(each, operation, at);
    return total;
  };
  switch (asked.what) {
    case collective::broadcast:
      return input_of(asked.root, operation, i);
    case collective::allgather:
      return input_of(static_cast<int>(i / block), operation, i % block);
    case collective::reduce_scatter:
      return sum(0, ranks, static_cast<std::uint64_t>(rank) * block + i);
    case collective::scan:
      return sum(0, rank + 1, i);
    case collective::exscan:
      return sum(0, rank, i);
    default:
      return sum(0, ranks, i);
  }
}

void run_rank(int rank, operation_table& shared, const std::vector<chosen>& operations, std::atomic<int>& wrong,
              std::atomic<int>& helped) {
  entry_order order;
  for (std::size_t n = 0; n < operations.size(); ++n) {
    const chosen& one = operations[n];
    const plan& steps = one.plans[static_cast<std::size_t>(rank)];
    if (steps.counters > operation_record::counters_of_member) std::abort();
    std::vector<word> input(one.asked.input_bytes(rank) / sizeof(word));
    std::vector<word> output(one.asked.output_bytes(rank) / sizeof(word));
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = input_of(rank, n, i);
    thread_driver driver(one.plans, rank, reinterpret_cast<std::byte*>(input.data()),
                         reinterpret_cast<std::byte*>(output.data()), one.failing != rank);
    plan_run run(steps, shared, order, 0, static_cast<std::uint32_t>(one.asked.hosts.ranks()), n, 1, driver);
    while (!run.has_entered()) run.advance(false, 0);
    if (one.computing == rank) std::this_thread::sleep_for(std::chrono::microseconds(50));
    for (int idle = 0; !run.is_over();) {
      idle = run.advance(idle > 3) ? 0 : idle + 1;
      if (idle > 0) std::this_thread::yield();
    }
    helped += driver.helped;
    if (one.failing == rank && !run.has_failed()) ++wrong;
    if (one.failing < 0 && run.has_failed()) ++wrong;
    if (run.has_failed()) continue;
    for (std::size_t i = 0; i < output.size(); ++i)
      if (output[i] != expected(one.asked, rank, n, i)) ++wrong;
  }
}

class plan_run_threads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ranks, plan_run_threads, testing::Values(2, 3, 5),
                         [](const auto& which) { return std::to_string(which.param); });

TEST_P(plan_run_threads, operations_follow_each_other) {
  const int ranks = GetParam();
  const auto operations = random_operations(ranks, 3000, static_cast<unsigned>(ranks));
  const auto memory = std::unique_ptr<void, void (*)(void*)>(
      std::aligned_alloc(64, (operation_table::size_for() + 63) / 64 * 64), std::free);
  operation_table& shared = *operation_table::create(memory.get());
  std::atomic<int> wrong{0}, helped{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { run_rank(rank, shared, operations, wrong, helped); });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(helped.load(), 0) << "no rank did steps of another one";
}

}  // namespace
}  // namespace tri::coll
