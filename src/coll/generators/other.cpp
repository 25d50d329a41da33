// Reductions in the order of ranks (scan, exscan, a tree there and back) and alltoall.
#include <algorithm>
#include <vector>

#include "coll/generators/generators.hpp"
#include "coll/generators/host_tree.hpp"

namespace tri::coll {

namespace {

// The prefixes of all ranks of the host, of one part of the elements: what comes before the host (if anything), then
// rank after rank. In place, an output overwrites the input that the next one needs: it is kept, in scratch for two of
// them.
step_id prefixes_inside(plan_builder& b, const byte_range& part, const place* before, bool is_exclusive,
                        std::uint64_t kept_at, step_id last) {
  const std::uint64_t bytes = part.bytes();
  const auto of = [&](buffer where, int i) { return place{b.leader + i, where, part.begin}; };
  const bool keeps = is_exclusive && b.asked.in_place;
  const auto kept = [&](int i) { return b.own(buffer::scratch, kept_at + static_cast<std::uint64_t>(i % 2) * bytes); };
  for (int i = 0; i < b.mates; ++i) {
    const place output = of(buffer::output, i);
    if (!is_exclusive) {
      last = b.copy(of(buffer::input, i), output, bytes, last);
      if (i > 0)
        last = b.reduce(step_kind::reduce_left, of(buffer::output, i - 1), output, bytes, last);
      else if (before != nullptr)
        last = b.reduce(step_kind::reduce_left, *before, output, bytes, last);
      continue;
    }
    if (keeps && i + 1 < b.mates) last = b.copy(of(buffer::input, i), kept(i), bytes, last);
    if (i == 0) {
      if (before != nullptr) last = b.copy(*before, output, bytes, last);
      continue;
    }
    last = b.copy(keeps ? kept(i - 1) : of(buffer::input, i - 1), output, bytes, last);
    if (i > 1 || before != nullptr)
      last = b.reduce(step_kind::reduce_left, of(buffer::output, i - 1), output, bytes, last);
  }
  return last;
}

}  // namespace

// Hillis and Steele's scan over hosts, of radix senders + 1: after a round the window of a host is the sum over the
// `reached` hosts that end with it. What comes before the host is kept apart, for ranks inside it.
void prefix_scan(plan_builder& b, int senders) {
  const int hosts = b.view.hosts();
  const std::uint64_t bytes = b.asked.vector_bytes();
  const bool is_exclusive = b.asked.what == collective::exscan;
  const std::uint64_t between_hosts = hosts > 1 ? bytes : 0;
  const std::uint64_t window_at = b.new_scratch(between_hosts);
  const std::uint64_t arrived_at = b.new_scratch(between_hosts, b.local < senders);
  const std::uint64_t before_at = b.new_scratch(between_hosts, b.rank == b.leader);
  const byte_range part = part_of(bytes, b.asked.extent, b.local, b.mates);
  const place window = b.leaders(buffer::scratch, window_at);
  const place my_window = b.leaders(buffer::scratch, window_at + part.begin);
  const place my_before = b.leaders(buffer::scratch, before_at + part.begin);

  // The last host has none that needs its sum.
  step_id there = b.host_barrier(b.host == hosts - 1 ? no_step : b.reduce_tree_of_host(window_at, bytes));
  std::uint32_t round = 0;
  bool has_before = false;
  step_id free = no_step;  // from then on what arrives may be overwritten
  for (std::int64_t reached = 1; reached < hosts; reached *= senders + 1, ++round) {
    std::vector<step_id> ends{there};
    const std::int64_t distance = (b.local + 1) * reached;
    if (b.local < senders && b.host + distance < hosts)
      ends.push_back(b.send(b.peer(static_cast<int>(b.host + distance), b.local), round, window, bytes, there));
    if (b.local < senders && distance <= b.host)
      ends.push_back(b.receive(b.peer(static_cast<int>(b.host - distance), b.local), round,
                               b.own(buffer::scratch, arrived_at), bytes, free));
    step_id mine = b.host_barrier(ends);
    const bool sends_again = b.host + reached * (senders + 1) < hosts;
    for (int i = 0; i < senders && (i + 1) * reached <= b.host; ++i) {  // the nearest first
      const place from{b.leader + i, buffer::scratch, arrived_at + part.begin};
      mine = b.reduce(has_before ? step_kind::reduce_left : step_kind::copy, from, my_before, part.bytes(), mine);
      if (sends_again) mine = b.reduce(step_kind::reduce_left, from, my_window, part.bytes(), mine);
      has_before = true;
    }
    there = free = b.host_barrier(mine);
  }
  const std::uint64_t kept_at = b.new_scratch(is_exclusive && b.asked.in_place ? 2 * part.bytes() : 0);
  for_chunks(part, b.asked.extent, [&](const byte_range& chunk) {
    const place before{my_before.rank, my_before.where, my_before.offset + chunk.begin - part.begin};
    there = prefixes_inside(b, chunk, has_before ? &before : nullptr, is_exclusive, kept_at, there);
  });
  if (b.mates > 1) b.host_barrier(there);
}

void tree_allreduce(plan_builder& b, int senders) {
  const std::uint64_t bytes = b.asked.vector_bytes();
  const tree_position tree = position_in_tree(b.view.hosts(), 0, b.host, senders);
  const std::uint64_t sum_at = b.new_scratch(bytes);
  const place sum = b.leaders(buffer::scratch, sum_at);
  const byte_range part = part_of(bytes, b.asked.extent, b.local, b.mates);
  const place my_sum = b.leaders(buffer::scratch, sum_at + part.begin);
  step_id mine = b.host_barrier(b.reduce_tree_of_host(sum_at, bytes));
  // The head of a range is its first host: all children are on the right, the nearest first.
  for (std::uint32_t level = tree.levels; level-- > 0;) {
    const std::uint64_t arrived_at = b.new_scratch(bytes, b.local < senders);
    int children = 0;
    step_id arrived = no_step;
    for (const tree_edge& each : tree.children) {
      if (each.level != level) continue;
      ++children;
      if (each.sender == b.local)
        arrived =
            b.receive(b.peer(each.child, 0), tree.levels - 1 - level, b.own(buffer::scratch, arrived_at), bytes, {});
    }
    if (children == 0) continue;
    mine = b.host_barrier({arrived, mine});
    for (int i = 0; i < children; ++i)
      mine = b.reduce(step_kind::reduce_right, {b.leader + i, buffer::scratch, arrived_at + part.begin}, my_sum,
                      part.bytes(), mine);
  }
  step_id complete = b.host_barrier(mine);
  step_id got = complete;
  if (tree.has_parent && b.rank == b.leader) {
    const int parent = b.peer(tree.parent.parent, tree.parent.sender);
    const step_id sent = b.send(parent, tree.levels - 1 - tree.parent.level, sum, bytes, complete);
    got = b.receive(parent, tree.levels + tree.parent.level, sum, bytes, sent);
  }
  if (tree.has_parent) complete = b.release(b.leader, got);
  for (const tree_edge& each : tree.children)
    if (each.sender == b.local) b.send(b.peer(each.child, 0), tree.levels + each.level, sum, bytes, complete);
  b.copy(sum, b.own(buffer::output), bytes, complete);
}

// One message for each pair of hosts: blocks by source, then by destination. It is written and read by all ranks of the
// two hosts, and carried by a pair of ranks that depends on both, so that all `senders` of a host send and receive.
void aggregated_alltoall(plan_builder& b, int senders) {
  const int hosts = b.view.hosts();
  const std::uint64_t block = b.asked.vector_bytes();
  const auto mates = static_cast<std::uint64_t>(b.mates);
  const auto local = static_cast<std::uint64_t>(b.local);
  const auto ranks_before = [&](int of) { return static_cast<std::uint64_t>(b.view.first_rank(of)); };
  const std::uint64_t out_at = b.new_scratch(b.asked.all_bytes() * mates, b.rank == b.leader);
  const std::uint64_t in_at = b.new_scratch(b.asked.all_bytes() * mates, b.rank == b.leader);
  const auto staged = [&](std::uint64_t area, int other, std::uint64_t offset) {
    return b.leaders(buffer::scratch, area + ranks_before(other) * mates * block + offset);
  };
  const auto bytes_with = [&](int other) { return static_cast<std::uint64_t>(b.view.ranks_of(other)) * mates * block; };

  std::vector<step_id> mine;
  for (int other = 0; other < hosts; ++other) {
    if (other == b.host && !b.asked.in_place) continue;
    const std::uint64_t bytes = static_cast<std::uint64_t>(b.view.ranks_of(other)) * block;
    mine.push_back(
        b.copy(b.own(buffer::input, ranks_before(other) * block), staged(out_at, other, local * bytes), bytes, {}));
  }
  const step_id packed = b.host_barrier(mine);
  std::vector<step_id> ends;
  for (int distance = 1; distance < hosts; ++distance) {
    const int target = (b.host + distance) % hosts;
    const int source = (b.host - distance + hosts) % hosts;
    const auto round = static_cast<std::uint32_t>(distance - 1);
    if ((b.host + target) % senders == b.local)
      b.send(b.peer(target, b.local), round, staged(out_at, target, 0), bytes_with(target), packed);
    if ((b.host + source) % senders == b.local)
      ends.push_back(b.receive(b.peer(source, b.local), round, staged(in_at, source, 0), bytes_with(source), {}));
  }
  for (int mate = 0; mate < b.mates; ++mate) {  // beside the messages; in place from the copy, as the input may be gone
    const auto source = static_cast<std::uint64_t>(mate);
    const place from = b.asked.in_place
                           ? staged(out_at, b.host, (source * mates + local) * block)
                           : place{b.leader + mate, buffer::input, static_cast<std::uint64_t>(b.rank) * block};
    ends.push_back(
        b.copy(from, b.own(buffer::output, static_cast<std::uint64_t>(b.leader + mate) * block), block, packed));
  }
  const step_id arrived = b.host_barrier(ends);
  for (int other = 0; other < hosts; ++other) {
    if (other == b.host) continue;
    for (int i = 0; i < b.view.ranks_of(other); ++i) {
      const auto source = static_cast<std::uint64_t>(i);
      b.copy(staged(in_at, other, (source * mates + local) * block),
             b.own(buffer::output, (ranks_before(other) + source) * block), block, arrived);
    }
  }
}

}  // namespace tri::coll
