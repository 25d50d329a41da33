// plan_run, all interleavings of the ranks of a few hosts, step by step: with the wake-ups that it gives and no others,
// with lost hosts, ranks without memory and ranks that do nothing after they have entered.
// No rank hangs, no buffer of a rank that has returned is touched, and a rank that has not failed has the result.
#include "coll/plan_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "coll/algorithms.hpp"
#include "explore/explorer.hpp"
#include "explore/in_place.hpp"

namespace tri::coll {
namespace {

struct scenario {
  request asked;
  std::string algorithm;
  int operations = 1;
  std::uint64_t places = 1;
  int lost_host = -1;       // may be lost at any time
  int without_memory = -1;  // a rank, in its first operation
  int asks_otherwise = -1;
  int computing = -1;  // a rank that calls nothing once it has entered
};

class world {
 public:
  explicit world(const scenario& what) : about_(what), awake_(ranks(), true) {
    const algorithm& by = algorithm_of(what.asked, what.algorithm);
    plans_ = generate_all(by, what.asked);
    for (int host = 0; host < what.asked.hosts.hosts(); ++host) {
      tables_.emplace_back(operation_table::size_for(what.places) / sizeof(line) + 1);
      shared_.push_back(operation_table::create(tables_.back().data(), what.places));
    }
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      memory_.emplace_back();
      processes_.push_back(std::make_unique<process>(*this, rank));
      start(rank);
    }
  }
  // Explorations copy a world once, before its first step.
  world(const world& other) : world(other.about_) {}
  world& operator=(const world&) = delete;

  // A step for each rank that is awake, and one for the loss of a host.
  int steps() {
    enabled_.clear();
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      if (is_alive(rank) && awake_[rank] && runs_[rank] != nullptr && !is_computing(rank))
        enabled_.push_back(static_cast<int>(rank));
    if (about_.lost_host >= 0 && !is_lost_) enabled_.push_back(-1);
    return static_cast<int>(enabled_.size());
  }
  void take(int chosen) {
    const int which = enabled_[static_cast<std::size_t>(chosen)];
    if (which < 0) {
      is_lost_ = true;
      awake_.assign(ranks(), true);
      return;
    }
    const auto rank = static_cast<std::size_t>(which);
    if (!runs_[rank]->advance(true, 1)) awake_[rank] = false;
    if (runs_[rank]->is_over()) finish(rank);
  }
  void check_end() {
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      if (is_alive(rank) && runs_[rank] != nullptr && !is_computing(rank))
        throw std::logic_error("rank " + std::to_string(rank) + " hangs in operation " + std::to_string(done_[rank]));
    if (about_.computing >= 0) end_alone(static_cast<std::size_t>(about_.computing));
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      if (is_alive(rank) && !memory_[rank].scratch.empty()) throw std::logic_error("scratch is left over");
    if (!is_lost_ && !records_.empty()) throw std::logic_error("a record is left over");
  }
  template <class Fingerprint>
  void encode(Fingerprint& into) {
    const auto put = [&](std::uint64_t word) { into.put(word); };
    put(is_lost_);
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      put(std::uint64_t{awake_[rank]} | done_[rank] << 1);
      if (runs_[rank] != nullptr) runs_[rank]->describe(put);
      const auto put_all = [&](const std::vector<unsigned char>& each) {
        into.put_bytes({reinterpret_cast<const char*>(each.data()), each.size()});
      };
      for (const auto& each : memory_[rank].of) put_all(each);
      for (const auto& [operation, each] : memory_[rank].scratch) put_all(each);
    }
    for (const record& each : records_) {
      put(each.operation << 8 | static_cast<std::uint64_t>(each.host));
      reinterpret_cast<const operation_record*>(each.memory)->describe(put);
    }
    for (const auto& [which, each] : messages_) {
      put(std::get<0>(which) << 40 | std::get<1>(which) << 20 | std::get<2>(which) << 8 | std::get<3>(which));
      put(std::uint64_t{each.is_sent} | std::uint64_t{each.declined} << 1 | std::uint64_t{each.is_taken} << 2);
    }
  }

  std::uint64_t failures() const { return failures_; }

