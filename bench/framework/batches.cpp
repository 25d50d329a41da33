#include "framework/batches.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "os/clock.hpp"

namespace tri::bench {
namespace {

using batch_operation = std::function<batch_result(std::uint64_t)>;

long involuntary_switches_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

batch_result run_batch(const batch_operation& operation, std::uint64_t operations) {
  const long before = involuntary_switches_of_this_thread();
  batch_result result = operation(operations);
  if (involuntary_switches_of_this_thread() != before) result.disturbed = true;
  if (!(result.elapsed_ns > 0) || !std::isfinite(result.elapsed_ns)) {
    throw std::logic_error("a benchmark's operation reported a batch that took no time");
  }
  return result;
}

// Finds how many operations fill one batch. An interrupted batch is too long, never too short, so the shortest of three
// counts.
std::uint64_t calibrate(const batch_operation& operation, double batch_ns) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  std::uint64_t operations = 1;
  while (operations < most) {
    double elapsed_ns = run_batch(operation, operations).elapsed_ns;
    for (int again = 0; again < 2 && elapsed_ns >= batch_ns / 2; ++again) {
      elapsed_ns = std::min(elapsed_ns, run_batch(operation, operations).elapsed_ns);
    }
    if (elapsed_ns >= batch_ns / 2) {
      const double fitting = static_cast<double>(operations) * batch_ns / elapsed_ns;
      return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(fitting));
    }
    const double growth = std::clamp(batch_ns / elapsed_ns, 2.0, 10.0);
    operations = static_cast<std::uint64_t>(static_cast<double>(operations) * growth);
  }
  return operations;
}

samples keep_clean(const std::vector<batch_result>& batches, std::uint64_t operations) {
  const auto clean = static_cast<std::size_t>(
      std::count_if(batches.begin(), batches.end(), [](const batch_result& batch) { return !batch.disturbed; }));
  const bool only_clean = 2 * clean >= batches.size();
  samples kept;
  kept.operations_in_one_batch = operations;
  for (const batch_result& batch : batches) {
    if (only_clean && batch.disturbed) {
      ++kept.disturbed;
      continue;
    }
    kept.operation_ns.push_back(batch.elapsed_ns / static_cast<double>(operations));
    if (batch.handoff_ns > 0) kept.handoff_ns.push_back(batch.handoff_ns);
  }
  if (!kept.handoff_ns.empty() && kept.handoff_ns.size() != kept.operation_ns.size()) {
    throw std::logic_error("a benchmark's operation measured the hand-off in some batches only");
  }
  return kept;
}

}  // namespace

samples batch_runner::time(const std::function<void(std::uint64_t)>& operation) const {
  return collect([&](std::uint64_t operations) {
    const std::int64_t start_ns = os::now_ns();
    operation(operations);
    return batch_result{.elapsed_ns = static_cast<double>(std::max<std::int64_t>(1, os::now_ns() - start_ns))};
  });
}

samples batch_runner::collect(const std::function<batch_result(std::uint64_t)>& operation) const {
  const double batch_ns = options_.batch_time_ms * 1e6;
  const std::int64_t warm_until_ns = os::now_ns() + static_cast<std::int64_t>(options_.warm_up_ms * 1e6);
  std::uint64_t operations = calibrate(operation, batch_ns);
  while (os::now_ns() < warm_until_ns) run_batch(operation, operations);
  operations = calibrate(operation, batch_ns);

  std::vector<batch_result> batches;
  const std::int64_t start_ns = os::now_ns();
  const auto seconds = [start_ns] { return static_cast<double>(os::now_ns() - start_ns) * 1e-9; };
  while (batches.size() < options_.repetitions || seconds() < options_.min_time_s) {
    if (batches.size() >= 3 && seconds() > options_.max_time_s) break;
    batches.push_back(run_batch(operation, operations));
  }
  return keep_clean(batches, operations);
}

}  // namespace tri::bench
