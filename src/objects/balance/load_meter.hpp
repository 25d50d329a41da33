// Measures the loads of a PE's elements: CPU time of their methods (not of other programs that had the core), on this
// PE and on those that help with their loops, and who sent how much to whom. Exists while loads are measured; used by
// its PE's thread only. owner_scope and post_to_element call it, behind one branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loops/loop_participant.hpp"
#include "objects/balance/element_counters.hpp"
#include "objects/balance/load_part.hpp"
#include "objects/balance/traffic_table.hpp"
#include "os/task_clock.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/task.hpp"

namespace tri::objects {

class local_collection;

class load_meter {
 public:
  /// Begins to measure on this thread, which is that of `here`.
  explicit load_meter(sched::pe& here);
  ~load_meter();
  load_meter(const load_meter&) = delete;
  load_meter& operator=(const load_meter&) = delete;

  /// What has passed since the last call is time of `owner`; null: of no element.
  void charge(coroutine_owner* owner) {
    const std::uint64_t now = clock_.read();
    const std::uint64_t passed = now - last_;
    last_ = now;
    if (counters_ != nullptr) [[unlikely]]
      charge_counters(owner);
    const std::uint64_t help = std::exchange(loops_.help_received, 0);
    if (owner == nullptr || owner->element() == nullptr) {
      help_without_element_ += help;
      return;
    }
    owner->add_load(passed + help);
    in_elements_ += passed;
  }
  void count(element_name to, std::uint64_t bytes);
  /// From now on these are counted, too (load_counters.hpp). Throws std::runtime_error when one cannot be.
  void count_events(std::vector<std::string> names);

  /// Since the last reset(), in nanoseconds.
  std::int64_t time_in_elements_ns() const { return to_ns(in_elements_); }
  /// CPU time that is of no element: of other messages, main programs (with what others do for their loops) and the
  /// scheduler; not what was idle, nor help for the loops of other PEs.
  std::int64_t background_ns();

  /// The loads of all elements here, asking those that describe their own, and the traffic. Resets nothing.
  void collect(load_part& into);
  /// From now on everything counts from zero.
  void reset();

  static std::int64_t to_ns(std::uint64_t ticks) { return static_cast<std::int64_t>(os::ticks_to_ns(ticks)); }

 private:
  void charge_counters(const coroutine_owner* owner);
  void collect(local_collection& home, load_part& into);
  void join_partners(std::vector<load_part::pair>& traffic) const;
  void add_partner(element_base& partner, load_part& into, load_part::element& one);

  sched::pe& here_;
  os::task_clock& clock_;
  std::uint64_t last_;
  std::uint64_t began_;
  std::uint64_t spare_before_;
  std::uint64_t in_elements_ = 0;
  loops::loop_participant& loops_;  // of this thread
  std::uint64_t help_without_element_ = 0;
  traffic_table traffic_;
  std::unique_ptr<element_counters> counters_;
};

}  // namespace tri::objects
