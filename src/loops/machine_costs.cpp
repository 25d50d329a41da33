// The model's machine parameters, measured with the team of the calling thread.
#include "loops/calibration.hpp"
#include "loops/loop_participant.hpp"
#include "os/clock.hpp"
#include "schedules/learning/learning_schedule.hpp"
#include "schedules/learning/noise_samples.hpp"
#include "trireme/detail/loops/loop_record.hpp"

namespace tri::loops {

const calibrated_value& claim_time_of_this_machine() {
  static const calibrated_value measured = [] {
    loop_participant* const me = this_participant();
    const std::uint32_t participants = me != nullptr ? me->participants() : 1;
    // As a loop inside a loop: the others need not come, for they may be waiting for these numbers.
    if (me != nullptr) ++me->depth;
    constexpr std::uint64_t iterations = 5000;
    const auto time_of = [&](const schedules::schedule& which) {
      loop_call call([](const void*, std::uint64_t, std::uint64_t, int) {}, nullptr, 0);
      const std::uint64_t began = os::ticks();
      run_loop(call, iterations, which, nullptr);
      return static_cast<double>(os::ticks() - began);
    };
    const schedules::schedule dynamic{.kind = schedules::schedule_kind::dynamic, .chunk = 1};
    const schedules::schedule blocks{.kind = schedules::schedule_kind::static_blocks};
    const calibrated_value value = calibrate(
        [&] {
          const double claimed = time_of(dynamic);
          return claim_time_of(claimed, time_of(blocks), participants, iterations);
        },
        fewest_trials, 1.0);
    if (me != nullptr) --me->depth;
    return value;
  }();
  return measured;
}

const schedules::machine_costs& costs_of_this_machine() {
  static const schedules::machine_costs measured = [] {
    schedules::machine_costs costs;
    costs.claim_time = claim_time_of_this_machine().value;
    // Noise: a quantum of some ten microseconds. The extremes are one accident; the 99.9th of a hundred is an event.
    volatile double value = 2.0;
    const schedules::core_samples samples = schedules::record_quanta(
        -1, 2000,
        [&] {
          double root = value;
          for (int i = 0; i < 3000; ++i) root = root * 0.5 + 1.0 / root;
          value = root;
        },
        [] { return static_cast<double>(os::ticks()); });
    costs.noise_delay = schedules::delay_by_percentile(samples.times, 99.9);
    return costs;
  }();
  return measured;
}

}  // namespace tri::loops
