// Every algorithm on many shapes, roots and counts, each proven by the checker. The default run takes, for each
// algorithm:
//
// - up to 9 hosts of up to 4 ranks: all roots, counts 0, 1, 5, 16, and both kinds of operation;
// - up to 64 hosts of 1, 2, 3, 4, 8, 16 ranks: all numbers of hosts up to 64 with 1 to 3 ranks, of larger hosts those
// beside
//   powers of the radix; three roots, counts in turn;
// - up to 9 hosts of up to 4 ranks in place;
// - random uneven tables of hosts, blocks of different sizes, roots and counts.
//
// TRIREME_COLL_SWEEP=all takes all numbers of hosts up to 64 and of ranks up to 16, and minutes; of algorithms in which
// a rank has a step for each other rank those of up to 256 ranks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "coll/checker.hpp"
#include "requests.hpp"

namespace tri::coll {
namespace {

bool takes_all() {
  const char* const wish = std::getenv("TRIREME_COLL_SWEEP");
  return wish != nullptr && std::string(wish) == "all";
}

class every_algorithm : public testing::TestWithParam<const algorithm*> {
 protected:
  void check(const request& asked) {
    asked.check();
    const algorithm& by = *GetParam();
    const std::vector<plan> plans = generate_all(by, asked);
    ASSERT_EQ(problem_of(asked, plans), "") << text_of(asked, by);
    const bool is_flat = by.participants == participation::flat;
    const auto rounds = static_cast<std::uint32_t>(most_rounds(is_flat ? asked.hosts.ranks() : asked.hosts.hosts()));
    for (const plan& each : plans)
      for (const step& one : each.steps) ASSERT_LT(one.round, rounds) << text_of(asked, by);
    ++checked_;
  }
  std::vector<bool> operations() const {
    if (!reduces(GetParam()->what)) return {true};
    if (GetParam()->commutative_only) return {true};
    return {false};  // what is right in order is right in any
  }
  int checked_ = 0;
};

TEST_P(every_algorithm, is_right_on_small_shapes_for_all_roots_and_counts) {
  for (int hosts = 1; hosts <= 9; ++hosts)
    for (int ranks = 1; ranks <= 4; ++ranks)
      for (const bool commutative : operations())
        for (const std::uint64_t count : {0, 1, 5, 16})
          for (int root = 0; root < (has_root(GetParam()->what) ? hosts * ranks : 1); ++root) {
            check(request_of(GetParam()->what, shape::uniform(hosts, ranks), count, root, commutative));
            if (HasFatalFailure()) return;
          }
  EXPECT_GE(checked_, 9 * 4 * 4);
}

TEST_P(every_algorithm, is_right_up_to_64_hosts_of_16_ranks) {
  const auto is_taken = [](int hosts, int ranks) {
    if (takes_all()) return true;
    if (ranks <= 2) return true;
    if (ranks == 3) return hosts % 3 == 1 || hosts > 60;
    if (ranks != 4 && ranks != 8 && ranks != 16) return false;
    for (int power = 1; power <= 64; power *= ranks + 1)
      for (int times = 1; times <= ranks; times += ranks - 1)
        if (hosts >= power * times - 1 && hosts <= power * times + 1) return true;
    return false;
  };
  constexpr std::uint64_t counts[] = {1, 7, 64, 3, 130};
  for (int ranks = 1; ranks <= 16; ++ranks)
    for (int hosts = 1; hosts <= 64; ++hosts) {
      if (!is_taken(hosts, ranks)) continue;
      // The checker's work grows with the square of the steps; these have one for each host or rank.
      const bool is_linear = GetParam()->name.ends_with("ring") || GetParam()->what == collective::alltoall ||
                             GetParam()->what == collective::reduce_scatter;
      const bool is_of_ranks =
          GetParam()->participants == participation::flat || GetParam()->what == collective::alltoall;
      if (is_linear && !takes_all() && hosts * ranks > 160) continue;
      if (is_linear && is_of_ranks && hosts * ranks > 256) continue;
      const int all = hosts * ranks;
      const int roots[] = {0, (hosts + 5 * ranks) % all, all - 1};
      for (const int root : roots) {
        if (!has_root(GetParam()->what) && root != roots[0]) break;
        check(request_of(GetParam()->what, shape::uniform(hosts, ranks),
                         counts[static_cast<std::size_t>(hosts + ranks) % 5], root, GetParam()->commutative_only));
        if (HasFatalFailure()) return;
      }
    }
}

TEST_P(every_algorithm, is_right_on_uneven_hosts_and_blocks) {
  std::mt19937 random(20261126);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  const bool takes_blocks = GetParam()->what == collective::scatter || GetParam()->what == collective::gather ||
                            GetParam()->what == collective::allgather || GetParam()->what == collective::reduce_scatter;
  const int times = takes_all() ? 5000 : 150;
  for (int i = 0; i < times; ++i) {
    std::vector<int> table(static_cast<std::size_t>(1 + below(i % 10 == 0 ? 40 : 9)));
    for (int& ranks : table) ranks = 1 + below(5);
    request asked = request_of(GetParam()->what, shape::of_table(table), static_cast<std::uint64_t>(below(40)));
    asked.root = below(asked.hosts.ranks());
    asked.extent = static_cast<std::uint32_t>(1 + below(8));
    asked.commutative = GetParam()->commutative_only || below(2) == 0;
    if (takes_blocks && i % 2 == 0) {
      std::vector<std::uint64_t> blocks(static_cast<std::size_t>(asked.hosts.ranks()));
      for (std::uint64_t& elements : blocks) elements = below(3) == 0 ? 0 : static_cast<std::uint64_t>(below(20));
      asked.blocks = block_layout::of_table(blocks);
    }
    check(asked);
    if (HasFatalFailure()) return;
  }
}

// Of so many bytes that messages, copies and reductions are in pieces.
TEST_P(every_algorithm, is_right_in_pieces) {
  for (const shape& hosts : {shape::uniform(1, 3), shape::uniform(3, 1), shape::uniform(4, 2), shape::uniform(3, 4),
                             shape::of_table(std::vector{2, 4, 3, 2, 3})})
    for (const std::uint64_t count : {30'001, 75'001, 3'000'000})
      for (const int root : {0, hosts.ranks() / 2, hosts.ranks() - 1}) {
        if (root > 0 && !has_root(GetParam()->what)) continue;
        check(request_of(GetParam()->what, hosts, count, root, GetParam()->commutative_only));
        if (HasFatalFailure()) return;
      }
}

TEST_P(every_algorithm, is_right_in_place_or_says_that_it_is_not) {
  std::string problem;
  for (int hosts = 1; hosts <= 9; ++hosts)
    for (int ranks = 1; ranks <= 4; ++ranks)
      for (const std::uint64_t count : {1, 5, 16})
        for (int root = 0; root < (has_root(GetParam()->what) ? hosts * ranks : 1); ++root) {
          request asked =
              request_of(GetParam()->what, shape::uniform(hosts, ranks), count, root, GetParam()->commutative_only);
          asked.in_place = true;
          ASSERT_EQ(GetParam()->suits(asked), !GetParam()->not_in_place);
          if (const std::string found = problem_of(asked, generate_all(*GetParam(), asked)); !found.empty())
            problem = found;
          ASSERT_TRUE(problem.empty() || GetParam()->not_in_place) << problem << "; " << text_of(asked, *GetParam());
        }
  EXPECT_EQ(problem.empty(), !GetParam()->not_in_place);
}

std::vector<const algorithm*> pointers() {
  std::vector<const algorithm*> all;
  for (const algorithm& each : all_algorithms()) all.push_back(&each);
  return all;
}

INSTANTIATE_TEST_SUITE_P(coll, every_algorithm, testing::ValuesIn(pointers()), [](const auto& of) {
  return std::string(name_of(of.param->what)) + "_" + std::string(of.param->name);
});

TEST(generate, a_plan_is_made_of_what_all_ranks_know) {  // the same twice, and of ranks alone as of all
  for (const algorithm& by : all_algorithms()) {
    const request asked = request_of(by.what, shape::uniform(5, 3), 9, 4);
    const std::vector<plan> all = generate_all(by, asked);
    const plan alone = generate(by, asked, 7);
    ASSERT_EQ(alone.steps.size(), all[7].steps.size());
    ASSERT_EQ(alone.dependencies, all[7].dependencies);
    ASSERT_EQ(alone.scratch_bytes, all[7].scratch_bytes);
  }
}

// What starting one costs, of 1,024 ranks: a cache line is written for each step.
TEST(generate, plans_of_many_ranks_are_short_where_rounds_are_few) {
  for (const algorithm& by : all_algorithms()) {
    if (by.participants != participation::every_rank || by.name.ends_with("ring")) continue;
    const request asked = request_of(by.what, shape::uniform(64, 16), 512);
    const bool is_direct = by.what == collective::alltoall || by.what == collective::reduce_scatter;
    for (const int rank : {0, 1, 15, 16, 500, 1023})
      EXPECT_LE(generate(by, asked, rank).steps.size(), is_direct ? 1200u : 100u) << text_of(asked, by);
  }
}

}  // namespace
}  // namespace tri::coll
