// Quiescence is never found while a message is under way or a handler runs, and is found in the end: all interleavings
// of programs of a few messages with the rounds of the count, on deep trees of hosts; what goes wrong with one round;
// and how many messages any one host has to do with.
#include "sched/remote/tree_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "explore/explorer.hpp"
#include "explore/listed_steps.hpp"
#include "sched/remote/host_tree.hpp"

namespace tri::sched {
namespace {

constexpr int root = 0;

/// A message of the program: to whom, and what its handler sends, by number.
struct planned {
  int to;
  std::vector<int> sends;
};
using plan = std::vector<planned>;  // the first is there from the beginning

enum class rule : std::uint8_t { two_rounds, one_round };

class world {
 public:
  world(int hosts, int width, plan program, rule rules = rule::two_rounds)
      : tree_(hosts, root, 0, width),
        rules_(rules),
        program_(std::move(program)),
        hosts_(static_cast<std::size_t>(hosts)) {
    send(root, 0);
  }

  int steps() const {
    return explore::count_listed([this](auto&& visit) { for_each_step(visit); });
  }
  void take(int wanted) {
    const auto [kind, first, second] = explore::listed<step>([this](auto&& visit) { for_each_step(visit); }, wanted);
    switch (kind) {
      case what::begin:
        rounds_ = {};
        return ask(root);
      case what::program:
        return handler_begins(first, second);
      case what::handler:
        return handler_goes_on(first);
      case what::question:
        return asked(first, second);
      case what::answer:
        return answered(first, second);
    }
  }
  void check_end() const {
    if (!is_found_) throw std::logic_error("quiescence is not found");
  }
  void encode(explore::fingerprint& state) const {
    const auto put_counts = [&](const message_counts& each) { state.put(each.sent), state.put(each.processed); };
    for (const host& each : hosts_) {
      put_counts(each.counts);
      state.put(each.running ? static_cast<std::uint64_t>(each.running->first * 100 + each.running->second) + 1 : 0);
      state.put(each.part ? each.part->is_missing_some() : 2U);
      if (each.part) put_counts(each.part->sum());
      state.put(each.missing);
    }
    constexpr std::uint64_t end = ~std::uint64_t{0};
    for (const auto& [pair, queue] : messages_)
      if (!queue.empty()) {
        state.put(static_cast<std::uint64_t>(pair.first * 100 + pair.second));
        for (const int each : queue) state.put(static_cast<std::uint64_t>(each));
        state.put(end);
      }
    for (const auto& pair : questions_) state.put(static_cast<std::uint64_t>(pair.first * 100 + pair.second));
    state.put(end);
    for (const auto& [pair, counts] : answers_) {
      state.put(static_cast<std::uint64_t>(pair.first * 100 + pair.second));
      put_counts(counts);
    }
    state.put(end);
    state.put(first_round_ended_), state.put(processed_before_), state.put(is_found_);
  }
  int rounds() const { return rounds_begun_; }
  /// Messages of the count that the host had to do with.
  int messages_at(int number) const { return hosts_[static_cast<std::size_t>(number)].messages; }

 private:
  enum class what : std::uint8_t { begin, program, handler, question, answer };
  struct host {
    message_counts counts;
    std::optional<std::pair<int, std::size_t>> running;  // a message, and how many of its sends are done
    std::optional<counts_of_subtree> part;
    std::uint64_t missing = 0;  // of it, for the fingerprint
    int messages = 0;
  };
  host& at(int number) { return hosts_[static_cast<std::size_t>(number)]; }

  struct step {
    what kind;
    int first, second;
  };
  template <class Visit>
  void for_each_step(Visit&& visit) const {
    if (is_found_) return;
    if (!hosts_[root].part) visit(step{what::begin, 0, 0});
    for (const auto& [pair, queue] : messages_)
      if (!queue.empty() && !hosts_[static_cast<std::size_t>(pair.second)].running)
        visit(step{what::program, pair.first, pair.second});
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (hosts_[i].running) visit(step{what::handler, static_cast<int>(i), 0});
    for (const auto& pair : questions_) visit(step{what::question, pair.first, pair.second});
    for (const auto& [pair, counts] : answers_) visit(step{what::answer, pair.first, pair.second});
  }

  void send(int from, int message) {
    ++at(from).counts.sent;
    messages_[{from, program_[static_cast<std::size_t>(message)].to}].push_back(message);
  }
  void handler_begins(int from, int to) {
    auto& queue = messages_[{from, to}];
    at(to).running = {queue.front(), 0};
    queue.pop_front();
  }
  void handler_goes_on(int number) {
    auto& [message, sent] = *at(number).running;
    const std::vector<int>& sends = program_[static_cast<std::size_t>(message)].sends;
    if (sent < sends.size()) return send(number, sends[sent++]);
    at(number).running.reset();
    ++at(number).counts.processed;
  }

