// The sequence numbers received from a peer: each arrives once, in any order. All below the low-water mark have
// arrived; those above it are stored individually and are few, as gaps fill soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

namespace tri::wire {

class arrived_numbers {
 public:
  /// False: a duplicate.
  bool add(std::uint64_t number) {
    if (number != low_water_mark_) return number > low_water_mark_ && above_.insert(number).second;
    ++low_water_mark_;
    while (!above_.empty() && *above_.begin() == low_water_mark_) {
      above_.erase(above_.begin());
      ++low_water_mark_;
    }
    return true;
  }
  std::uint64_t low_water_mark() const { return low_water_mark_; }
  std::size_t above() const { return above_.size(); }

 private:
  std::uint64_t low_water_mark_ = 0;
  std::set<std::uint64_t> above_;
};

}  // namespace tri::wire
