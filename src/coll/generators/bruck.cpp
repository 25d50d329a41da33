// Rounds of radix senders + 1 in which every host sends to `senders` others at once: allgather, barrier, allreduce.
//
// Sources: Bruck et al. 1997; PiP-MColl (Ouyang 2022, ch. 4) for many ranks of a host. The published text is followed
// where it is right: the test before the first round, the length of the last, incomplete round, and the sums of the
// remainder that have to travel are ours (tests/coll/printed_algorithms.cpp shows what goes wrong otherwise).
#include <algorithm>
#include <vector>

#include "coll/generators/generators.hpp"

namespace tri::coll {
namespace {

int ahead(const plan_builder& b, std::int64_t distance) {
  return static_cast<int>((b.host + distance) % b.view.hosts());
}
int behind(const plan_builder& b, std::int64_t distance) {
  return static_cast<int>((b.host - distance + b.view.hosts()) % b.view.hosts());
}

// Gathers the ranges of all hosts at the leader, in rotated order: that of this host, of the next one, and so on
// around. `offset_at(host, i)`: where the i-th range from a host on begins in it; of the number of hosts: the end. Its
// own range is there when `there` ends. Returns the step of each rank with which all are.
template <class Offset>
step_id gather_around(plan_builder& b, int senders, const place& gathered, Offset&& offset_at, step_id there) {
  const int hosts = b.view.hosts();
  std::uint32_t round = 0;
  for (std::int64_t reached = 1; reached < hosts; reached *= senders + 1, ++round) {
    step_id received = no_step;
    const std::int64_t distance = (b.local + 1) * reached;
    // In the last round the farthest ranges are cut off at N.
    if (b.local < senders && distance < hosts) {
      const std::int64_t count = std::min(reached, hosts - distance);
      const int source = ahead(b, distance);
      const int target = behind(b, distance);
      const place at{gathered.rank, gathered.where, gathered.offset + offset_at(b.host, distance)};
      b.send(b.peer(target, b.local), round, gathered, offset_at(b.host, count), there);
      received = b.receive(b.peer(source, b.local), round, at, offset_at(source, count), {});
    }
    there = b.host_barrier({received, there});
  }
  return there;
}

}  // namespace

void bruck_allgather(plan_builder& b, int senders) {
  const int hosts = b.view.hosts();
  const std::uint64_t all = b.asked.all_bytes();
  const std::uint64_t my_begin = b.host_begin(b.host);
  const place gathered = b.leaders(buffer::scratch, b.new_scratch(all, b.rank == b.leader));
  const auto offset_at = [&](int other, std::int64_t index) {
    const std::uint64_t begin = b.host_begin(other);
    const std::int64_t at = other + index;
    return at < hosts ? b.host_begin(static_cast<int>(at)) - begin
                      : all - begin + b.host_begin(static_cast<int>(at - hosts));
  };
  const auto at = [&](std::uint64_t offset) { return place{gathered.rank, gathered.where, gathered.offset + offset}; };

  const step_id there =
      gather_around(b, senders, gathered, offset_at,
                    b.host_barrier(b.copy(b.own(buffer::input), at(b.asked.begin_of(b.rank) - my_begin),
                                          b.asked.bytes_of(b.rank), {})));
  const std::uint64_t to_end = all - my_begin;
  b.copy(gathered, b.own(buffer::output, my_begin), to_end, there);
  b.copy(at(to_end), b.own(buffer::output), my_begin, there);
}

void dissemination_barrier(plan_builder& b, int senders) {
  const int hosts = b.view.hosts();
  step_id there = b.host_barrier({});
  std::uint32_t round = 0;
  for (std::int64_t reached = 1; reached < hosts; reached *= senders + 1, ++round) {
    step_id received = no_step;
    const std::int64_t distance = (b.local + 1) * reached;
    if (b.local < senders && distance < hosts) {
      b.send(b.peer(behind(b, distance), b.local), round, {}, 0, there);
      received = b.receive(b.peer(ahead(b, distance), b.local), round, {}, 0, {});
    }
    there = b.host_barrier({received, there});
  }
}

void gathered_allreduce(plan_builder& b, int senders) {
  const int hosts = b.view.hosts();
  const std::uint64_t bytes = b.asked.vector_bytes();
  // The leader's sum of its host is the first of the ranges; the other ranks have theirs for the tree only.
  const std::uint64_t sums_at = b.new_scratch(b.rank == b.leader ? bytes * static_cast<std::uint64_t>(hosts) : bytes);
  const place sums = b.leaders(buffer::scratch, sums_at);
  const auto offset_at = [&](int, std::int64_t index) { return bytes * static_cast<std::uint64_t>(index); };
  const auto sum_of = [&](int host) {
    const int index = (host - b.host + hosts) % hosts;
    return place{sums.rank, sums.where, sums.offset + offset_at(host, index)};
  };
  const step_id there =
      gather_around(b, senders, sums, offset_at, b.host_barrier(b.reduce_tree_of_host(sums_at, bytes)));
  step_id mine = b.copy(sum_of(0), b.own(buffer::output), bytes, there);
  for (int host = 1; host < hosts; ++host)
    mine = b.reduce(step_kind::reduce_right, sum_of(host), b.own(buffer::output), bytes, mine);
}

void bruck_allreduce(plan_builder& b, int senders) {
  const int hosts = b.view.hosts();
  const std::uint64_t bytes = b.asked.vector_bytes();
  // Sums at the leader: over the `reached` hosts from here on, and over the first `hosts % reached` of them, which the
  // last round needs. Of each sender: what arrives. The rest lies behind the sum, so that both are one message.
  const std::uint64_t sum_at = b.new_scratch(bytes);
  const std::uint64_t rest_at = b.new_scratch(bytes, b.rank == b.leader);
  const std::uint64_t arrived_at = b.new_scratch(bytes, b.local < senders);
  const std::uint64_t arrived_rest_at = b.new_scratch(bytes, b.local < senders);
  const place sum = b.leaders(buffer::scratch, sum_at);
  const place rest = b.leaders(buffer::scratch, rest_at);
  const byte_range part = part_of(bytes, b.asked.extent, b.local, b.mates);
  const auto part_at = [&](int of_rank, std::uint64_t offset) {
    return place{of_rank, buffer::scratch, offset + part.begin};
  };
  const place my_sum = part_at(b.leader, sum_at);
  const place my_rest = part_at(b.leader, rest_at);

  step_id there = b.host_barrier(b.reduce_tree_of_host(sum_at, bytes));
  step_id free = no_step;  // from then on what arrives may be overwritten
  std::uint32_t round = 0;
  std::int64_t reached = 1;
  const std::int64_t radix = senders + 1;
  for (; reached * radix <= hosts; reached *= radix, ++round) {
    const std::int64_t next_rest = hosts % (reached * radix);
    const int whole = static_cast<int>(next_rest / reached);  // ranges that the next rest takes whole
    const std::int64_t old_rest = hosts % reached;            // and one of this many hosts
    // The rest of the host behind the whole ranges comes with the sum of the last of these.
    const int rest_from = old_rest > 0 && whole > 0 ? whole - 1 : -1;
    std::vector<step_id> ends;
    if (b.local < senders) {
      const std::int64_t distance = (b.local + 1) * reached;
      const int source = b.peer(ahead(b, distance), b.local);
      const int target = b.peer(behind(b, distance), b.local);
      const std::uint64_t sent = b.local == rest_from ? 2 * bytes : bytes;
      ends.push_back(b.send(target, round, sum, sent, there));
      ends.push_back(b.receive(source, round, b.own(buffer::scratch, arrived_at), sent, free));
    }
    const step_id all_there = b.host_barrier(ends.empty() ? std::vector<step_id>{there} : ends);
    step_id mine = all_there;
    if (whole > 0) {
      mine = b.copy(my_sum, my_rest, part.bytes(), mine);
      for (int i = 0; i + 1 < whole; ++i)
        mine = b.reduce(step_kind::reduce_right, part_at(b.leader + i, arrived_at), my_rest, part.bytes(), mine);
      if (old_rest > 0)
        mine = b.reduce(step_kind::reduce_right, part_at(b.leader + rest_from, arrived_rest_at), my_rest, part.bytes(),
                        mine);
    }
    for (int i = 0; i < senders; ++i)
      mine = b.reduce(step_kind::reduce_right, part_at(b.leader + i, arrived_at), my_sum, part.bytes(), mine);
    there = free = b.host_barrier(mine);
  }
  if (reached < hosts) {
    const auto count_of = [&](int sender) { return std::min(hosts - reached * (sender + 1), reached); };
    std::vector<step_id> ends;
    if (b.local < senders && count_of(b.local) > 0) {
      const std::int64_t distance = (b.local + 1) * reached;
      ends.push_back(
          b.send(b.peer(behind(b, distance), b.local), round, count_of(b.local) == reached ? sum : rest, bytes, there));
      ends.push_back(
          b.receive(b.peer(ahead(b, distance), b.local), round, b.own(buffer::scratch, arrived_at), bytes, free));
    }
    step_id mine = b.host_barrier(ends.empty() ? std::vector<step_id>{there} : ends);
    for (int i = 0; i < senders && count_of(i) > 0; ++i)
      mine = b.reduce(step_kind::reduce_right, part_at(b.leader + i, arrived_at), my_sum, part.bytes(), mine);
    there = b.host_barrier(mine);
  }
  b.copy(sum, b.own(buffer::output), bytes, there);
}

}  // namespace tri::coll
