// Where objects begin that are made without a place (single.hpp).
#include <algorithm>
#include <array>

#include "config/configuration.hpp"
#include "sched/remote/host_records.hpp"
#include "trireme/single.hpp"

namespace tri::objects {
namespace {

constexpr int neighbours_on_each_side = 2;

static_assert(static_cast<int>(config::seed_strategy::here) == static_cast<int>(seed_strategy::here) &&
              static_cast<int>(config::seed_strategy::random) == static_cast<int>(seed_strategy::random) &&
              static_cast<int>(config::seed_strategy::neighbour) == static_cast<int>(seed_strategy::neighbour) &&
              static_cast<int>(config::seed_strategy::stealing) == static_cast<int>(seed_strategy::stealing));

// Weyl sequence and finalizer: one addition and a hash for each object. Begins with the PE's number, so that a program
// whose messages come in the same order places its objects alike.
std::uint64_t draw(const sched::pe& here) {
  static thread_local std::uint64_t state = 0;
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  state += odd;
  return finalize_hash(state + static_cast<std::uint64_t>(here.number()));
}

int random_pe(const sched::pe& here, bool stays) {
  const sched::runtime& job = here.job();
  const int first = stays ? job.process() * job.pes_per_process() : 0;
  const int count = stays ? job.pes_per_process() : job.pes();
  return first + static_cast<int>(draw(here) % static_cast<std::uint64_t>(count));
}

// Of PEs with as many, the one that comes first: this PE, then those next to it.
int least_loaded_neighbour(const sched::pe& here) {
  const sched::runtime& job = here.job();
  const int pes = job.pes_of_host();
  const int own = static_cast<int>(job.host_pe_number(here.number()));
  int best = here.number();
  std::int64_t least = here.record().seeds.size();
  for (int step = 1; step <= std::min(neighbours_on_each_side, pes - 1) && least > 0; ++step) {
    for (const int other : {(own + step) % pes, (own + pes - step) % pes}) {
      const int pe = job.first_pe_of_host() + other;
      const std::int64_t waiting = job.record_of(pe)->seeds.size();
      if (waiting >= least) continue;
      least = waiting;
      best = pe;
    }
  }
  return best;
}

}  // namespace

place_of_object place_without_wish(sched::pe& here, const seed_options& options, bool stays) {
  const sched::runtime& job = here.job();
  const seed_strategy strategy = options.strategy.value_or(static_cast<seed_strategy>(job.values().seeds));
  // Who takes a seed is not in the record of a run.
  const bool is_repeated = !job.values().record.empty() || !job.values().replay.empty();
  const bool may_move = !is_repeated && (!stays || job.processes() == 1);
  switch (strategy) {
    case seed_strategy::here:
      break;
    case seed_strategy::random:
      return {random_pe(here, stays), false};
    case seed_strategy::neighbour:
      if (may_move) return {least_loaded_neighbour(here), true};
      break;
    case seed_strategy::stealing:
      if (may_move) return {here.number(), true};
      break;
  }
  return {here.number(), false};
}

}  // namespace tri::objects
