#include "coll/plan_builder.hpp"

#include <algorithm>
#include <utility>

namespace tri::coll {

plan_builder::plan_builder(const request& wanted, const shape& seen, int of_rank, bool keeps_steps)
    : asked(wanted),
      view(seen),
      rank(of_rank),
      host(seen.host_of(of_rank)),
      leader(seen.first_rank(host)),
      local(of_rank - leader),
      mates(seen.ranks_of(host)),
      keeps_steps_(keeps_steps) {
  made_.rank = rank;
  if (!keeps_steps) return;
  made_.steps.reserve(32);
  made_.dependencies.reserve(32);
}

void plan_builder::expect(int steps, int dependencies) {
  if (!keeps_steps_) return;
  made_.steps.reserve(made_.steps.size() + static_cast<std::size_t>(steps));
  made_.dependencies.reserve(made_.dependencies.size() + static_cast<std::size_t>(dependencies));
}

step& plan_builder::add(step_kind kind, const after& steps) {
  ++steps_;
  if (!keeps_steps_) return not_kept_;
  step& made = made_.steps.emplace_back();
  made.kind = kind;
  made.first_dependency = static_cast<std::uint32_t>(made_.dependencies.size());
  for (const step_id each : steps.list)
    if (each != no_step) made_.dependencies.push_back(static_cast<std::uint32_t>(each));
  return made;
}

step_id plan_builder::send(int to, std::uint32_t round, place from, std::uint64_t bytes, const after& steps,
                           std::uint8_t slot) {
  step& made = add(step_kind::send, steps);
  made.peer = to;
  made.round = round;
  made.slot = slot;
  made.source = from;
  made.bytes = bytes;
  return last();
}

step_id plan_builder::receive(int from, std::uint32_t round, place into, std::uint64_t bytes, const after& steps,
                              std::uint8_t slot) {
  step& made = add(step_kind::receive, steps);
  made.peer = from;
  made.round = round;
  made.slot = slot;
  made.target = into;
  made.bytes = bytes;
  return last();
}

step_id plan_builder::copy(place from, place into, std::uint64_t bytes, const after& steps) {
  return reduce(step_kind::copy, from, into, bytes, steps);
}

step_id plan_builder::reduce(step_kind side, place from, place into, std::uint64_t bytes, const after& steps) {
  if (bytes == 0 || (side == step_kind::copy && asked.real_place(from) == asked.real_place(into))) return join(steps);
  if (bytes < 2 * piece_bytes) return reduce_piece(side, from, into, bytes, steps);
  const auto pieces = static_cast<int>(std::min(bytes / piece_bytes, most_pieces));
  std::vector<step_id> ids;
  for (int i = 0; i < pieces; ++i) {
    const byte_range piece = part_of(bytes, asked.extent, i, pieces);
    if (piece.bytes() > 0)
      ids.push_back(reduce_piece(side, {from.rank, from.where, from.offset + piece.begin},
                                 {into.rank, into.where, into.offset + piece.begin}, piece.bytes(), steps));
  }
  return join(ids);
}

step_id plan_builder::reduce_piece(step_kind side, place from, place into, std::uint64_t bytes, const after& steps) {
  step& made = add(side, steps);
  made.source = from;
  made.target = into;
  made.bytes = bytes;
  return last();
}

step_id plan_builder::signal(int of_rank, std::uint32_t counter, const after& steps) {
  step& made = add(step_kind::signal, steps);
  made.peer = of_rank;
  made.counter = counter;
  return last();
}

step_id plan_builder::wait(int of_rank, std::uint32_t counter, int value, const after& steps) {
  step& made = add(step_kind::wait, steps);
  made.peer = of_rank;
  made.counter = counter;
  made.value = static_cast<std::uint32_t>(value);
  return last();
}

step_id plan_builder::join(const after& steps) {
  step_id only = no_step;
  int found = 0;
  for (const step_id each : steps.list)
    if (each != no_step && each != only) {
      only = each;
      ++found;
    }
  if (found <= 1) return only;
  add(step_kind::join, steps);
  return last();
}

std::uint64_t plan_builder::new_scratch(std::uint64_t bytes, bool is_mine) {
  const std::uint64_t begin = scratch_end_;
  scratch_end_ += bytes;
  if (is_mine) made_.scratch_bytes = scratch_end_;
  return begin;
}

step_id plan_builder::host_barrier(const after& steps) {
  if (mates == 1) return join(steps);
  // One counter for all barriers: a rank signals the next only when it has seen the end of this one.
  if (barriers_ == 0) barrier_counter_ = new_counter();
  ++barriers_;
  std::vector<step_id> before(steps.list.begin(), steps.list.end());
  if (std::ranges::find(before, last_barrier_) == before.end()) before.push_back(last_barrier_);
  const step_id arrived = signal(leader, barrier_counter_, before);
  last_barrier_ = wait(leader, barrier_counter_, barriers_ * mates, arrived);
  return last_barrier_;
}

step_id plan_builder::release(int owner, const after& steps) {
  if (mates == 1) return join(steps);
  const std::uint32_t counter = new_counter();
  if (rank != owner) return wait(owner, counter, 1, {});
  const step_id before = join(steps);
  signal(owner, counter, before);
  return before;
}

step_id plan_builder::collect(int owner, const after& steps) {
  if (mates == 1) return no_step;
  const std::uint32_t counter = new_counter();
  if (rank != owner) return signal(owner, counter, steps);
  return wait(owner, counter, mates - 1, {});
}

step_id plan_builder::reduce_parts_of_host(place into, std::uint64_t bytes) {
  return reduce_of_host(part_of(bytes, asked.extent, local, mates), into, host_barrier({}));
}

step_id plan_builder::reduce_of_host(const byte_range& part, const place& into, step_id last) {
  for_chunks(part, asked.extent, [&](const byte_range& chunk) {
    const place target{into.rank, into.where, into.offset + chunk.begin};
    last = copy({leader, buffer::input, chunk.begin}, target, chunk.bytes(), last);
    for (int each = leader + 1; each < leader + mates; ++each)
      last = reduce(step_kind::reduce_right, {each, buffer::input, chunk.begin}, target, chunk.bytes(), last);
  });
  return last;
}

step_id plan_builder::reduce_tree_of_host(std::uint64_t scratch_offset, std::uint64_t bytes) {
  const std::uint32_t complete = mates > 1 ? new_counter() : 0;
  const place sum = own(buffer::scratch, scratch_offset);
  step_id last = copy(own(buffer::input), sum, bytes, {});
  for (int distance = 1; distance < mates; distance *= 2) {
    if ((local & distance) != 0) return signal(rank, complete, last);
    if (local + distance >= mates) continue;
    const int child = rank + distance;
    const step_id ready = wait(child, complete, 1, {});
    last = reduce(step_kind::reduce_right, {child, buffer::scratch, scratch_offset}, sum, bytes, {last, ready});
  }
  return last;
}

}  // namespace tri::coll
