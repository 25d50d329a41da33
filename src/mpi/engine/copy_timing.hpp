// Whether a waiting receiver shares a copy or makes it alone, learned from timings of both. Idle ranks speed up a copy
// as long as memory is the limit. Data that stays in the caches of one core is different: each chunk that another rank
// copies moves its lines from there, and back with the next message. The size does not tell the two apart: that depends
// on the caches, on the buffers, and on whether the others have copies of their own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tri::mpi {

/// For one rank and the copies that it waits for. A state machine whose caller passes the times; one thread at a time.
class copy_timing {
 public:
  /// The next copy of that size: shared or alone?
  bool shares(std::size_t bytes) {
    of_size& size = at(bytes);
    if (size.shared.samples < samples_wanted) return true;
    if (size.alone.samples < samples_wanted) return false;
    const bool better = size.shared_is_better();
    if (++size.since_other_way < size.interval) return better;
    size.since_other_way = 0;
    return !better;
  }
  /// How long one, or several one after the other, took from its match to its end.
  void took(std::size_t bytes, std::uint64_t total_bytes, bool shared, std::uint64_t ticks) {
    of_size& size = at(bytes);
    const double sample = static_cast<double>(ticks) * 1024 / static_cast<double>(total_bytes);
    const bool before = size.shared_is_better();
    (shared ? size.shared : size.alone).add(sample);
    if (size.shared.samples < samples_wanted || size.alone.samples < samples_wanted) return;
    // The longer it has been so, the less often the other way is tried.
    size.interval = size.shared_is_better() == before ? std::min(size.interval + 1, longest_interval) : first_interval;
  }

  static constexpr std::uint32_t samples_wanted = 4;
  static constexpr std::uint32_t first_interval = 16;
  static constexpr std::uint32_t longest_interval = 256;
  static constexpr double least_gain = 0.85;

 private:
  struct average {
    double ticks_per_KiB = 0;
    std::uint32_t samples = 0;

    // A rank that was preempted measures the scheduler, not the copy: no sample counts for more than twice the rest.
    void add(double sample) {
      if (samples < samples_wanted) {
        ticks_per_KiB = samples == 0 ? sample : std::min(ticks_per_KiB, sample);
        ++samples;
        return;
      }
      ticks_per_KiB += (std::min(sample, 2 * ticks_per_KiB) - ticks_per_KiB) / 8;
    }
  };
  struct of_size {
    average shared;
    average alone;
    std::uint32_t since_other_way = 0;
    std::uint32_t interval = first_interval;

    // Shared copies also continue while their rank does something else, so copying alone must be clearly faster.
    bool shared_is_better() const { return alone.ticks_per_KiB > least_gain * shared.ticks_per_KiB; }
  };
  // Powers of two.
  of_size& at(std::size_t bytes) { return sizes_[static_cast<std::size_t>(std::bit_width(bytes))]; }

  std::array<of_size, 65> sizes_;
};

}  // namespace tri::mpi
