// A network that is slower than the one that is there: when what begins now would be complete. Without I/O or a clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace tri::sched {

struct link_options {
  std::int64_t latency_ns = 0;
  std::uint64_t bytes_per_second = 0;  // 0: no limit
  std::int64_t reorder_ns = 0;         // up to this much later, at random: they overtake each other

  bool is_immediate() const { return latency_ns == 0 && bytes_per_second == 0 && reorder_ns == 0; }
};

/// A pure function of the calls before and of the seed.
class emulated_link {
 public:
  emulated_link(const link_options& options, std::uint64_t seed) : options_(options), random_(seed) {}
  bool is_immediate() const { return options_.is_immediate(); }
  /// The link moves one after the other, each at its bandwidth; the latency of one overlaps the others.
  std::int64_t completion_ns(std::int64_t now_ns, std::uint64_t bytes) {
    constexpr double ns_per_second = 1e9;
    free_ns_ = std::max(now_ns, free_ns_);
    if (options_.bytes_per_second != 0)
      free_ns_ += static_cast<std::int64_t>(static_cast<double>(bytes) * ns_per_second /
                                            static_cast<double>(options_.bytes_per_second));
    const std::int64_t later =
        options_.reorder_ns == 0 ? 0 : std::uniform_int_distribution<std::int64_t>(0, options_.reorder_ns)(random_);
    return free_ns_ + options_.latency_ns + later;
  }

 private:
  link_options options_;
  std::int64_t free_ns_ = 0;  // when it has moved what was begun
  std::mt19937_64 random_;
};

}  // namespace tri::sched
