#include "noise/core_sampler.hpp"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <exception>
#include <limits>
#include <thread>

#include "os/clock.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::tools {
namespace {

double now() { return os::ticks_to_ns(os::ticks()); }

// One thread's work: its share of each round, with the samples appended to `result`.
void sample_round(const work_quantum& quantum, std::uint32_t count, double longest_s, schedules::core_samples& result) {
  const std::uint32_t between_looks = std::isinf(longest_s) ? count : 50;
  const double until = now() + longest_s * 1e9;
  quantum();  // the first one after a pause is not a sample
  for (std::uint32_t done = 0; done < count && (done == 0 || now() < until);) {
    const std::uint32_t batch = std::min(between_looks, count - done);
    const schedules::core_samples more = schedules::record_quanta(result.core, batch, quantum, now);
    result.times.insert(result.times.end(), more.times.begin(), more.times.end());
    done += batch;
  }
}

std::uint32_t samples_of_round(const sampling_plan& plan, std::uint32_t round) {
  const auto until = [&](std::uint32_t end) { return std::uint64_t{plan.samples} * end / plan.rounds; };
  return static_cast<std::uint32_t>(until(round + 1) - until(round));
}

}  // namespace

void work_quantum::operator()() const {
  volatile double end =
      2.0;  // read and written, so that the compiler cannot know the roots in advance or leave them out
  double value = end;
  for (std::uint32_t root = 0; root < roots_; ++root) value = std::sqrt(value + 1.0);
  end = value;
}

work_quantum work_quantum::lasting(double nanoseconds) {
  constexpr std::uint32_t trial_roots = 2000;
  const work_quantum trial(trial_roots);
  double least = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < 200; ++repetition) {
    const double before = now();
    trial();
    least = std::min(least, now() - before);
  }
  const double roots = std::round(nanoseconds * trial_roots / std::max(least, 1.0));
  return work_quantum(static_cast<std::uint32_t>(std::clamp(roots, 1.0, 4e9)));
}

std::vector<schedules::core_samples> sample_cores(const sampling_plan& plan, const work_quantum& quantum,
                                                  const std::function<void(double)>& progress) {
  const std::size_t count = plan.cores.size();
  std::vector<schedules::core_samples> results(count);
  std::vector<std::exception_ptr> errors(count);
  // Between two phases only the calling thread runs. A thread that failed continues to arrive, without sampling.
  std::barrier phases(static_cast<std::ptrdiff_t>(count) + 1);
  std::vector<std::thread> threads;
  const std::uint32_t turns = plan.together ? 1 : static_cast<std::uint32_t>(count);
  for (std::size_t index = 0; index < count; ++index) {
    threads.emplace_back([&, index] {
      schedules::core_samples& own = results[index];
      own.core = plan.cores[index];
      own.times.reserve(plan.samples);
      try {
        os::pin_this_thread(own.core);
      } catch (...) {
        errors[index] = std::current_exception();
      }
      for (std::uint32_t round = 0; round < plan.rounds; ++round) {
        for (std::uint32_t turn = 0; turn < turns; ++turn) {
          phases.arrive_and_wait();  // begins
          if ((plan.together || turn == index) && errors[index] == nullptr)
            sample_round(quantum, samples_of_round(plan, round), plan.longest_round_s, own);
          phases.arrive_and_wait();  // is over
        }
      }
    });
  }
  const std::uint32_t all = plan.rounds * turns;
  for (std::uint32_t phase = 0; phase < all; ++phase) {
    progress(static_cast<double>(phase) / all);
    phases.arrive_and_wait();
    phases.arrive_and_wait();
  }
  for (std::thread& thread : threads) thread.join();
  progress(1.0);
  for (const std::exception_ptr& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
  return results;
}

}  // namespace tri::tools
