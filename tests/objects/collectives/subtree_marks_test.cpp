// Marks of hosts that rise by chance, whose reports are late by chance: what every host believes of all is never more
// than the lowest mark of any, comes up to it in the end, and costs each host messages with its neighbours only.
#include "objects/collectives/subtree_marks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "sched/remote/host_tree.hpp"

namespace tri::objects {
namespace {

class world {
 public:
  world(int hosts, int root, int rotation, int width) : tree_(hosts, root, rotation, width), root_(root) {
    for (int host = 0; host < hosts; ++host) marks_.emplace_back(static_cast<std::size_t>(tree_.children(host)));
    own_.resize(marks_.size(), 0), of_all_.resize(marks_.size(), 0), messages_.resize(marks_.size(), 0);
  }
  void rise(int host, std::uint64_t by) {
    marks_[at(host)].rose_here(own_[at(host)] += by);
    report(host);
  }
  /// From one neighbour to another, the oldest one; false: there is none.
  bool arrive(std::mt19937_64& random) {
    std::erase_if(under_way_, [](const auto& each) { return each.second.empty(); });
    if (under_way_.empty()) return false;
    auto chosen = under_way_.begin();
    std::advance(chosen, random() % under_way_.size());
    const auto [from, to] = chosen->first;
    const std::uint64_t mark = chosen->second.front();
    chosen->second.pop_front();
    ++messages_[at(to)];
    if (to != root_ && tree_.parent(to) == from) {
      rose_everywhere(to, mark);
    } else {
      int place = 0, found = -1;
      tree_.for_each_child(to, [&](int child) { (child == from ? found = place : found), ++place; });
      marks_[at(to)].reported_by(static_cast<std::size_t>(found), mark);
      report(to);
    }
    return true;
  }
  void check() const {
    const std::uint64_t lowest = *std::ranges::min_element(own_);
    for (const std::uint64_t believed : of_all_) ASSERT_LE(believed, lowest);
  }
  std::uint64_t lowest() const { return *std::ranges::min_element(own_); }
  const std::vector<std::uint64_t>& of_all() const { return of_all_; }
  const std::vector<std::uint64_t>& messages() const { return messages_; }

 private:
  static std::size_t at(int host) { return static_cast<std::size_t>(host); }
  void send(int from, int to, std::uint64_t mark) {
    ++messages_[at(from)];
    under_way_[{from, to}].push_back(mark);
  }
  void report(int host) {
    const auto mark = marks_[at(host)].take_report();
    if (!mark) return;
    if (host == root_)
      rose_everywhere(host, *mark);
    else
      send(host, tree_.parent(host), *mark);
  }
  void rose_everywhere(int host, std::uint64_t mark) {
    of_all_[at(host)] = std::max(of_all_[at(host)], mark);
    tree_.for_each_child(host, [&](int child) { send(host, child, mark); });
  }

  sched::host_tree tree_;
  int root_;
  std::vector<subtree_marks> marks_;
  std::vector<std::uint64_t> own_, of_all_, messages_;
  std::map<std::pair<int, int>, std::deque<std::uint64_t>> under_way_;
};

TEST(subtree_marks, never_too_high_and_right_in_the_end) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    std::mt19937_64 random(seed);
    const int hosts = 1 + static_cast<int>(random() % 30);
    const auto all = static_cast<std::uint64_t>(hosts);
    const int root = static_cast<int>(random() % all);
    world job(hosts, root, static_cast<int>(random() % static_cast<std::uint64_t>(sched::host_tree::rotations(hosts))),
              1 + static_cast<int>(random() % 4));
    for (int step = 0; step < 2000; ++step) {
      if (random() % 2 == 0)
        job.rise(static_cast<int>(random() % all), random() % 5);
      else
        job.arrive(random);
      ASSERT_NO_FATAL_FAILURE(job.check()) << seed;
    }
    while (job.arrive(random)) ASSERT_NO_FATAL_FAILURE(job.check()) << seed;
    for (const std::uint64_t believed : job.of_all())
      ASSERT_EQ(believed, job.lowest() / subtree_marks::step * subtree_marks::step) << seed;
  }
}

// One report up and one down each edge for `step` broadcasts, in whatever order the hosts have had them.
TEST(subtree_marks, each_host_has_to_do_with_its_neighbours_only) {
  constexpr int hosts = 64;
  constexpr std::uint64_t rounds = 20, neighbours = sched::host_tree::most_children + 1;
  std::mt19937_64 random(1);
  world job(hosts, 5, 3, sched::host_tree::most_children);
  std::vector<int> turns;
  for (std::uint64_t broadcast = 0; broadcast < rounds * subtree_marks::step; ++broadcast)
    for (int host = 0; host < hosts; ++host) turns.push_back(host);
  std::ranges::shuffle(turns, random);
  for (const int host : turns) {
    job.rise(host, 1);
    if (random() % 4 == 0) job.arrive(random);
  }
  while (job.arrive(random)) {
  }
  EXPECT_EQ(*std::ranges::min_element(job.of_all()), rounds * subtree_marks::step);
  EXPECT_LE(*std::ranges::max_element(job.messages()), rounds * 2 * neighbours);
}

}  // namespace
}  // namespace tri::objects
