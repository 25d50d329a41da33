// Where the time of each loop went: kept per loop record while enabled (trireme/loop_report.hpp, TRIREME_LOOPS_REPORT),
// and given out as public rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/chunk_statistics.hpp"
#include "schedules/loop_layout.hpp"
#include "schedules/loop_times.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "trireme/loop_report.hpp"

namespace tri::loops {

/// Asked at every execution. relaxed everywhere: an execution that sees a change late is measured, or not.
inline std::atomic<loop_measuring> current_measuring{loop_measuring::off};

/// One execution as it was measured. Times in ticks of one clock.
struct measured_execution {
  std::uint64_t began = 0;
  std::uint64_t ended = 0;
  std::uint32_t participants = 1;
  const schedules::loop_times* times = nullptr;
  const schedules::loop_layout* layout = nullptr;  ///< none: it was not shared out
};

/// Sums over the executions of one loop. Any thread.
class site_times {
 public:
  explicit site_times(const std::source_location& location) : location_(location) {}

  /// A shared execution, or one on one core that measures the work without data movement.
  void add(const measured_execution& one, const schedules::schedule& which);
  void add_one_core(const measured_execution& one);
  /// One that could not be measured: the record was in use.
  void add_unmeasured() { unmeasured_.fetch_add(1, std::memory_order_relaxed); }  // relaxed: a count

  /// Is the next execution to be one on one core? The second, when data is where it will be, and then now and then.
  bool wants_one_core();

  loop_site_report row(double seconds_per_tick) const;
  void clear();

 private:
  static constexpr std::uint64_t one_core_every = 32;
  static constexpr std::size_t most_steps = 65536;

  struct sums {
    std::uint64_t executions = 0;  // measured, shared out
    std::uint64_t one_core_runs = 0;
    std::uint64_t turns = 0;  // of wants_one_core
    std::uint64_t items = 0;
    std::uint64_t claims = 0;
    std::uint64_t last_items = 0;
    std::uint32_t participants = 0;  // of the last one
    std::uint32_t fewest = 0, most = 0;
    schedules::schedule which;
    schedules::chunk_statistics chunks;
    std::vector<float> steps;      // ticks from the begin of one to that of the next, the first most_steps
    std::uint64_t last_begin = 0;  // 0: the next interval is not a step
    double elapsed = 0.0;
    // Of all participants, each divided by their number in the execution; with elapsed as their sum.
    double busy = 0.0;
    double idle = 0.0;
    double between = 0.0;
    double largest_busy = 0.0;
    // Of one item, from runs on one core: the least while all runs have the same number of items, otherwise the mean.
    double one_core_least = 0.0;
    double one_core_ticks = 0.0;
    std::uint64_t one_core_items = 0;
    std::uint64_t one_core_length = 0;
    bool one_length = true;
    double shared_one_core = 0.0;  // items / participants, summed: what one_core times it is the compute part
  };

  const std::source_location location_;
  std::atomic<std::uint64_t> unmeasured_{0};
  mutable std::mutex mutex_;
  sums sums_;  // guarded by mutex_
};

/// A new entry of the report, which is never removed: loops may run while the process ends.
site_times& new_site(const std::source_location& location);
/// A loop without a record has run.
void count_loop_without_record();

/// `wish`: off, on (or 1), full, as in the option: the report is printed when the process ends, and written to `file`
/// as JSON if that is named. Throws std::invalid_argument for another word.
void set_loop_report(std::string_view wish, const std::string& file);

}  // namespace tri::loops
