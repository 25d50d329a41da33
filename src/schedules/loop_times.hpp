// The times of one execution of a loop, as measured by its participants: ticks per participant, and per bin of the
// iteration space. Each participant writes its own part while it runs chunks; the poster reads all of it after the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "os/clock.hpp"

namespace tri::schedules {

/// The iteration space in equal parts, each with the ticks that its iterations took.
inline constexpr std::size_t cost_bins = 64;
using cost_profile = std::array<double, cost_bins>;

class loop_times {
 public:
  struct chunk {
    std::uint64_t first = 0, last = 0;
  };
  struct alignas(64) participant_times {
    std::uint64_t started = 0;        // tick at which the running chunk began
    std::uint64_t first_started = 0;  // tick at which the first one did
    std::uint64_t busy = 0;           // ticks in bodies
    std::uint64_t claims = 0;
    std::uint64_t iterations = 0;
    std::uint64_t last_end = 0;         // tick
    std::uint64_t first_iteration = 0;  // of the first claim: of an owner, its static part
    std::uint64_t first_iterations = 0;
    std::uint64_t first_ticks = 0;
    cost_profile cost{};
    std::vector<chunk> chunks;  // in the order in which they were run, if they are kept
  };

  loop_times(std::uint64_t items, std::uint32_t participants) : items_(items), of_(participants) {}

  void start(int number) { of_[static_cast<std::size_t>(number)].started = os::ticks(); }
  void stop(int number, std::uint64_t first, std::uint64_t last) {
    participant_times& own = of_[static_cast<std::size_t>(number)];
    own.last_end = os::ticks();
    if (own.claims == 0) own.first_started = own.started;
    record(own, first, last, own.last_end - own.started);
  }
  /// The same with a given time, for tests and simulations.
  void record(int number, std::uint64_t first, std::uint64_t last, std::uint64_t ticks) {
    record(of_[static_cast<std::size_t>(number)], first, last, ticks);
  }

  /// The same for participants without a measuring caller that know when a chunk began and ended.
  void record_between(std::uint32_t number, std::uint64_t first, std::uint64_t last, std::uint64_t began,
                      std::uint64_t ended) {
    participant_times& own = of_[number];
    own.last_end = ended;
    record(own, first, last, ended - began);
  }

  /// From now on, until the next reset.
  void keep_chunks() { keeps_chunks_ = true; }
  std::uint64_t items() const { return items_; }
  const std::vector<participant_times>& participants() const { return of_; }
  void clear() { std::fill(of_.begin(), of_.end(), participant_times{}); }
  void reset(std::uint64_t items, std::uint32_t participants) {
    items_ = items;
    keeps_chunks_ = false;
    of_.assign(participants, {});
  }
  /// As reset, but what each participant had stays until it clears that itself: its lines are where it runs.
  void reshape(std::uint64_t items, std::uint32_t participants) {
    items_ = items;
    if (of_.size() != participants) of_.resize(participants);
  }
  void clear(std::uint32_t number) { of_[number] = {}; }
  /// Tick at which the last chunk ended; 0 when nothing was recorded with a tick.
  std::uint64_t last_end() const {
    std::uint64_t latest = 0;
    for (const participant_times& each : of_) latest = std::max(latest, each.last_end);
    return latest;
  }
  /// Ticks of each bin, over all participants.
  cost_profile profile() const {
    cost_profile sum{};
    for (const participant_times& each : of_)
      for (std::size_t bin = 0; bin < cost_bins; ++bin) sum[bin] += each.cost[bin];
    return sum;
  }
  std::uint64_t busy() const {
    std::uint64_t sum = 0;
    for (const participant_times& each : of_) sum += each.busy;
    return sum;
  }

 private:
  // The time of a chunk is spread evenly over its iterations.
  void record(participant_times& own, std::uint64_t first, std::uint64_t last, std::uint64_t ticks) const {
    own.busy += ticks;
    own.iterations += last - first;
    if (keeps_chunks_) own.chunks.push_back({first, last});
    if (own.claims++ == 0) {
      own.first_iteration = first;
      own.first_iterations = last - first;
      own.first_ticks = ticks;
    }
    const double bins_per_item = static_cast<double>(cost_bins) / static_cast<double>(items_);
    const double begin = static_cast<double>(first) * bins_per_item;
    const double end = static_cast<double>(last) * bins_per_item;
    const auto first_bin = std::min(static_cast<std::size_t>(begin), cost_bins - 1);
    const auto last_bin = std::min(static_cast<std::size_t>(end), cost_bins - 1);
    if (first_bin == last_bin) {
      own.cost[first_bin] += static_cast<double>(ticks);
      return;
    }
    const double ticks_per_bin = static_cast<double>(ticks) / (end - begin);
    own.cost[first_bin] += ticks_per_bin * (static_cast<double>(first_bin + 1) - begin);
    for (std::size_t bin = first_bin + 1; bin < last_bin; ++bin) own.cost[bin] += ticks_per_bin;
    own.cost[last_bin] += ticks_per_bin * (end - static_cast<double>(last_bin));
  }

  std::uint64_t items_;
  bool keeps_chunks_ = false;
  std::vector<participant_times> of_;
};

}  // namespace tri::schedules