 private:
  struct alignas(64) line {
    std::byte bytes[64];
  };
  struct record {
    std::unique_ptr<std::byte[]> owner;
    void* memory = nullptr;
    int host = 0;
    std::uint64_t operation = 0;
  };
  struct memory {
    std::vector<unsigned char> of[2];                             // input, output
    std::map<std::uint64_t, std::vector<unsigned char>> scratch;  // by operation
    bool is_ours = false;  // of the operation that is under way, not of the program
  };
  using name = std::tuple<std::size_t, std::size_t, std::uint64_t, std::uint64_t>;  // from, to, operation | round, slot
  struct message {
    bool is_sent = false;
    bool declined = false;
    bool is_taken = false;
    std::vector<unsigned char> bytes;
  };

  class process final : public plan_driver {
   public:
    process(world& all, std::size_t rank) : all_(all), rank_(rank) {}
    void* allocate_record(std::size_t bytes) override {
      auto owner = std::make_unique<std::byte[]>(bytes + 64);
      const auto address = reinterpret_cast<std::uintptr_t>(owner.get());
      void* const memory = owner.get() + (64 - address % 64) % 64;
      all_.records_.push_back({std::move(owner), memory, all_.host_of(rank_), all_.done_[rank_]});
      return memory;
    }
    void release_record(void* memory) override {
      std::erase_if(all_.records_, [&](const record& each) { return each.memory == memory; });
    }
    const plan* plan_of(std::int32_t rank) override { return &all_.plans_[static_cast<std::size_t>(rank)]; }
    bool open(buffers& own) override {
      if (static_cast<int>(rank_) == all_.about_.without_memory && all_.done_[rank_] == 0) return false;
      memory& mine = all_.memory_[rank_];
      auto& scratch = mine.scratch[all_.done_[rank_]];
      const std::size_t steps = all_.plans_[rank_].steps.size();
      scratch.assign(all_.plans_[rank_].scratch_bytes + steps + 1, 0);
      mine.is_ours = true;
      own = {at(mine.of[0]), at(mine.of[1]), at(scratch)};
      own.steps = reinterpret_cast<std::atomic<step_state>*>(own.scratch + all_.plans_[rank_].scratch_bytes);
      own.step_count = static_cast<std::uint32_t>(steps);
      std::uninitialized_value_construct_n(own.steps, steps);
      return true;
    }
    void close() override { all_.memory_[rank_].is_ours = false; }
    void release(const buffers& of_member) override {
      for (memory& each : all_.memory_)
        std::erase_if(each.scratch, [&](auto& one) {
          return reinterpret_cast<const std::byte*>(one.second.data()) == of_member.scratch;
        });
    }
    void copy(const std::byte* from, std::byte* to, std::uint64_t bytes) override {
      all_.check_use(from);
      all_.check_use(to);
      std::memmove(to, from, bytes);
    }
    void reduce(step_kind, const std::byte* from, std::byte* to, std::uint64_t bytes) override {
      all_.check_use(from);
      all_.check_use(to);
      for (std::uint64_t i = 0; i < bytes; ++i)
        to[i] = static_cast<std::byte>(std::to_integer<unsigned>(to[i]) + std::to_integer<unsigned>(from[i]));
    }
    void begin_message(std::uint32_t index, const step& one, std::byte* at) override { begin(index, one, at, false); }
    void decline_message(std::uint32_t index, const step& one) override { begin(index, one, nullptr, true); }
    message_state test_message(std::uint32_t index) override {
      const auto& [one, at] = begun_.at(index);
      message& found = all_.messages_[name_of(one)];
      const bool peer_is_lost = !all_.is_alive(static_cast<std::size_t>(one.peer));
      if (one.kind == step_kind::send)  // a rendezvous: it ends with its receive
        return found.is_taken ? message_state::complete : peer_is_lost ? message_state::lost : message_state::under_way;
      if (!found.is_sent) return peer_is_lost ? message_state::lost : message_state::under_way;
      found.is_taken = true;
      all_.awake_[static_cast<std::size_t>(one.peer)] = true;
      if (found.declined) return message_state::lost;
      if (at != nullptr) {
        all_.check_use(at);
        std::memcpy(at, found.bytes.data(), found.bytes.size());
      }
      return message_state::complete;
    }
    void wake_others() override {
      for (std::size_t other = 0; other < all_.ranks(); ++other)
        if (other != rank_ && all_.host_of(other) == all_.host_of(rank_)) all_.awake_[other] = true;
    }
    void start_operation() { begun_.clear(); }

