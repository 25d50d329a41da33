#include "objects/teams/team_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <unordered_map>

namespace tri::objects {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// How many vertices of a binomial tree of `all` are in the subtree of this one, which has children at 1, 2, 4... after
/// it.
int binomial_subtree(int vertex, int all) { return vertex == 0 ? all : std::min(vertex & -vertex, all - vertex); }

}  // namespace

team_tree::team_tree(const std::vector<int>& host_of_rank) : position_of_(host_of_rank.size()) {
  std::unordered_map<int, int> number_of_host;  // in the order of their first ranks
  std::vector<int> host(host_of_rank.size());
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank)
    host[rank] = number_of_host.try_emplace(host_of_rank[rank], static_cast<int>(number_of_host.size())).first->second;
  order_.resize(host.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::stable_sort(order_, {}, [&](int rank) { return host[at(rank)]; });
  for (int position = 0; position < size(); ++position) {
    const int rank = order_[at(position)];
    position_of_[at(rank)] = position;
    if (position == 0 || host[at(rank)] != host[at(order_[at(position - 1)])]) first_of_host_.push_back(position);
  }
  first_of_host_.push_back(size());
}

int team_tree::host_of_position(int position) const {
  return static_cast<int>(std::ranges::upper_bound(first_of_host_, position) - first_of_host_.begin()) - 1;
}

int team_tree::members_of(int host) const { return first_of_host_[at(host) + 1] - first_of_host_[at(host)]; }

team_tree::vertex team_tree::vertex_of(int rank, int root) const {
  const int root_position = position_of_[at(root)];
  const int root_host = host_of_position(root_position);
  const int position = position_of_[at(rank)];
  const int host = host_of_position(position);
  const int first = first_of_host_[at(host)];
  if (host != root_host) return {(host - root_host + hosts()) % hosts(), position - first};
  return {0, (position - root_position + members_of(host)) % members_of(host)};
}

int team_tree::rank_of(const vertex& of, int root) const {
  const int root_position = position_of_[at(root)];
  const int root_host = host_of_position(root_position);
  const int host = (of.host + root_host) % hosts();
  const int first = first_of_host_[at(host)];
  if (of.host != 0) return order_[at(first + of.member)];
  return order_[at(first + (root_position - first + of.member) % members_of(host))];
}

int team_tree::members_before(int host, int root_host) const {
  if (host == hosts()) return size();
  const int first = first_of_host_[at((root_host + host) % hosts())];
  return (first - first_of_host_[at(root_host)] + size()) % size();
}

int team_tree::rank_at(int root, int position) const {
  const int root_host = host_of_position(position_of_[at(root)]);
  const int around = (first_of_host_[at(root_host)] + position) % size();
  const int host = host_of_position(around);
  return rank_of({(host - root_host + hosts()) % hosts(), around - first_of_host_[at(host)]}, root);
}

bool team_tree::is_in_order_of_ranks() const { return std::ranges::is_sorted(order_); }

team_place team_tree::place(int rank, int root) const {
  const int root_host = host_of_position(position_of_[at(root)]);
  const vertex own = vertex_of(rank, root);
  const int members = members_of((own.host + root_host) % hosts());
  team_place found;
  found.rank = rank;
  found.root = root;
  found.size = size();
  if (own.member != 0)
    found.parent = rank_of({own.host, own.member & (own.member - 1)}, root);
  else if (own.host != 0)
    found.parent = rank_of({own.host & (own.host - 1), 0}, root);
  const int below = binomial_subtree(own.member, members);
  for (int step = 1; step < below; step *= 2)
    found.children.push_back({rank_of({own.host, own.member + step}, root), step, std::min(step, below - step)});
  found.members = below;
  if (own.member != 0) return found;
  const int before = members_before(own.host, root_host);
  const int hosts_below = binomial_subtree(own.host, hosts());
  for (int step = 1; step < hosts_below; step *= 2) {
    const int first = members_before(own.host + step, root_host);
    const int end = members_before(own.host + std::min(2 * step, hosts_below), root_host);
    found.children.push_back({rank_of({own.host + step, 0}, root), first - before, end - first});
  }
  found.members = members_before(own.host + hosts_below, root_host) - before;
  return found;
}

}  // namespace tri::objects
