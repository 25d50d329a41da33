#include "omp/measured_costs.hpp"

#include "omp/settings.hpp"
#include "os/clock.hpp"
#include "schedules/learning/noise_samples.hpp"

namespace tri::omp {
namespace {

// A claim of a line that another core had last, in ns: 37 to 85 where measured. Measuring it here would need a second
// thread; the fraction hardly depends on it, since it is added to the time of a whole chunk.
constexpr double claim_ns = 60;

constexpr std::uint32_t quanta = 2000;  // of about ten microseconds
constexpr double event_percentile = 99.9;

double measured_noise() {
  volatile double value = 2.0;
  const loops::core_samples samples = loops::record_quanta(
      -1, quanta,
      [&] {
        double root = value;
        for (int i = 0; i < 3000; ++i) root = root * 0.5 + 1.0 / root;
        value = root;
      },
      [] { return static_cast<double>(os::ticks()); });
  return loops::delay_by_percentile(samples.times, event_percentile);
}

}  // namespace

const loops::machine_costs& machine_costs_of_this_process() {
  static const loops::machine_costs costs = [] {
    const double given = the_settings().noise_us;
    const double ticks_per_ns = 1.0 / os::ns_per_tick();
    return loops::machine_costs{claim_ns * ticks_per_ns, given >= 0 ? given * 1000.0 * ticks_per_ns : measured_noise()};
  }();
  return costs;
}

}  // namespace tri::omp
