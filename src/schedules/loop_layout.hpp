// The layout of one execution of a loop: which iterations form a chunk, which chunks each participant owns, which have
// no owner, and how much a claim takes. Made from a schedule, the numbers of iterations and participants, and the
// knowledge about the loop; executed by the board (trireme/detail/loops/loop_call.hpp), fetched chunk by chunk
// (worksharing_loop.hpp), or run in virtual time (region_simulator.hpp). A plain value without threads. Claims are by
// claim numbers 0, 1, 2, ...; `chunk_of` maps each to a chunk of the loop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "board/divisible_task.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "trireme/schedule.hpp"

namespace tri::schedules {

struct loop_layout {
  std::uint64_t items = 0;            ///< iterations of the loop
  std::uint64_t chunk = 1;            ///< iterations of every chunk (the last may be shorter), when `bounds` is empty
  std::vector<std::uint64_t> bounds;  ///< chunk c is iterations [bounds[c], bounds[c + 1])
  std::vector<std::uint32_t> order;   ///< claim number -> chunk; empty: the same number, unless dealt
  std::uint32_t dealt = 0;            ///< round-robin to this many participants, each with contiguous claim numbers
  std::vector<board::participant_range> ranges;  ///< one per participant, in claim numbers
  board::chunk_span pool{};                      ///< claim numbers without an owner
  std::uint32_t pool_step = 1;
  board::claim_size owner{};
  board::claim_size thief{};
  std::uint32_t least = 0;  ///< a range with fewer claims left is its owner's alone
  board::steal_order steal = board::steal_order::nearest;
  std::uint32_t first_tasklet = 0;  ///< chunks [first_tasklet, first_tasklet + tasklets) remember their last owner
  std::uint32_t tasklets = 0;

  std::uint32_t chunks() const {
    return bounds.empty() ? static_cast<std::uint32_t>(board::chunk_count(items, chunk))
                          : static_cast<std::uint32_t>(bounds.size() - 1);
  }
  std::uint64_t first_item(std::uint32_t chunk_number) const {
    return bounds.empty() ? chunk_number * chunk : bounds[chunk_number];
  }
  std::uint64_t last_item(std::uint32_t chunk_number) const {
    if (!bounds.empty()) return bounds[chunk_number + std::size_t{1}];
    // The last chunk may end beyond what 64 bits hold.
    return items - first_item(chunk_number) < chunk ? items : first_item(chunk_number) + chunk;
  }
  bool in_order() const { return order.empty() && dealt == 0; }  ///< claim numbers are chunks
  std::uint32_t chunk_of(std::uint32_t claim) const {
    if (!order.empty()) return order[claim];
    if (dealt == 0) return claim;
    const std::uint32_t each = chunks() / dealt;
    const std::uint32_t longer = chunks() % dealt;  // this many have one more
    if (claim < longer * (each + 1)) return claim / (each + 1) + claim % (each + 1) * dealt;
    const std::uint32_t rest = claim - longer * (each + 1);
    return longer + rest / each + rest % each * dealt;
  }
  /// run(first, last) for the iterations of these claim numbers, in as few calls as possible.
  template <class Run>
  void for_each_block(board::chunk_span claims, Run&& run) const {
    if (claims.empty()) return;
    if (in_order()) {
      run(first_item(claims.first), last_item(claims.last - 1));
      return;
    }
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    for (std::uint32_t claim = claims.first; claim < claims.last; ++claim) {
      const std::uint32_t number = chunk_of(claim);
      if (first_item(number) != last) {
        if (first < last) run(first, last);
        first = first_item(number);
      }
      last = last_item(number);
    }
    if (first < last) run(first, last);
  }
};

inline constexpr std::uint32_t no_owner = ~std::uint32_t{0};

/// Knowledge about the loop and the machine. Spans are read during layout_of only.
struct layout_inputs {
  double dynamic_fraction = 0.10;                ///< of kinds with a model; the first execution takes a tenth
  std::span<const double> weights{};             ///< one per participant; empty: all equally fast
  std::span<const std::uint32_t> last_owners{};  ///< one per tasklet, or no_owner; another number: they mean nothing
  std::span<const participant_time> last{};      ///< for schedules that the program added; one each, or empty
  std::uint32_t claimers = 0;                    ///< how many may claim from the pool; 0: the participants
};

/// Throws std::invalid_argument when the schedule is not valid, there are no participants, or the inputs do not match.
/// A chunk that the schedule leaves open is items / (64 * participants), at least 1. Shares are rounded to the nearest
/// iteration (in loops beyond 2^32 iterations: to the nearest multiple of items / 2^32).
/// `automatic` is laid out as `combined`; its learned state goes into another schedule.
loop_layout layout_of(const schedule& which, std::uint64_t items, std::uint32_t participants,
                      const layout_inputs& known = {});

/// The layout as a task of the board, without operation and arguments, for participants [0, ranges.size()). Its ranges
/// point into the layout. Chunks are claim numbers unless they all have the same length and are in order.
board::task_spec task_of(const loop_layout& layout);

/// Sizes of tasklets, big ones first: levels of 4, 8, 16, ... tasklets, each level the
/// same part of `items`, so that lengths halve from level to level. As many levels as fit into `count` tasklets.
std::vector<std::uint64_t> skewed_sizes(std::uint64_t items, std::uint32_t count);
/// `count` (at most `items`) sizes that differ by at most one.
std::vector<std::uint64_t> equal_sizes(std::uint64_t items, std::uint32_t count);
/// Sizes of the claims of the classic self-scheduling rules, none below `least` but the last.
std::vector<std::uint64_t> guided_sizes(std::uint64_t items, std::uint32_t participants, std::uint64_t least);
std::vector<std::uint64_t> trapezoid_sizes(std::uint64_t items, std::uint32_t participants, std::uint64_t least);
std::vector<std::uint64_t> factoring_sizes(std::uint64_t items, std::uint32_t participants, std::uint64_t least);

}  // namespace tri::schedules
