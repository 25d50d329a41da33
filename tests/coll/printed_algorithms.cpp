#include "printed_algorithms.hpp"

#include <algorithm>
#include <functional>

#include "coll/generators/host_tree.hpp"

namespace tri::coll {
namespace {

std::vector<plan> on_all_ranks(const request& asked, const std::function<void(plan_builder&)>& write) {
  std::vector<plan> plans;
  for (int rank = 0; rank < asked.hosts.ranks(); ++rank) {
    plan_builder to(asked, asked.hosts, rank);
    write(to);
    plans.push_back(to.finish());
  }
  return plans;
}

}  // namespace

std::vector<plan> printed_allgather(const request& asked, flaw kept) {
  const int hosts = asked.hosts.hosts();
  const int radix = asked.hosts.least_ranks() + 1;
  return on_all_ranks(asked, [&](plan_builder& b) {
    const auto block = asked.bytes_of(0) * static_cast<std::uint64_t>(b.mates);
    const auto gathered = [&](std::int64_t index) {
      return b.leaders(buffer::scratch, static_cast<std::uint64_t>(index) * block);
    };
    b.new_scratch(block * static_cast<std::uint64_t>(hosts));
    step_id there = b.host_barrier(b.copy(
        b.own(buffer::input), b.leaders(buffer::scratch, static_cast<std::uint64_t>(b.local) * asked.bytes_of(0)),
        asked.bytes_of(0), {}));
    const auto peer_on = [&](std::int64_t host) {
      const int other = static_cast<int>((host + 2L * hosts) % hosts);
      return kept == flaw::peer_rank_by_hosts ? other * hosts + b.local : b.peer(other, b.local);
    };
    std::uint32_t round = 0;
    const auto exchange = [&](std::int64_t reached, std::int64_t count) {
      const std::int64_t distance = (b.local + 1) * reached;
      step_id received = no_step;
      if (count > 0) {
        const auto bytes = static_cast<std::uint64_t>(count) * block;
        b.send(peer_on(b.host - distance), round, gathered(0), bytes, there);
        received = b.receive(peer_on(b.host + distance), round, gathered(distance), bytes, {});
      }
      there = b.host_barrier({received, there});
      ++round;
    };
    std::int64_t reached = 1;
    bool is_first = kept == flaw::first_round_untested;
    for (; is_first || reached * radix <= hosts; reached *= radix) {
      is_first = false;
      exchange(reached, reached);
    }
    if (reached < hosts) {
      const std::int64_t behind = kept == flaw::last_round_too_long ? b.local : b.local + 1;
      exchange(reached, std::max<std::int64_t>(std::min(reached, hosts - reached * behind), 0));
    }
    const std::uint64_t begin = static_cast<std::uint64_t>(b.host) * block;
    const std::uint64_t to_end = static_cast<std::uint64_t>(hosts) * block - begin;
    b.copy(gathered(0), b.own(buffer::output, begin), to_end, there);
    b.copy(b.leaders(buffer::scratch, to_end), b.own(buffer::output), begin, there);
  });
}

std::vector<plan> printed_ring_allgather(const request& asked, flaw kept) {
  const int hosts = asked.hosts.hosts();
  return on_all_ranks(asked, [&](plan_builder& b) {
    const std::uint64_t each = asked.bytes_of(0);
    const std::uint64_t block = each * static_cast<std::uint64_t>(b.mates);
    const auto at = [&](int host, std::uint64_t offset) {
      return b.leaders(buffer::output, static_cast<std::uint64_t>(host) * block + offset);
    };
    const std::uint64_t slice = static_cast<std::uint64_t>(b.local) * each;
    const step_id come = b.host_barrier({});
    step_id there = b.host_barrier(b.copy(b.own(buffer::input), at(b.host, slice), each, come));
    std::vector<step_id> reads;
    const auto copy_out = [&](int host) {
      if (b.rank != b.leader)
        reads.push_back(
            b.copy(at(host, 0), b.own(buffer::output, static_cast<std::uint64_t>(host) * block), block, there));
    };
    int have = b.host;
    for (int i = 0; i + 1 < hosts; ++i) {
      const int next = (have + hosts - 1) % hosts;
      reads.push_back(
          b.send(b.peer((b.host + 1) % hosts, b.local), static_cast<std::uint32_t>(i), at(have, slice), each, there));
      const step_id received = b.receive(b.peer((b.host + hosts - 1) % hosts, b.local), static_cast<std::uint32_t>(i),
                                         at(next, slice), each, come);
      copy_out(have);
      there = b.host_barrier(received);
      have = next;
    }
    if (kept != flaw::last_block_kept) copy_out(have);
    b.collect(b.leader, reads);
  });
}

std::vector<plan> printed_allreduce(const request& asked, flaw kept) {
  const int hosts = asked.hosts.hosts();
  const int ranks = asked.hosts.least_ranks();
  const std::uint64_t bytes = asked.vector_bytes();
  return on_all_ranks(asked, [&](plan_builder& b) {
    const std::uint64_t sum_at = b.new_scratch(bytes);
    const std::uint64_t rest_at = b.new_scratch(bytes);
    const std::uint64_t arrived_at = b.new_scratch(bytes);
    const std::uint64_t arrived_rest_at = b.new_scratch(bytes);
    const place sum = b.leaders(buffer::scratch, sum_at);
    const place rest = b.leaders(buffer::scratch, rest_at);
    const auto add = [&](place from, place into, step_id when) {
      return b.reduce(step_kind::reduce_right, from, into, bytes, when);
    };
    const auto arrived = [&](int local) { return place{b.leader + local, buffer::scratch, arrived_at}; };
    const auto peer_on = [&](std::int64_t host) { return b.peer(static_cast<int>((host + hosts) % hosts), b.local); };
    step_id there = b.host_barrier(b.reduce_tree_of_host(sum_at, bytes));
    std::uint32_t round = 0;
    std::int64_t reached = 1;
    for (; reached * (ranks + 1) <= hosts; reached *= ranks + 1, ++round) {
      const int whole = static_cast<int>(hosts % (reached * (ranks + 1)) / reached);
      const bool has_old = hosts % reached > 0;
      const std::int64_t distance = (b.local + 1) * reached;
      std::vector<step_id> ends{
          b.send(peer_on(b.host - distance), round, sum, bytes, there),
          b.receive(peer_on(b.host + distance), round, b.own(buffer::scratch, arrived_at), bytes, there)};
      const bool forwards = kept != flaw::own_rest && has_old && whole > 0 && b.local == whole - 1;
      if (forwards) {
        ends.push_back(b.send(peer_on(b.host - distance), round, rest, bytes, there, 1));
        ends.push_back(
            b.receive(peer_on(b.host + distance), round, b.own(buffer::scratch, arrived_rest_at), bytes, there, 1));
      }
      step_id mine = b.host_barrier(ends);
      if (b.rank == b.leader) {
        if (whole > 0) {
          place old{b.leader + whole - 1, buffer::scratch, arrived_rest_at};
          if (kept == flaw::own_rest && has_old) {  // kept aside, for the copy below overwrites it
            old = b.own(buffer::scratch, arrived_rest_at);
            mine = b.copy(rest, old, bytes, mine);
          }
          mine = b.copy(sum, rest, bytes, mine);
          for (int i = 0; i + 1 < whole; ++i) mine = add(arrived(i), rest, mine);
          if (has_old) mine = add(old, rest, mine);
        }
        for (int i = 0; i < ranks; ++i) mine = add(arrived(i), sum, mine);
      }
      there = b.host_barrier(mine);
    }
    if (reached < hosts) {
      const auto count_of = [&](int local) { return std::min(hosts - reached * (local + 1), reached); };
      std::vector<step_id> ends{there};
      if (count_of(b.local) > 0) {
        const std::int64_t distance = (b.local + 1) * reached;
        const bool is_whole = count_of(b.local) == reached;
        const place whole_sum = kept == flaw::rest_is_input ? b.own(buffer::input) : sum;
        ends.push_back(b.send(peer_on(b.host - distance), round, is_whole ? whole_sum : rest, bytes, there));
        ends.push_back(b.receive(peer_on(b.host + distance), round, b.own(buffer::scratch, arrived_at), bytes, there));
      }
      step_id mine = b.host_barrier(ends);
      if (b.rank == b.leader)
        for (int i = 0; i < ranks && count_of(i) > 0; ++i) mine = add(arrived(i), sum, mine);
      there = b.host_barrier(mine);
    }
    b.copy(sum, b.own(buffer::output), bytes, there);
  });
}

std::vector<plan> printed_host_reduce(const request& asked, host_flaw kept) {
  return on_all_ranks(asked, [&](plan_builder& b) {
    const step_id mine = b.reduce_parts_of_host({asked.root, buffer::output, 0}, asked.vector_bytes());
    if (kept == host_flaw::only_root_waits)
      b.collect(asked.root, mine);
    else
      b.host_barrier(mine);
  });
}

std::vector<plan> printed_scatter(const request& asked, host_flaw kept) {
  return on_all_ranks(asked, [&](plan_builder& b) {
    const tree_position tree = position_in_tree(b.view.hosts(), 0, b.host, b.view.least_ranks());
    const bool at_root = b.host == 0;
    const std::uint64_t begin = at_root ? 0 : b.host_begin(tree.parent.first);
    const std::uint64_t bytes = at_root ? asked.all_bytes() : b.host_begin(tree.parent.last) - begin;
    const place data = at_root ? b.leaders(buffer::input) : b.leaders(buffer::scratch, b.new_scratch(bytes));
    step_id got = no_step;
    if (b.rank == b.leader && !at_root)
      got = b.receive(b.peer(tree.parent.parent, tree.parent.sender), tree.parent.level, data, bytes, {});
    const step_id there = b.release(b.leader, got);
    std::vector<step_id> reads;
    for (const tree_edge& each : tree.children)
      if (each.sender == b.local)
        reads.push_back(b.send(b.peer(each.child, 0), each.level,
                               {data.rank, data.where, b.host_begin(each.first) - begin},
                               b.host_begin(each.last) - b.host_begin(each.first), there));
    if (!(kept == host_flaw::leaves_do_not_copy && !at_root && tree.parent.level + 1 == tree.levels))
      reads.push_back(b.copy({data.rank, data.where, asked.begin_of(b.rank) - begin}, b.own(buffer::output),
                             asked.bytes_of(b.rank), there));
    if (at_root) b.collect(b.leader, reads);
  });
}

}  // namespace tri::coll
