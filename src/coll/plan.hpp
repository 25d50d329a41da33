// A plan: what one rank does in a collective, as plain data (libNBC calls it a schedule). Made by a generator
// (algorithms.hpp), proven by the checker, its cost estimated by the cost model; what runs it keeps a ready set
// (ready_steps.hpp).
//
// - Steps stand in an order in which each depends only on earlier ones. All steps whose dependencies have ended may be
//   under way at the same time.
// - A place may be in a buffer of any rank of the same host. Input and output of a rank are touched by others only
//   between its first step and its last; scratch belongs to the host until all its ranks have ended their plans.
// - A message is matched by (source, destination, round, slot), which no other message of the collective has. It may be
//   eager or a rendezvous: a send ends when its bytes may be overwritten, a receive when they are there.
// - A counter belongs to a rank of the host and begins at 0. A signal adds 1 to it and makes what happened before it
//   visible; a wait ends when it has reached a value. Counters are never reset.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tri::coll {

enum class step_kind : std::uint8_t {
  send,
  receive,
  copy,
  reduce_left,   ///< target = source op target
  reduce_right,  ///< target = target op source
  signal,
  wait,
  join,  ///< does nothing: one step to depend on instead of several
};

enum class buffer : std::uint8_t { input, output, scratch };

struct place {
  std::int32_t rank = 0;
  buffer where = buffer::input;
  std::uint64_t offset = 0;
  bool operator==(const place&) const = default;
};

struct step {
  step_kind kind = step_kind::join;
  std::uint8_t slot = 0;      ///< of a message: apart from others of the same ranks and round (neighbours on two sides)
  std::uint32_t round = 0;    ///< of a message
  std::int32_t peer = 0;      ///< of a message; of signal and wait: the rank whose counter it is
  std::uint32_t counter = 0;  ///< of signal and wait
  std::uint32_t value = 0;    ///< of wait
  std::uint32_t first_dependency = 0;  ///< in plan::dependencies, up to that of the next step
  std::uint64_t bytes = 0;
  place source;
  place target;

  bool is_message() const { return kind == step_kind::send || kind == step_kind::receive; }
  bool is_reduction() const { return kind == step_kind::reduce_left || kind == step_kind::reduce_right; }
  bool has_source() const { return kind == step_kind::send || kind == step_kind::copy || is_reduction(); }
  bool has_target() const { return kind == step_kind::receive || kind == step_kind::copy || is_reduction(); }
};
static_assert(sizeof(step) <= 64, "a step is one cache line");

struct plan {
  std::int32_t rank = 0;
  std::uint32_t counters = 0;       ///< of this rank
  std::uint64_t scratch_bytes = 0;  ///< of this rank
  std::vector<step> steps;
  std::vector<std::uint32_t> dependencies;

  std::span<const std::uint32_t> dependencies_of(std::size_t index) const {
    const std::size_t first = steps[index].first_dependency;
    const std::size_t last = index + 1 < steps.size() ? steps[index + 1].first_dependency : dependencies.size();
    return std::span(dependencies).subspan(first, last - first);
  }
};

}  // namespace tri::coll
