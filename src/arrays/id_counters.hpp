// The names that a PE gives to what it makes, arrays or locks (local_array.hpp: array_id). Used by the PE's thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "trireme/detail/arrays/local_array.hpp"

namespace tri::arrays {

class id_counters {
 public:
  /// Of what all PEs make, in the same order.
  array_id next_of_all() { return id_of(0, by_all_++); }
  std::uint64_t made_by_all() const { return by_all_ - 1; }
  /// Of what this PE makes alone.
  array_id next_of(int own_pe) { return id_of(static_cast<std::uint64_t>(own_pe) + 1, alone_++); }
  /// The last number that was given, of either; those that come are behind `number`.
  std::uint64_t last() const { return std::max(by_all_, alone_) - 1; }
  void begin_behind(std::uint64_t number) { by_all_ = alone_ = number + 1; }

 private:
  std::uint64_t by_all_ = 1;
  std::uint64_t alone_ = 1;
};

}  // namespace tri::arrays
