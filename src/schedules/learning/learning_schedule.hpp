// A user-selected schedule with its memory of one loop: the last participant of each tasklet, each participant's speed,
// the fraction required by the model or a search. The kinds without memory are laid out once. A state machine like
// automatic_schedule: `next` before an execution, `learn` after it if it was to be measured. One user at a time; times
// in ticks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedules/learning/fraction_record.hpp"
#include "schedules/learning/fraction_search.hpp"
#include "schedules/learning/weights.hpp"
#include "schedules/loop_layout.hpp"
#include "schedules/loop_times.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "trireme/slack.hpp"

namespace tri::schedules {

class learning_schedule {
 public:
  struct decision {
    const loop_layout* layout = nullptr;      ///< valid until the next call of next()
    bool measure = false;                     ///< `learn` needs times of this execution
    std::uint32_t* tasklet_owners = nullptr;  ///< to be filled in by the participant that runs a tasklet
  };
  /// `machine`: called once, by kinds with a model. `claimers`: as in layout_inputs. Throws as layout_of; the next call
  /// then starts afresh.
  decision next(const schedule& which, std::uint64_t items, std::uint32_t participants,
                const machine_costs& (*machine)(), std::uint32_t claimers = 0);
  void learn(const loop_times& times, std::uint64_t elapsed);
  /// The participant of each tasklet, when `next` returned no pointer for it.
  void remember_owners(std::span<const std::uint32_t> owners);
  /// The loop is about to run, and the next blocking operation follows it: for callers that learn of an execution long
  /// after its end.
  void begins() { slack::of_this_process().loop_ended(link_); }

  /// The static fraction of the last execution, for reports and tests.
  double static_fraction() const { return static_fraction_; }
  /// The slack that was predicted before the last execution, in ns; 0 for kinds that use none.
  double slack() const { return slack_; }
  /// The name of the operation that slack is taken from; empty while none is known.
  std::string slack_comes_from() const;
  /// Another number, another layout.
  std::uint64_t revision() const { return revision_; }
  const std::optional<fraction_search>& search() const { return search_; }

 private:
  void forget(const schedule& which, std::uint64_t items, std::uint32_t participants);
  double fraction_of_model(const machine_costs& machine, std::uint32_t participants);
  bool learns_weights() const;

  schedule wanted_;
  double static_fraction_ = 0.5;  // of this execution
  std::uint64_t items_ = 0;
  std::uint32_t participants_ = 0;
  std::uint64_t executions_ = 0;
  std::uint64_t revision_ = 0;
  loop_layout layout_;
  std::vector<std::uint32_t> tasklet_owners_;
  std::vector<participant_time> last_times_;  // for plans that the program makes for every execution
  std::optional<weight_tracker> weights_;
  fraction_record fractions_;
  std::optional<fraction_search> search_;
  slack::loop_link link_;
  double slack_ = 0;
  double static_trial_ = 0;  // elapsed, for the delay by uneven iterations
  double claim_time_ = 0;
};

}  // namespace tri::schedules
