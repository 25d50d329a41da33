// Which participant ran which iterations of a loop, and which owned them: claims from others' ranges and their
// distance, iterations run elsewhere than in the previous execution, chunks adjacent to the participant's previous one.
// Sums over executions. One user at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/loop_layout.hpp"
#include "schedules/loop_times.hpp"

namespace tri::schedules {

struct participant_chunks {
  std::uint64_t chunks = 0;
  std::uint64_t from_pool = 0;
  std::uint64_t stolen = 0;
  std::uint64_t steal_distance = 0;  ///< of all that were stolen: to the owner's number, the shorter way round the ring
  std::uint64_t iterations = 0;
  std::uint64_t dynamic_iterations = 0;  ///< from the pool or stolen
  std::uint64_t in_sequence = 0;         ///< of these, in chunks that touch the one that the participant ran before
  std::uint64_t moved = 0;               ///< iterations that another participant ran last time
  double busy = 0.0;                     ///< ticks in bodies
};

class chunk_statistics {
 public:
  /// `times` kept its chunks. No layout: every iteration is owned by the participant that ran it.
  void add(const loop_times& times, const loop_layout* layout);
  const std::vector<participant_chunks>& participants() const { return sums_; }
  /// Executions whose iterations could be compared with those of the one before.
  std::uint64_t compared() const { return compared_; }

 private:
  struct owned {
    std::uint64_t first, last;
    std::uint32_t participant;
  };
  std::vector<participant_chunks> sums_;
  std::vector<owned> before_;  // by first iteration
  std::uint64_t items_before_ = 0;
  std::uint64_t compared_ = 0;
};

}  // namespace tri::schedules
