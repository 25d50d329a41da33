// The default schedule, a hybrid: every participant owns a contiguous block, takes half of its rest at a time, and when
// done takes half of the rest of another's. In the first execution claims are a 64th of a block, for all the work may
// be in a few iterations. From the cost of a loop's executions it learns
//   - where the blocks must end so that all take the same time: then no stealing happens and every iteration stays
//     where its data is (a weighted static schedule, for uneven loops and unequal cores alike);
//   - how small a claim may be: about a microsecond of work, so that the cost of claiming is negligible;
//   - when stealing costs more than it gains: the last few microseconds of a block are left to its owner;
//   - whether the loop is so short that it should run on one participant;
//   - whether plain blocks without later claims are even faster, and are never disturbed.
// Clearly slower executions than the last few are ignored, so that intermittent noise moves nothing. A state machine
// without threads or clocks: `next` before an execution, `learn` after it. One user at a time.
#pragma once

#include <array>
#include <cstdint>

#include "schedules/loop_layout.hpp"
#include "schedules/loop_times.hpp"

namespace tri::schedules {

/// Times in ticks, so that tests can have a clock of their own.
struct automatic_limits {
  double in_place = 0;    ///< a loop shorter than this in one thread is not shared
  double claim = 0;       ///< least time of a claim
  double least_left = 0;  ///< the end of a block that is left to its owner: at least this,
  double most_left = 0;   ///< and at most this
  static automatic_limits of_this_machine();
};

/// The order in which a participant may get its iterations.
enum class claim_direction : std::uint8_t {
  any,
  rising  ///< never one before those it had: blocks, then a shared pool, and no stealing
};

class automatic_schedule {
 public:
  explicit automatic_schedule(const automatic_limits& limits = automatic_limits::of_this_machine(),
                              claim_direction direction = claim_direction::any)
      : limits_(limits), direction_(direction) {}

  struct decision {
    bool in_place = false;                ///< the caller alone runs all of it
    bool measure = false;                 ///< `learn` needs times of this execution
    const loop_layout* layout = nullptr;  ///< valid until the next call of next() or learn()
  };
  decision next(std::uint64_t items, std::uint32_t participants);
  /// After an execution that was to be measured. `elapsed`: ticks from before the post to after the end.
  void learn(const loop_times& times, std::uint64_t elapsed);

  /// The number of executions from now on, with the same iterations and participants, that would get the same layout
  /// unmeasured: next() need not be called for them.
  std::uint64_t settled_for() const;
  void skip(std::uint64_t executions) { executions_ += executions; }

  /// Learned state, for reports and tests.
  std::uint64_t executions() const { return executions_; }
  double ticks_per_item() const { return ticks_per_item_; }
  bool plain_blocks() const { return variant_ == plain; }
  /// Another number, another layout.
  std::uint64_t revision() const { return revision_; }

 private:
  enum variant : std::uint8_t { sharing, plain, variants };
  static constexpr std::uint64_t executions_to_learn = 20;  // all measured
  static constexpr std::uint64_t measured_every = 16;       // afterwards
  static constexpr std::uint64_t compared_every = 512;      // the variants again
  static constexpr std::uint64_t seldom = 8;                // of both, where measuring is expensive
  static constexpr std::size_t samples = 5;

  // In a short loop measuring and moving borders cost much, and many executions are over in no time.
  std::uint64_t seldomness() const {
    const double busy = ticks_per_item_ * static_cast<double>(items_);
    return busy >= limits_.in_place && busy > 0 && busy < limits_.most_left ? seldom : 1;
  }
  void start(std::uint64_t items, std::uint32_t participants);
  void lay_out();
  void set_layout();
  void set_blocks(double part);
  void lay_out_rising();
  double part_in_blocks() const;
  std::uint64_t item_at(std::uint32_t chunk) const;
  double imbalance() const;
  double imbalance_to_act_on() const;
  void remember(const cost_profile& measured, double busy, double per_item);
  void choose_variant();
  bool is_calm(variant of) const;
  std::uint64_t cost_to_item(double share) const;
  double share_before(std::uint64_t item) const { return share_before(profile_, item); }
  double share_before(const cost_profile& of, std::uint64_t item) const;
  cost_profile within_blocks(const cost_profile& measured) const;

  automatic_limits limits_;
  claim_direction direction_;
  std::uint64_t revision_ = 0;
  std::uint64_t items_ = 0;
  std::uint32_t participants_ = 0;
  std::uint64_t executions_ = 0;  // with this many participants
  std::uint64_t comparing_since_ = 0;
  double ticks_per_item_ = 0;                  // 0: unknown
  std::array<double, samples> recent_busy_{};  // per item, in the last executions of this team
  std::size_t recent_count_ = 0;
  bool has_profile_ = false;
  cost_profile profile_{};  // share of the cost in each bin; sums to 1
  variant variant_ = sharing;
  std::array<std::array<double, samples>, variants> elapsed_{};  // per item
  std::array<std::size_t, variants> elapsed_count_{};
  loop_layout layout_;
};

}  // namespace tri::schedules
