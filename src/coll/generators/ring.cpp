// Blocks that go around a ring of hosts, in `senders` slices side by side, while the ranks of each host copy out what
// has arrived; and direct exchanges in which each host folds its own block: allgather, allreduce and reduce_scatter of
// large data.
//
// Sources: PiP-MColl (Ouyang 2022, ch. 4); the last block, which the published loop leaves inside the leader, is copied
// out too. Folding in the order of hosts, and by all ranks of the host, is ours.
#include <algorithm>
#include <vector>

#include "coll/generators/generators.hpp"

namespace tri::coll {
namespace {

place shifted(place from, std::uint64_t offset) { return {from.rank, from.where, from.offset + offset}; }

// `all`, in the leader's output, has the block of this host when `there` has ended; the others' may be written after
// `free`. `block(host)` is its range.
template <class Block>
void ring_of_hosts(plan_builder& b, int senders, place all, Block&& block, std::uint32_t round, step_id there,
                   step_id free) {
  const int hosts = b.view.hosts();
  const int steps_of_round = (b.local < senders ? 2 : 0) + (b.mates > 1 ? 3 : 0);
  b.expect(steps_of_round * hosts, (steps_of_round + 1) * hosts);
  std::vector<step_id> reads;
  reads.reserve(2 * static_cast<std::size_t>(hosts));
  const auto take = [&](int of, step_id when) {
    const byte_range range = block(of);
    if (b.rank != b.leader)
      reads.push_back(b.copy(shifted(all, range.begin), b.own(buffer::output, range.begin), range.bytes(), when));
  };
  const auto slice_of = [&](int of) {
    const byte_range whole = block(of);
    if (senders == 1) return whole;
    const byte_range slice = part_of(whole.bytes(), b.asked.extent, b.local, senders);
    return byte_range{whole.begin + slice.begin, whole.begin + slice.end};
  };
  const int next_host = b.host + 1 == hosts ? 0 : b.host + 1;
  const int host_before = b.host == 0 ? hosts - 1 : b.host - 1;
  take(b.host, there);
  step_id have = there;  // of the block that is sent next
  int current = b.host;
  byte_range mine = b.local < senders ? slice_of(current) : byte_range();
  for (int i = 1; i < hosts; ++i, ++round) {
    const int next = current == 0 ? hosts - 1 : current - 1;
    step_id received = no_step;
    if (b.local < senders) {
      const byte_range other = slice_of(next);
      if (mine.bytes() > 0)
        reads.push_back(b.send(b.peer(next_host, b.local), round, shifted(all, mine.begin), mine.bytes(), have));
      if (other.bytes() > 0)
        received = b.receive(b.peer(host_before, b.local), round, shifted(all, other.begin), other.bytes(), free);
      have = received;
      mine = other;
    }
    // The ring itself waits for no barrier; only what is copied out does, for all slices.
    if (b.mates > 1) take(next, b.host_barrier({received, there}));
    current = next;
  }
  b.collect(b.leader, reads);
}

struct exchange {
  std::vector<step_id> sends;
  step_id folded = no_step;  // this rank's part of the block of this host
};

// Sends each other host its block of `all`, and folds what comes for this one into `sum`, in the order of hosts; all
// ranks of the host their part. `there`: `all` is complete; `begun`: `sum` is.
template <class Block>
exchange fold_own_block(plan_builder& b, int senders, place all, place sum, Block&& block, step_id there,
                        step_id begun) {
  const int hosts = b.view.hosts();
  b.expect(3 * hosts, 2 * hosts);
  exchange done;
  const auto handler_of = [&](int target) {
    return static_cast<int>(static_cast<std::int64_t>(target) * senders / hosts);
  };
  const auto round_of = [&](int source, int target) {
    return static_cast<std::uint32_t>((target - source + hosts) % hosts - 1);
  };
  for (int distance = 1; distance < hosts; ++distance) {
    const int target = (b.host + distance) % hosts;
    const byte_range range = block(target);
    if (handler_of(target) == b.local && range.bytes() > 0)
      done.sends.push_back(
          b.send(b.peer(target, b.local), round_of(b.host, target), shifted(all, range.begin), range.bytes(), there));
  }
  const std::uint64_t bytes = block(b.host).bytes();
  const int handler = handler_of(b.host);
  const std::uint64_t arrived_at = b.new_scratch(bytes * static_cast<std::uint64_t>(hosts - 1), b.local == handler);
  const auto arrived_from = [&](int source) {
    const auto index = static_cast<std::uint64_t>(source < b.host ? source : source - 1);
    return place{b.leader + handler, buffer::scratch, arrived_at + index * bytes};
  };
  std::vector<step_id> received;
  if (b.local == handler && bytes > 0)
    for (int distance = 1; distance < hosts; ++distance) {
      const int source = (b.host - distance + hosts) % hosts;
      received.push_back(b.receive(b.peer(source, handler), round_of(source, b.host), arrived_from(source), bytes, {}));
    }
  received.push_back(begun);
  step_id mine = b.host_barrier(received);
  const byte_range part = part_of(bytes, b.asked.extent, b.local, b.mates);
  const auto fold = [&](int source, step_kind side) {
    mine = b.reduce(side, shifted(arrived_from(source), part.begin), shifted(sum, part.begin), part.bytes(), mine);
  };
  for (int source = b.host - 1; source >= 0; --source) fold(source, step_kind::reduce_left);
  for (int source = b.host + 1; source < hosts; ++source) fold(source, step_kind::reduce_right);
  done.folded = mine;
  return done;
}

}  // namespace

void ring_allgather(plan_builder& b, int senders) {
  const place all = b.leaders(buffer::output);
  const std::uint64_t my_begin = b.asked.begin_of(b.rank);
  const step_id leader_is_here = b.release(b.leader, {});
  const step_id mine = b.copy(b.own(buffer::input), shifted(all, my_begin), b.asked.bytes_of(b.rank), leader_is_here);
  const auto block = [&](int of) { return byte_range{b.host_begin(of), b.host_begin(of + 1)}; };
  ring_of_hosts(b, senders, all, block, 0, b.host_barrier(mine), leader_is_here);
}

void scattered_allreduce(plan_builder& b, int senders) {
  const std::uint64_t bytes = b.asked.vector_bytes();
  const place all = b.leaders(buffer::output);
  const equal_parts parts(bytes, b.asked.extent, b.view.hosts());
  const auto block = [&](int of) { return parts[of]; };
  const step_id there = b.host_barrier(b.reduce_parts_of_host(all, bytes));
  exchange done = fold_own_block(b, senders, all, shifted(all, block(b.host).begin), block, there, there);
  done.sends.push_back(done.folded);  // the ring overwrites what they send
  const step_id folded = b.host_barrier(done.sends);
  ring_of_hosts(b, senders, all, block, static_cast<std::uint32_t>(b.view.hosts() - 1), folded, folded);
}

namespace {

// One host: each rank combines its own block of all inputs, without staging unless its input is the output.
void reduce_scatter_inside(plan_builder& b) {
  const std::uint64_t begin = b.asked.begin_of(b.rank);
  const std::uint64_t bytes = b.asked.bytes_of(b.rank);
  const bool is_staged = b.asked.in_place;
  const place into = is_staged ? b.own(buffer::scratch, b.new_scratch(bytes)) : b.own(buffer::output);
  // The block lies at the beginning of its target.
  const step_id mine =
      b.reduce_of_host({begin, begin + bytes}, {into.rank, into.where, into.offset - begin}, b.host_barrier({}));
  const step_id read = b.host_barrier(mine);
  if (is_staged) b.copy(into, b.own(buffer::output), bytes, read);
}

}  // namespace

void direct_reduce_scatter(plan_builder& b, int senders) {
  if (b.view.hosts() == 1 && b.mates > 1) {
    reduce_scatter_inside(b);
    return;
  }
  const std::uint64_t bytes = b.asked.all_bytes();
  const auto block = [&](int of) { return byte_range{b.host_begin(of), b.host_begin(of + 1)}; };
  const byte_range mine = block(b.host);
  if (b.mates == 1 && !b.asked.in_place) {  // without staging
    const step_id there = b.copy(b.own(buffer::input, mine.begin), b.own(buffer::output), mine.bytes(), {});
    fold_own_block(b, senders, b.own(buffer::input), b.own(buffer::output), block, no_step, there);
    return;
  }
  const place all = b.leaders(buffer::scratch, b.new_scratch(bytes, b.rank == b.leader));
  const step_id there = b.host_barrier(b.reduce_parts_of_host(all, bytes));
  const exchange done = fold_own_block(b, senders, all, shifted(all, mine.begin), block, there, there);
  const step_id complete = b.host_barrier(done.folded);
  b.copy(shifted(all, b.asked.begin_of(b.rank)), b.own(buffer::output), b.asked.bytes_of(b.rank), complete);
}

}  // namespace tri::coll
