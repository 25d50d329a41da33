// Algorithms for single ranks, as the MPI libraries have them, to compare with.
//
// Sources: Thakur, Rabenseifner, Gropp 2005 (recursive doubling, Rabenseifner, pairwise); Patarasuk and Yuan 2009
// (ring).
#include <vector>

#include "coll/generators/generators.hpp"

namespace tri::coll {
namespace {

// For a number of ranks that is no power of two: of the first 2 * rest ranks each even one gives its data to the next,
// which stands for both. `index` is the position among those that go on, -1 for those that do not.
struct folded_ranks {
  int power = 1;
  int rest = 0;
  int index = -1;
  std::uint32_t rounds = 0;  // used by the fold: 0 or 1
  int rank_of(int of_index) const { return of_index < rest ? 2 * of_index + 1 : of_index + rest; }
};

folded_ranks folded(int rank, int ranks) {
  folded_ranks found;
  while (found.power * 2 <= ranks) found.power *= 2;
  found.rest = ranks - found.power;
  found.rounds = found.rest > 0 ? 1 : 0;
  if (rank >= 2 * found.rest)
    found.index = rank - found.rest;
  else if (rank % 2 == 1)
    found.index = rank / 2;
  return found;
}

// The sum of this rank, or of the pair that it stands for, in the output; on a rank that only waits its send.
step_id fold_in(plan_builder& b, const folded_ranks& among, std::uint64_t bytes, std::uint64_t scratch_at) {
  if (among.index < 0) {
    return b.send(b.rank + 1, 0, b.own(buffer::input), bytes, {});
  }
  const step_id mine = b.copy(b.own(buffer::input), b.own(buffer::output), bytes, {});
  if (b.rank >= 2 * among.rest) return mine;
  const step_id received = b.receive(b.rank - 1, 0, b.own(buffer::scratch, scratch_at), bytes, {});
  return b.reduce(step_kind::reduce_left, b.own(buffer::scratch, scratch_at), b.own(buffer::output), bytes,
                  {mine, received});
}

void fold_out(plan_builder& b, const folded_ranks& among, std::uint64_t bytes, std::uint32_t round, step_id last) {
  if (among.index < 0)
    b.receive(b.rank + 1, round, b.own(buffer::output), bytes, b.asked.in_place ? last : no_step);
  else if (b.rank < 2 * among.rest)
    b.send(b.rank - 1, round, b.own(buffer::output), bytes, last);
}

}  // namespace

void recursive_doubling_allreduce(plan_builder& b) {
  const std::uint64_t bytes = b.asked.vector_bytes();
  const folded_ranks among = folded(b.rank, b.view.ranks());
  const std::uint64_t arrived_at = b.new_scratch(bytes);
  step_id last = fold_in(b, among, bytes, arrived_at);
  std::uint32_t round = among.rounds;
  step_id free = b.rank < 2 * among.rest ? last : no_step;  // from then on what arrives may be overwritten
  for (int distance = 1; distance < among.power; distance *= 2, ++round) {
    if (among.index < 0) continue;
    const int peer = among.rank_of(among.index ^ distance);
    const step_id sent = b.send(peer, round, b.own(buffer::output), bytes, last);
    const step_id received = b.receive(peer, round, b.own(buffer::scratch, arrived_at), bytes, free);
    last = b.reduce((among.index & distance) != 0 ? step_kind::reduce_left : step_kind::reduce_right,
                    b.own(buffer::scratch, arrived_at), b.own(buffer::output), bytes, {sent, received});
    free = last;
  }
  fold_out(b, among, bytes, round, last);
}

void rabenseifner_allreduce(plan_builder& b) {
  const std::uint64_t bytes = b.asked.vector_bytes();
  const folded_ranks among = folded(b.rank, b.view.ranks());
  const std::uint64_t arrived_at = b.new_scratch(bytes);
  step_id last = fold_in(b, among, bytes, arrived_at);
  std::uint32_t round = among.rounds;
  const auto begin_of = [&](int part) { return part_of(bytes, b.asked.extent, part, among.power).begin; };
  const auto end_of = [&](int part) { return part_of(bytes, b.asked.extent, part - 1, among.power).end; };
  int first = 0;  // parts that this rank still adds up; halved with the neighbour first, which keeps the order
  int end = among.power;
  step_id free = b.rank < 2 * among.rest ? last : no_step;
  std::vector<step_id> given_away;  // the receive that replaces such a part waits for its send
  for (int distance = 1; distance < among.power; distance *= 2, ++round) {
    if (among.index < 0) continue;
    const int peer = among.rank_of(among.index ^ distance);
    const bool keeps_upper = (among.index & distance) != 0;
    const int middle = (first + end) / 2;
    const byte_range given{begin_of(keeps_upper ? first : middle), end_of(keeps_upper ? middle : end)};
    const byte_range kept{begin_of(keeps_upper ? middle : first), end_of(keeps_upper ? end : middle)};
    given_away.push_back(b.send(peer, round, b.own(buffer::output, given.begin), given.bytes(), last));
    const step_id received = b.receive(peer, round, b.own(buffer::scratch, arrived_at), kept.bytes(), free);
    last = free =
        b.reduce(keeps_upper ? step_kind::reduce_left : step_kind::reduce_right, b.own(buffer::scratch, arrived_at),
                 b.own(buffer::output, kept.begin), kept.bytes(), {received, last});
    (keeps_upper ? first : end) = middle;
  }
  for (int distance = among.power / 2; distance >= 1; distance /= 2, ++round) {
    if (among.index < 0) continue;
    const int peer = among.rank_of(among.index ^ distance);
    const int width = end - first;
    const bool has_upper = (among.index & distance) != 0;
    const int other = has_upper ? first - width : end;
    b.send(peer, round, b.own(buffer::output, begin_of(first)), end_of(end) - begin_of(first), last);
    const step_id received = b.receive(peer, round, b.own(buffer::output, begin_of(other)),
                                       end_of(other + width) - begin_of(other), given_away.back());
    given_away.pop_back();
    last = b.join({last, received});
    (has_upper ? first : end) += has_upper ? -width : width;
  }
  fold_out(b, among, bytes, round, last);
}

void ring_allreduce(plan_builder& b) {
  const int ranks = b.view.ranks();
  const std::uint64_t bytes = b.asked.vector_bytes();
  b.expect(5 * ranks, 6 * ranks);
  const equal_parts parts(bytes, b.asked.extent, ranks);
  // Two buffers: a part arrives while the one before is added.
  const std::uint64_t largest = parts[0].bytes();
  const std::uint64_t arrived_at[2] = {b.new_scratch(largest), b.new_scratch(largest)};
  const int next = b.rank + 1 == ranks ? 0 : b.rank + 1;
  const int previous = b.rank == 0 ? ranks - 1 : b.rank - 1;
  const step_id mine = b.copy(b.own(buffer::input), b.own(buffer::output), bytes, {});
  std::uint32_t round = 0;
  step_id last = mine;
  step_id free[2] = {no_step, no_step};
  std::vector<step_id> sent(static_cast<std::size_t>(ranks), no_step);  // by part: not overwritten before
  const auto pass_on = [&](int part) {
    const byte_range given = parts[part];
    return b.send(next, round, b.own(buffer::output, given.begin), given.bytes(), last);
  };
  const auto before = [ranks](int part) { return part == 0 ? ranks - 1 : part - 1; };
  int part = b.rank;  // that is passed on
  for (int i = 0; i + 1 < ranks; ++i, ++round) {
    sent[static_cast<std::size_t>(part)] = pass_on(part);
    part = before(part);
    const byte_range taken = parts[part];
    const place arrived = b.own(buffer::scratch, arrived_at[i % 2]);
    const step_id received = b.receive(previous, round, arrived, taken.bytes(), free[i % 2]);
    last =
        b.reduce(step_kind::reduce_right, arrived, b.own(buffer::output, taken.begin), taken.bytes(), {received, mine});
    free[i % 2] = last;
  }
  part = next;
  for (int i = 0; i + 1 < ranks; ++i, ++round) {
    pass_on(part);
    part = before(part);
    const byte_range taken = parts[part];
    last = b.receive(previous, round, b.own(buffer::output, taken.begin), taken.bytes(),
                     sent[static_cast<std::size_t>(part)]);
  }
}

void pairwise_alltoall(plan_builder& b) {
  const int ranks = b.view.ranks();
  const std::uint64_t block = b.asked.vector_bytes();
  const auto at = [&](buffer where, int of) { return b.own(where, static_cast<std::uint64_t>(of) * block); };
  b.expect(2 * ranks, 0);
  b.copy(at(buffer::input, b.rank), at(buffer::output, b.rank), block, {});
  for (int distance = 1; distance < ranks; ++distance) {
    const int to = (b.rank + distance) % ranks;
    const int from = (b.rank - distance + ranks) % ranks;
    const auto round = static_cast<std::uint32_t>(distance - 1);
    b.send(to, round, at(buffer::input, to), block, {});
    b.receive(from, round, at(buffer::output, from), block, {});
  }
}

}  // namespace tri::coll
