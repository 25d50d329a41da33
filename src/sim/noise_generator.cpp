#include "sim/noise_generator.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "loops/random_numbers.hpp"

namespace tri::sim {

noise_generator::noise_generator(const noise_plan& plan) : plan_(plan) {
  if (!(plan.chance >= 0.0 && plan.chance <= 1.0)) {
    throw std::invalid_argument(fmt::format("noise: the chance is {}; it must lie between 0 and 1", plan.chance));
  }
  if (!(plan.shortest >= 0.0 && plan.longest >= plan.shortest)) {
    throw std::invalid_argument(
        fmt::format("noise: events last {} to {} ns; the first must not be negative, nor above "
                    "the second",
                    plan.shortest, plan.longest));
  }
}

std::vector<noise_event> noise_generator::events(std::uint64_t step, double step_time) const {
  // A stream of its own for every step, and the same number of draws for every participant.
  loops::random_numbers streams(plan_.seed ^ (step * 0xd1342543de82ef95u));
  loops::random_numbers random(streams.next());
  std::vector<noise_event> result;
  for (std::uint32_t participant = 0; participant < plan_.participants; ++participant) {
    const bool hit = random.fraction() < plan_.chance;
    const double at = random.fraction() * step_time;
    const double length = plan_.shortest + random.fraction() * (plan_.longest - plan_.shortest);
    if (hit) result.push_back({participant, at, length});
  }
  return result;
}

double noise_generator::delay_of(std::uint64_t first, std::uint64_t second) const {
  if (plan_.chance == 0.0) return 0.0;
  loops::random_numbers streams(plan_.seed ^ (first * 0xd1342543de82ef95u));
  loops::random_numbers random(streams.next() ^ (second * 0x9e6c63d0876a9a47u));
  if (!(random.fraction() < plan_.chance)) return 0.0;
  return plan_.shortest + random.fraction() * (plan_.longest - plan_.shortest);
}

void disturb(noise_kind kind, double length, const schedules::clock_function& now,
             const std::function<void(double nanoseconds)>& sleep) {
  if (!(length > 0.0)) return;
  if (kind == noise_kind::sleeping) {
    sleep(length);
    return;
  }
  const double end = now() + length;
  while (now() < end) continue;
}

}  // namespace tri::sim