   private:
    void begin(std::uint32_t index, const step& one, std::byte* at, bool declined) {
      begun_[index] = {one, at};
      if (one.kind != step_kind::send) return;
      message& sent = all_.messages_[name_of(one)];
      sent.is_sent = true;
      sent.declined = declined;
      if (at != nullptr)
        sent.bytes.assign(reinterpret_cast<unsigned char*>(at), reinterpret_cast<unsigned char*>(at) + one.bytes);
      all_.awake_[static_cast<std::size_t>(one.peer)] = true;
    }
    static std::byte* at(std::vector<unsigned char>& of) { return reinterpret_cast<std::byte*>(of.data()); }
    name name_of(const step& one) const {
      const auto peer = static_cast<std::size_t>(one.peer);
      const std::uint64_t round = all_.done_[rank_] << 6 | one.round;
      return one.kind == step_kind::send ? name{rank_, peer, round, one.slot} : name{peer, rank_, round, one.slot};
    }
    world& all_;
    std::size_t rank_;
    std::map<std::uint32_t, std::pair<step, std::byte*>> begun_;
  };

  std::size_t ranks() const { return static_cast<std::size_t>(about_.asked.hosts.ranks()); }
  int host_of(std::size_t rank) const { return about_.asked.hosts.host_of(static_cast<int>(rank)); }
  bool is_computing(std::size_t rank) const {
    return static_cast<int>(rank) == about_.computing && runs_[rank] != nullptr && runs_[rank]->has_entered();
  }
  bool is_alive(std::size_t rank) const { return !is_lost_ || host_of(rank) != about_.lost_host; }
  // What a rank puts in.
  static unsigned char value(std::size_t rank, std::uint64_t operation) {
    return static_cast<unsigned char>(1U << rank | operation << 6);
  }

  void start(std::size_t rank) {
    if (runs_.size() < ranks()) runs_.resize(ranks());
    if (orders_.size() < ranks()) orders_.resize(ranks());
    if (done_.size() < ranks()) done_.resize(ranks());
    memory& mine = memory_[rank];
    const int number = static_cast<int>(rank);
    mine.of[0].assign(about_.asked.input_bytes(number) + 1, value(rank, done_[rank]));
    mine.of[1].assign(about_.asked.output_bytes(number) + 1, 0);
    const int host = host_of(rank);
    processes_[rank]->start_operation();
    runs_[rank] = std::make_unique<plan_run>(plans_[rank], *shared_[static_cast<std::size_t>(host)], orders_[rank],
                                             about_.asked.hosts.first_rank(host),
                                             static_cast<std::uint32_t>(about_.asked.hosts.ranks_of(host)), done_[rank],
                                             number == about_.asks_otherwise ? 2 : 1, *processes_[rank]);
  }
  void finish(std::size_t rank) {
    const bool failed = runs_[rank]->has_failed();
    memory_[rank].is_ours = false;
    if (!failed && about_.asks_otherwise >= 0) throw std::logic_error("an operation of different arguments ends well");
    if (failed)
      ++failures_;
    else
      check_output(rank);
    runs_[rank] = nullptr;
    ++done_[rank];
    if (done_[rank] < static_cast<std::uint64_t>(about_.operations)) start(rank);
  }
  // All others have returned.
  void end_alone(std::size_t rank) {
    while (runs_[rank]->advance(false)) {
    }
    if (!runs_[rank]->is_over()) throw std::logic_error("the rank that computed hangs");
    finish(rank);
  }
  void check_output(std::size_t rank) const {
    const std::uint64_t bytes = about_.asked.output_bytes(static_cast<int>(rank));
    unsigned sum = 0;
    for (std::size_t other = 0; other < ranks(); ++other) sum += value(other, done_[rank]);
    if (about_.asked.what == collective::broadcast)
      sum = value(static_cast<std::size_t>(about_.asked.root), done_[rank]);
    for (std::uint64_t i = 0; i < bytes; ++i)
      if (memory_[rank].of[1][i] != static_cast<unsigned char>(sum))
        throw std::logic_error("rank " + std::to_string(rank) + " has a wrong result");
  }
  // Whose memory it is, and that the rank is inside the operation.
  void check_use(const std::byte* place) const {
    const auto* const at = reinterpret_cast<const unsigned char*>(place);
    for (const memory& each : memory_)
      for (int i = 0; i < 2; ++i)
        if (!each.of[i].empty() && at >= each.of[i].data() && at < each.of[i].data() + each.of[i].size() &&
            !each.is_ours)
          throw std::logic_error("a buffer is used after its rank has returned");
  }