  void ask(int number) {
    if (number == root) ++rounds_begun_;
    at(number).part.emplace(tree_.children(number));
    at(number).missing = static_cast<std::uint64_t>(tree_.children(number)) + 1;
    tree_.for_each_child(number, [&](int child) {
      questions_.push_back({number, child});
      ++at(number).messages;
    });
    add(number, at(number).counts);
  }
  void asked(int from, int to) {
    std::erase(questions_, std::pair{from, to});
    ++at(to).messages;
    EXPECT_EQ(tree_.parent(to), from);
    ask(to);
  }
  void answered(int from, int to) {
    const message_counts counts = answers_.extract({from, to}).mapped();
    ++at(to).messages;
    add(to, counts);
  }
  void add(int number, const message_counts& counts) {
    --at(number).missing;
    if (!at(number).part->add(counts)) return;
    const message_counts sums = at(number).part->sum();
    at(number).part.reset();
    if (number != root) {
      ++at(number).messages;
      answers_[{number, tree_.parent(number)}] = sums;
      return;
    }
    const std::optional<message_counts> result = rules_ == rule::one_round ? sums : rounds_.ended(sums);
    first_round_ended_ = result ? 0 : 1;
    processed_before_ = result ? 0 : sums.processed;
    if (!result) return ask(root);
    if (!result->all_processed()) return;
    is_found_ = true;
    for (const auto& [pair, queue] : messages_)
      if (!queue.empty()) throw std::logic_error("quiescence is found while a message is under way");
    for (const host& each : hosts_)
      if (each.running) throw std::logic_error("quiescence is found while a handler runs");
  }

  host_tree tree_;
  rule rules_;
  plan program_;
  std::vector<host> hosts_;
  std::map<std::pair<int, int>, std::deque<int>> messages_;
  std::vector<std::pair<int, int>> questions_;
  std::map<std::pair<int, int>, message_counts> answers_;
  rounds_of_counts rounds_;
  std::uint64_t first_round_ended_ = 0, processed_before_ = 0;  // what rounds_ knows, for the fingerprint
  int rounds_begun_ = 0;
  bool is_found_ = false;
};

void expect_right(const world& start) {
  const auto found = explore::explore_all(start, 3'000'000);
  EXPECT_EQ(found.failure(), "");
  EXPECT_TRUE(found.complete);
  EXPECT_GT(found.ends, 0U);
  testing::Test::RecordProperty("states", std::to_string(found.states));
}

TEST(tree_counts, a_chain_of_three_hosts) { expect_right(world(3, 1, {{1, {1}}, {2, {2}}, {0, {}}})); }
TEST(tree_counts, from_leaf_to_leaf) { expect_right(world(3, 2, {{1, {1}}, {2, {2}}, {1, {3}}, {2, {}}})); }
TEST(tree_counts, two_at_once) { expect_right(world(3, 1, {{2, {1, 2}}, {1, {}}, {0, {3}}, {2, {}}})); }
TEST(tree_counts, four_hosts) { expect_right(world(4, 2, {{3, {1}}, {2, {2}}, {3, {}}})); }

TEST(tree_counts, one_round_is_not_enough) {
  const world start(3, 1, {{1, {1}}, {2, {2}}, {1, {3}}, {2, {}}}, rule::one_round);
  EXPECT_NE(explore::explore_all(start, 3'000'000).failure().find("quiescence is found while"), std::string::npos);
}

TEST(tree_counts, larger_jobs_by_chance) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    std::mt19937_64 random(seed);
    const int hosts = 2 + static_cast<int>(random() % 9);
    plan program(1 + random() % 20);
    for (std::size_t i = 0; i < program.size(); ++i) {
      program[i].to = static_cast<int>(random() % static_cast<std::uint64_t>(hosts));
      if (i > 0) program[random() % i].sends.push_back(static_cast<int>(i));
    }
    world start(hosts, 1 + static_cast<int>(random() % 3), program);
    const auto found = explore::explore_random(start, seed, 1'000'000);
    ASSERT_EQ(found.failure(), "") << "seed " << seed;
    ASSERT_EQ(found.ends, 1U) << "seed " << seed;
  }
}

// 2 for each edge: with 64 hosts at most 10 at any one of them, and not 126 at the first.
TEST(tree_counts, each_host_has_to_do_with_its_neighbours_only) {
  for (const int hosts : {1, 2, 5, 64, 1000}) {
    world job(hosts, host_tree::most_children, {{hosts - 1, {}}});
    ASSERT_EQ(explore::explore_random(job, 1, 1'000'000).failure(), "");
    const int most = 2 * std::min(host_tree::most_children + 1, hosts - 1);
    for (int host = 0; host < hosts; ++host) ASSERT_LE(job.messages_at(host), job.rounds() * most) << host;
  }
}

}  // namespace
}  // namespace tri::sched
