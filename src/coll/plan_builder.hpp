// Writes the plan of one rank. Generators (generators.hpp) call it; all ranks of a host run the same generator, so that
// counters which are asked for in the same order are the same.
//
// The view is the shape that the algorithm sees: that of the request, or one where each rank is a host of its own, with
// which an algorithm for hosts is the classic one for ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "coll/plan.hpp"
#include "coll/request.hpp"
#include "coll/shape.hpp"

namespace tri::coll {

using step_id = std::int32_t;
inline constexpr step_id no_step = -1;  // as a dependency: none

/// What a step waits for; lives as long as the call.
struct after {
  after() = default;
  after(step_id one) : single(one), list(&single, 1) {}  // NOLINT: meant to convert
  after(std::initializer_list<step_id> ids) : list(ids.begin(), ids.size()) {}
  after(const std::vector<step_id>& ids) : list(ids) {}  // NOLINT
  after(const after&) = delete;
  after& operator=(const after&) = delete;

  step_id single = no_step;
  std::span<const step_id> list;
};

struct byte_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes() const { return end - begin; }
};
/// These bytes in equal parts, of whole elements: of the larger ones there are as many as needed, and they come first.
/// Divides when it is made only: rings ask for each part several times.
class equal_parts {
 public:
  equal_parts(std::uint64_t bytes, std::uint32_t extent, int parts)
      : least_(bytes / extent / static_cast<std::uint64_t>(parts) * extent),
        larger_(bytes / extent % static_cast<std::uint64_t>(parts)),
        extent_(extent) {}
  std::uint64_t begin_of(int index) const {
    const auto i = static_cast<std::uint64_t>(index);
    return least_ * i + std::min(i, larger_) * extent_;
  }
  byte_range operator[](int index) const { return {begin_of(index), begin_of(index + 1)}; }

 private:
  std::uint64_t least_;
  std::uint64_t larger_;  // so many parts have an element more
  std::uint64_t extent_;
};
/// Part `index` of `parts` equal ones of these bytes.
inline byte_range part_of(std::uint64_t bytes, std::uint32_t extent, int index, int parts) {
  return equal_parts(bytes, extent, parts)[index];
}

/// Bytes that a rank combines at a time, contribution after contribution: they stay in its first cache meanwhile.
inline constexpr std::uint64_t chunk_bytes = std::uint64_t{16} << 10;
/// Of a part; chunks of a long one are larger, so that plans stay short.
inline constexpr std::uint64_t most_chunks = 128;
/// Calls `each(range)` for the chunks of a range, whole elements each.
template <class Each>
void for_chunks(const byte_range& of, std::uint32_t extent, Each&& each) {
  const std::uint64_t least = std::max(chunk_bytes, of.bytes() / most_chunks);
  const std::uint64_t most = std::max<std::uint64_t>(least / extent, 1) * extent;
  for (std::uint64_t begin = of.begin; begin < of.end; begin += most)
    each(byte_range{begin, std::min(begin + most, of.end)});
}

/// Copies and reductions of more bytes are several steps that may be done at the same time, by any ranks of the host
/// that wait.
inline constexpr std::uint64_t piece_bytes = std::uint64_t{64} << 10;
inline constexpr std::uint64_t most_pieces = 16;  // of one; larger pieces then, so that plans stay short

class plan_builder {
 public:
  /// `keeps_steps`: false: steps are counted only, which needs next to no memory.
  plan_builder(const request& asked, const shape& view, int rank, bool keeps_steps = true);

  const request& asked;
  const shape& view;
  const int rank;
  const int host;    // of the view, as are the following
  const int leader;  // the first rank of the host
  const int local;   // this rank among those of the host
  const int mates;   // ranks of the host

  place own(buffer where, std::uint64_t offset = 0) const { return {rank, where, offset}; }
  place leaders(buffer where, std::uint64_t offset = 0) const { return {leader, where, offset}; }
  int peer(int other_host, int other_local) const { return view.first_rank(other_host) + other_local; }
  std::uint64_t host_begin(int of) const { return asked.begin_of(view.first_rank(of)); }

  step_id send(int to, std::uint32_t round, place from, std::uint64_t bytes, const after& steps, std::uint8_t slot = 0);
  step_id receive(int from, std::uint32_t round, place into, std::uint64_t bytes, const after& steps,
                  std::uint8_t slot = 0);
  step_id copy(place from, place into, std::uint64_t bytes, const after& steps);
  step_id reduce(step_kind side, place from, place into, std::uint64_t bytes, const after& steps);
  step_id signal(int of_rank, std::uint32_t counter, const after& steps);
  step_id wait(int of_rank, std::uint32_t counter, int value, const after& steps);
  /// One step that ends when these have; where it is one already, that one.
  step_id join(const after& steps);

  /// So many more steps and dependencies are coming, or about as many: plans of thousands of steps are not moved while
  /// they grow.
  void expect(int steps, int dependencies);

  std::uint32_t new_counter() { return made_.counters++; }
  /// Scratch; returns where it begins, at the same offset on all ranks of the host. This rank has it only where
  /// `is_mine`.
  std::uint64_t new_scratch(std::uint64_t bytes, bool is_mine = true);

  // Inside the host. All ranks of the host must call them in the same order.

  /// Ends when all ranks have come here.
  step_id host_barrier(const after& steps);
  /// The owner, a rank of the host, lets the others see what these steps of its did; the others' steps are not used.
  step_id release(int owner, const after& steps);
  /// Ends on the owner when the steps of all others have, its own not counted. On the others it ends after theirs.
  step_id collect(int owner, const after& steps);
  /// Adds up the inputs of all ranks: this rank does its part of the elements. Everybody has come in when it ends.
  step_id reduce_parts_of_host(place into, std::uint64_t bytes);
  /// The same of one range of the inputs, which all ranks have reached when `last` ends. `into`: where byte 0 would be.
  step_id reduce_of_host(const byte_range& part, const place& into, step_id last);
  /// The same for few bytes: a binomial tree over copies; whole on the leader, at this offset of its scratch.
  step_id reduce_tree_of_host(std::uint64_t scratch_offset, std::uint64_t bytes);

  std::uint64_t steps() const { return steps_; }
  plan finish() { return std::move(made_); }

 private:
  /// The next step, to be filled in; its number is that of the last one then.
  step& add(step_kind kind, const after& steps);
  step_id last() const { return static_cast<step_id>(steps_) - 1; }
  step_id reduce_piece(step_kind side, place from, place into, std::uint64_t bytes, const after& steps);

  plan made_;
  const bool keeps_steps_;
  step not_kept_;
  std::uint64_t steps_ = 0;
  std::uint64_t scratch_end_ = 0;
  std::uint32_t barrier_counter_ = 0;  // of the leader
  int barriers_ = 0;
  step_id last_barrier_ = no_step;
};

}  // namespace tri::coll