  scenario about_;
  std::vector<plan> plans_;
  std::vector<std::vector<line>> tables_;
  std::vector<operation_table*> shared_;
  std::vector<record> records_;
  std::vector<memory> memory_;
  std::vector<std::unique_ptr<process>> processes_;
  std::vector<entry_order> orders_;
  std::vector<std::unique_ptr<plan_run>> runs_;
  std::vector<std::uint64_t> done_;
  std::vector<bool> awake_;
  std::map<name, message> messages_;
  std::vector<int> enabled_;
  std::uint64_t failures_ = 0;
  bool is_lost_ = false;
};

request vector_of(collective what, int hosts, int ranks, std::uint64_t bytes) {
  request asked;
  asked.what = what;
  asked.hosts = shape::uniform(hosts, ranks);
  asked.blocks = block_layout::uniform(bytes);
  asked.check();
  return asked;
}

void expect_no_fault(const scenario& what, std::uint64_t least_states) {
  const auto found = explore::explore_all_in_place(world(what), 4'000'000);
  EXPECT_EQ(found.failure(), "");
  EXPECT_TRUE(found.complete) << found.states;
  EXPECT_GE(found.states, least_states);
  testing::Test::RecordProperty("states", static_cast<int>(found.states));
}

TEST(plan_run, ranks_of_one_host_reduce_a_part_each) {
  expect_no_fault({vector_of(collective::allreduce, 1, 3, 3), "multi_object_ring"}, 100);
}
TEST(plan_run, a_place_is_used_again_and_again) {
  expect_no_fault({vector_of(collective::allreduce, 1, 2, 2), "multi_object_ring", 3, 1}, 100);
}
TEST(plan_run, operations_overlap_in_two_places) {
  expect_no_fault({vector_of(collective::broadcast, 1, 2, 1), "multi_object_staged", 4, 2}, 50);
}
TEST(plan_run, a_rank_without_memory_fails_all_and_the_next_operation_succeeds) {
  scenario what{vector_of(collective::allreduce, 1, 3, 3), "multi_object_ring", 2, 1};
  what.without_memory = 1;
  expect_no_fault(what, 200);
}
TEST(plan_run, a_rank_without_memory_fails_other_hosts_too) {
  scenario what{vector_of(collective::allreduce, 2, 2, 2), "multi_object_bruck"};
  what.without_memory = 3;
  expect_no_fault(what, 1000);
}
TEST(plan_run, a_rank_with_other_arguments_fails_all) {
  for (const int which : {0, 1}) {
    scenario what{vector_of(collective::allreduce, 1, 3, 3), "multi_object_ring"};
    what.asks_otherwise = which;
    expect_no_fault(what, 50);
  }
}
TEST(plan_run, a_rank_that_computes_keeps_none_waiting) {
  for (const auto& [kind, algorithm] : {std::pair{collective::allreduce, "multi_object_ring"},
                                        {collective::allreduce, "multi_object_tree"},
                                        {collective::broadcast, "multi_object"}})
    for (const int computing : {0, 2}) {
      scenario what{vector_of(kind, 1, 3, 3), algorithm};
      what.computing = computing;
      expect_no_fault(what, 20);
    }
}
TEST(plan_run, messages_between_hosts_arrive) {
  expect_no_fault({vector_of(collective::allreduce, 2, 2, 2), "multi_object_bruck"}, 1000);
  expect_no_fault({vector_of(collective::broadcast, 3, 1, 1), "multi_object", 2, 1}, 50);
  expect_no_fault({vector_of(collective::allreduce, 2, 2, 1), "multi_object_gathered"}, 1000);
}
TEST(plan_run, messages_without_bytes_arrive) {
  expect_no_fault({vector_of(collective::barrier, 2, 2, 0), "multi_object"}, 100);
  expect_no_fault({vector_of(collective::barrier, 3, 1, 0), "multi_object", 2, 1}, 50);
}
TEST(plan_run, a_lost_host_leaves_no_rank_waiting) {
  for (const int lost : {0, 1, 2}) {
    scenario what{vector_of(collective::allreduce, 3, 1, 1), "multi_object_bruck"};
    what.lost_host = lost;
    expect_no_fault(what, 100);
  }
  for (const auto& [kind, algorithm] :
       {std::pair{collective::broadcast, "multi_object"}, {collective::allreduce, "multi_object_bruck"}})
    for (const int lost : {0, 1}) {
      scenario what{vector_of(kind, 2, 2, 1), algorithm};
      what.lost_host = lost;
      expect_no_fault(what, 100);
    }
}

}  // namespace
}  // namespace tri::coll
