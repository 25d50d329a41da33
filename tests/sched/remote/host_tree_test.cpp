#include "sched/remote/host_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace tri::sched {
namespace {

int children_of(const host_tree& tree, int host) {
  int count = 0;
  tree.for_each_child(host, [&](int) { ++count; });
  return count;
}

TEST(host_tree, reaches_every_other_host_once_from_every_root_in_every_turn) {
  for (int hosts = 1; hosts <= 40; ++hosts)
    for (int root = 0; root < hosts; ++root)
      for (int rotation = 0; rotation < host_tree::rotations(hosts); ++rotation) {
        const host_tree tree(hosts, root, rotation);
        std::vector<int> heard(static_cast<std::size_t>(hosts), 0);
        std::vector<int> to_visit{root};
        while (!to_visit.empty()) {
          const int host = to_visit.back();
          to_visit.pop_back();
          ++heard[static_cast<std::size_t>(host)];
          ASSERT_LE(heard[static_cast<std::size_t>(host)], 1);
          ASSERT_LE(children_of(tree, host), host_tree::most_children);
          tree.for_each_child(host, [&](int child) {
            ASSERT_EQ(tree.parent(child), host);
            to_visit.push_back(child);
          });
        }
        ASSERT_EQ(std::accumulate(heard.begin(), heard.end(), 0), hosts) << hosts << ' ' << root << ' ' << rotation;
      }
}

TEST(host_tree, counts_its_inner_vertices) {
  for (int hosts = 1; hosts <= 40; ++hosts) {
    int inner = 0;
    for (int host = 1; host < hosts; ++host) inner += children_of(host_tree(hosts, 0, 0), host) > 0 ? 1 : 0;
    EXPECT_EQ(host_tree::inner_vertices(hosts), inner) << hosts;
  }
}

// The condition of M61: of 10 trees no host is an inner vertex more often than the mean and one.
TEST(host_tree, inner_vertices_go_round_the_hosts) {
  for (const int trees : {1, 10, 1000})
    for (int hosts = 2; hosts <= 40; ++hosts) {
      std::vector<int> times(static_cast<std::size_t>(hosts), 0);
      for (int number = 0; number < trees; ++number) {
        const host_tree tree(hosts, 3 % hosts, host_tree::rotation_of(static_cast<unsigned>(number), hosts));
        for (int host = 0; host < hosts; ++host)
          if (host != 3 % hosts && children_of(tree, host) > 0) ++times[static_cast<std::size_t>(host)];
      }
      const int all = std::accumulate(times.begin(), times.end(), 0);
      const int mean_above = (all + hosts - 2) / (hosts - 1);
      EXPECT_LE(*std::max_element(times.begin(), times.end()), mean_above + 1) << trees << " trees, " << hosts;
    }
}

}  // namespace
}  // namespace tri::sched
