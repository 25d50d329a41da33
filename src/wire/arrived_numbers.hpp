// Which numbers have come of a peer that counts what it sends: each comes once, in any order. All below the low-water
// mark have; what is above it is remembered one by one, and is little, as the gaps fill soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

namespace tri::wire {

class arrived_numbers {
 public:
  /// False: it has come before.
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
