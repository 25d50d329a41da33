// Trees over hosts: broadcast, scatter, and the same backwards in time: gather, reduce.
#include <algorithm>
#include <vector>

#include "coll/generators/generators.hpp"
#include "coll/generators/host_tree.hpp"

namespace tri::coll {
namespace {

tree_position position_of(const plan_builder& b, int head, int senders) {
  return position_in_tree(b.view.hosts(), head, b.host, senders);
}

// The blocks that a host has in a scatter or gather: all at the root, else those of the hosts that it stands for.
struct held_range {
  tree_position tree;
  bool at_root = false;
  int owner = 0;  // the rank in whose buffer they are
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};
held_range held_range_of(const plan_builder& b, int senders) {
  const int root_host = b.view.host_of(b.asked.root);
  held_range held{position_of(b, root_host, senders), b.host == root_host, b.leader, 0, b.asked.all_bytes()};
  if (held.at_root) {
    held.owner = b.asked.root;
  } else {
    held.begin = b.host_begin(held.tree.parent.first);
    held.bytes = b.host_begin(held.tree.parent.last) - held.begin;
  }
  return held;
}

}  // namespace

void tree_broadcast(plan_builder& b, int senders, bool staged) {
  const std::uint64_t bytes = b.asked.vector_bytes();
  const int root = b.asked.root;
  const bool at_root = b.host == b.view.host_of(root);
  const tree_position tree = position_of(b, b.view.host_of(root), senders);
  const int owner = at_root ? root : b.leader;
  place data{owner, at_root ? buffer::input : buffer::output, 0};
  if (staged) data = {owner, buffer::scratch, b.new_scratch(bytes, b.rank == owner)};

  step_id got = no_step;
  if (b.rank == owner && !at_root)
    got = b.receive(b.peer(tree.parent.parent, tree.parent.sender), tree.parent.level, data, bytes, {});
  else if (b.rank == owner && staged)
    got = b.copy(b.own(buffer::input), data, bytes, {});
  const step_id there = b.release(owner, got);

  std::vector<step_id> reads;
  for (const tree_edge& each : tree.children)
    if (each.sender == b.local) reads.push_back(b.send(b.peer(each.child, 0), each.level, data, bytes, there));
  const bool is_in_place = b.rank == root || (b.rank == owner && !staged);
  if (!is_in_place) reads.push_back(b.copy(data, b.own(buffer::output), bytes, there));
  if (!staged) b.collect(owner, reads);
}

void tree_scatter(plan_builder& b, int senders) {
  const auto [tree, at_root, owner, range_begin, range_bytes] = held_range_of(b, senders);
  const bool is_leaf_rank = !at_root && b.mates == 1 && tree.children.empty();  // its block alone: no staging
  place data{owner, at_root ? buffer::input : is_leaf_rank ? buffer::output : buffer::scratch, 0};
  if (data.where == buffer::scratch) data.offset = b.new_scratch(range_bytes, b.rank == owner);

  step_id got = no_step;
  if (b.rank == owner && !at_root)
    got = b.receive(b.peer(tree.parent.parent, tree.parent.sender), tree.parent.level, data, range_bytes, {});
  const step_id there = b.release(owner, got);

  const auto at = [&](std::uint64_t begin) { return place{data.rank, data.where, data.offset + begin - range_begin}; };
  std::vector<step_id> reads;
  for (const tree_edge& each : tree.children) {
    if (each.sender != b.local) continue;
    const std::uint64_t begin = b.host_begin(each.first);
    reads.push_back(b.send(b.peer(each.child, 0), each.level, at(begin), b.host_begin(each.last) - begin, there));
  }
  if (!is_leaf_rank)
    reads.push_back(b.copy(at(b.asked.begin_of(b.rank)), b.own(buffer::output), b.asked.bytes_of(b.rank), there));
  if (at_root) b.collect(owner, reads);  // the user's buffer; scratch is the host's
}

void tree_gather(plan_builder& b, int senders) {
  const auto [tree, at_root, owner, range_begin, range_bytes] = held_range_of(b, senders);
  const bool is_leaf_rank = !at_root && b.mates == 1 && tree.children.empty();
  place data{owner, at_root ? buffer::output : is_leaf_rank ? buffer::input : buffer::scratch, 0};
  if (data.where == buffer::scratch) data.offset = b.new_scratch(range_bytes, b.rank == owner);

  // Scratch is there before its owner is; the root's output is not.
  const step_id there = at_root ? b.release(owner, {}) : no_step;
  const auto at = [&](std::uint64_t begin) { return place{data.rank, data.where, data.offset + begin - range_begin}; };
  std::vector<step_id> writes;
  for (const tree_edge& each : tree.children) {
    if (each.sender != b.local) continue;
    const std::uint64_t begin = b.host_begin(each.first);
    writes.push_back(b.receive(b.peer(each.child, 0), tree.levels - 1 - each.level, at(begin),
                               b.host_begin(each.last) - begin, there));
  }
  if (!is_leaf_rank)
    writes.push_back(b.copy(b.own(buffer::input), at(b.asked.begin_of(b.rank)), b.asked.bytes_of(b.rank), there));
  writes.push_back(b.collect(owner, writes));
  if (b.rank == owner && !at_root)
    b.send(b.peer(tree.parent.parent, tree.parent.sender), tree.levels - 1 - tree.parent.level, data, range_bytes,
           writes);
}

void tree_reduce(plan_builder& b, int senders, bool in_parts) {
  const std::uint64_t bytes = b.asked.vector_bytes();
  const int root = b.asked.root;
  const bool at_root = b.host == b.view.host_of(root);
  const tree_position tree = position_of(b, b.view.host_of(root), senders);
  const bool is_leaf_rank = b.mates == 1 && tree.children.empty() && tree.has_parent;
  place sum = b.leaders(buffer::scratch);
  if (is_leaf_rank)
    sum.where = buffer::input;
  else if (in_parts && at_root && !b.asked.in_place)
    sum = {root, buffer::output, 0};
  else
    sum.offset = b.new_scratch(bytes, !in_parts || b.rank == b.leader);

  step_id mine = no_step;  // the last step of this rank on its part of the sum
  if (!is_leaf_rank) mine = in_parts ? b.reduce_parts_of_host(sum, bytes) : b.reduce_tree_of_host(sum.offset, bytes);
  // Children of one level come in together: ranges on the left, the nearest first, then those on the right.
  const byte_range part = part_of(bytes, b.asked.extent, b.local, b.mates);
  const place my_sum{sum.rank, sum.where, sum.offset + part.begin};
  bool is_whole = !in_parts && !tree.children.empty();  // the leader's alone, until a barrier
  for (std::uint32_t level = tree.levels; level-- > 0;) {
    std::vector<tree_edge> children;
    for (const tree_edge& each : tree.children)
      if (each.level == level) children.push_back(each);
    if (children.empty()) continue;
    const std::uint64_t arrived_at = b.new_scratch(bytes, b.local < senders);
    step_id arrived = no_step;
    for (const tree_edge& each : children)
      if (each.sender == b.local)
        arrived =
            b.receive(b.peer(each.child, 0), tree.levels - 1 - level, b.own(buffer::scratch, arrived_at), bytes, {});
    const step_id all_there = is_whole ? b.host_barrier({arrived, mine}) : b.host_barrier(arrived);
    is_whole = false;
    std::ranges::sort(children, [&](const tree_edge& a, const tree_edge& c) {
      const bool a_left = a.child < b.host;
      const bool c_left = c.child < b.host;
      if (a_left != c_left) return a_left;
      return a_left ? a.child > c.child : a.child < c.child;
    });
    bool is_first = true;
    for (const tree_edge& each : children) {
      const place from{b.leader + each.sender, buffer::scratch, arrived_at + part.begin};
      const auto side = each.child < b.host ? step_kind::reduce_left : step_kind::reduce_right;
      mine = is_first ? b.reduce(side, from, my_sum, part.bytes(), {mine, all_there})
                      : b.reduce(side, from, my_sum, part.bytes(), mine);
      is_first = false;
    }
  }
  const bool by_leader_alone = !in_parts && tree.children.empty();
  const step_id complete = by_leader_alone && !at_root ? mine : is_leaf_rank ? no_step : b.host_barrier(mine);
  if (tree.has_parent && b.rank == b.leader)
    b.send(b.peer(tree.parent.parent, tree.parent.sender), tree.levels - 1 - tree.parent.level, sum, bytes, complete);
  if (b.rank == root && sum.where != buffer::output) b.copy(sum, b.own(buffer::output), bytes, complete);
}

}  // namespace tri::coll
