// Several operations of a rank are under way at a time, and go on in any order: all interleavings of two ranks that
// call barriers. One may begin so many before it waits for the first ones, the other one waits for each. No operation
// overtakes another one in its place, and none hangs.
#include "coll/entry_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/plan_run.hpp"
#include "explore/explorer.hpp"
#include "explore/in_place.hpp"

namespace tri::coll {
namespace {

constexpr std::uint64_t operations = 4;

// A barrier moves no bytes: only records are allocated.
class driver_of_barriers final : public plan_driver {
 public:
  explicit driver_of_barriers(const std::vector<plan>& plans, std::size_t rank) : plans_(plans), rank_(rank) {}
  void* allocate_record(std::size_t bytes) override { return ::operator new(bytes, std::align_val_t{64}); }
  void release_record(void* memory) override { ::operator delete(memory, std::align_val_t{64}); }
  bool open(buffers& own) override {
    const std::size_t steps = plans_[rank_].steps.size();
    own.steps = new std::atomic<step_state>[steps + 1]();
    own.step_count = static_cast<std::uint32_t>(steps);
    return true;
  }
  void close() override {}
  void release(const buffers& of_member) override { delete[] of_member.steps; }
  void copy(const std::byte*, std::byte*, std::uint64_t) override {}
  void reduce(step_kind, const std::byte*, std::byte*, std::uint64_t) override {}
  void begin_message(std::uint32_t, const step&, std::byte*) override { throw std::logic_error("there is one host"); }
  void decline_message(std::uint32_t, const step&) override { throw std::logic_error("there is one host"); }
  message_state test_message(std::uint32_t) override { throw std::logic_error("there is one host"); }
  const plan* plan_of(std::int32_t rank) override { return &plans_[static_cast<std::size_t>(rank)]; }
  void wake_others() override {}

 private:
  const std::vector<plan>& plans_;
  const std::size_t rank_;
};

class world {
 public:
  world(std::uint64_t places, std::size_t at_a_time)
      : places_(places), at_a_time_(at_a_time), memory_(operation_table::size_for(places) / sizeof(line) + 1) {
    request asked;
    asked.what = collective::barrier;
    asked.hosts = shape::uniform(1, 2);
    asked.blocks = block_layout::uniform(0);
    asked.check();
    plans_ = generate_all(algorithm_of(asked, "multi_object"), asked);
    table_ = operation_table::create(memory_.data(), places);
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) ranks_.push_back(std::make_unique<process>(plans_, rank));
  }
  world(const world& other) : world(other.places_, other.at_a_time_) {}
  world& operator=(const world&) = delete;

  // Of each rank: the next operation begins, or one of those under way takes a step.
  int steps() {
    enabled_.clear();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      process& of = *ranks_[rank];
      const auto under_way = std::ranges::count_if(of.runs, [](const auto& each) { return !each->is_over(); });
      if (of.runs.size() < operations && static_cast<std::size_t>(under_way) < (rank == 0 ? at_a_time_ : 1))
        enabled_.push_back({rank, of.runs.size()});
      for (std::size_t i = 0; i < of.runs.size(); ++i)
        if (!of.runs[i]->is_over() && of.may_work[i]) enabled_.push_back({rank, i});
    }
    return static_cast<int>(enabled_.size());
  }
  void take(int chosen) {
    const auto [rank, i] = enabled_[static_cast<std::size_t>(chosen)];
    process& of = *ranks_[rank];
    if (i == of.runs.size()) {
      of.runs.push_back(std::make_unique<plan_run>(plans_[rank], *table_, of.order, 0, 2, i, 1, of.driver));
      of.may_work.push_back(true);
    } else {
      of.may_work[i] = of.runs[i]->advance(false, 1);
      if (!of.may_work[i]) return;
    }
    for (const auto& each : ranks_) each->may_work.assign(each->runs.size(), true);  // something has changed
  }
  void check_end() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      for (std::size_t i = 0; i < operations; ++i)
        if (i == ranks_[rank]->runs.size() || !ranks_[rank]->runs[i]->is_over())
          throw std::logic_error("rank " + std::to_string(rank) + " hangs in operation " + std::to_string(i));
  }
  template <class Fingerprint>
  void encode(Fingerprint& into) {
    const auto put = [&](std::uint64_t word) { into.put(word); };
    for (const auto& each : ranks_) {
      put(each->runs.size());
      for (std::size_t i = 0; i < each->runs.size(); ++i) {
        put(each->may_work[i]);
        each->runs[i]->describe(put);
      }
    }
    for (std::uint64_t i = 0; i < operations; ++i) {
      const operation_table::found found = table_->find(i);
      put(std::uint64_t{found.record != nullptr} | std::uint64_t{found.is_busy} << 1);
      if (found.record != nullptr) found.record->describe(put);
    }
  }

 private:
  struct alignas(64) line {
    std::byte bytes[64];
  };
  struct process {
    process(const std::vector<plan>& plans, std::size_t rank) : driver(plans, rank) {}
    driver_of_barriers driver;
    entry_order order;
    std::vector<std::unique_ptr<plan_run>> runs;  // in the order in which they began
    std::vector<bool> may_work;                   // since something has changed
  };
  struct step_of_rank {
    std::size_t rank;
    std::size_t operation;
  };

  const std::uint64_t places_;
  const std::size_t at_a_time_;
  std::vector<line> memory_;
  std::vector<plan> plans_;
  operation_table* table_ = nullptr;
  std::vector<std::unique_ptr<process>> ranks_;
  std::vector<step_of_rank> enabled_;
};

TEST(entry_order, operations_of_one_place_follow_each_other_on_all_ranks) {
  for (const std::uint64_t places : {1, 2, 3})
    for (const std::size_t at_a_time : {1, 2, 4}) {
      const auto found = explore::explore_all_in_place(world(places, at_a_time), 4'000'000);
      EXPECT_EQ(found.failure(), "") << places << " places, " << at_a_time << " at a time";
      EXPECT_TRUE(found.complete) << found.states;
      EXPECT_GE(found.states, 100u);
    }
}

TEST(entry_order, others_do_not_wait) {
  std::vector<std::byte> memory(operation_table::size_for(2) + 64);
  std::vector<std::byte> other_memory(operation_table::size_for(2) + 64);
  const auto made_in = [](std::vector<std::byte>& in) {
    void* place = in.data();
    std::size_t room = in.size();
    return operation_table::create(std::align(64, operation_table::size_for(2), place, room), 2);
  };
  operation_table* const table = made_in(memory);
  operation_table* const other = made_in(other_memory);
  entry_order order;
  order.expect(*table, 0);
  order.expect(*table, 0);
  EXPECT_TRUE(order.may_enter(*table, 0));
  EXPECT_TRUE(order.may_enter(*table, 1)) << "it has another place";
  EXPECT_FALSE(order.may_enter(*table, 2));
  EXPECT_TRUE(order.may_enter(*other, 2)) << "it has another table";
  order.remove(*table, 0);
  EXPECT_TRUE(order.may_enter(*table, 2));
}

}  // namespace
}  // namespace tri::coll
