// Whose the tags of a communicator's second context are. Operations may share a tag where one of them ends on a host
// before the other begins there: messages of one sender are received in their order.
#pragma once

#include <cstdint>
#include <limits>

#include "coll/operation_table.hpp"

namespace tri::mpi::collectives {

class operation_tags {
 public:
  /// Messages of an operation that all members count as it begins.
  static int of_operation(std::uint64_t number) { return static_cast<int>(number % plans); }
  /// The first of so many (`rounds`) that the messages of its plan have. The next operation with these tags begins when
  /// it has given back its place in the table.
  static int of_plan(std::uint64_t number, int rounds) {
    return plans + static_cast<int>(number % coll::operation_table::usual_places) * rounds;
  }
  /// More would have too many tags.
  static constexpr int most_rounds = (1 << 30) / static_cast<int>(coll::operation_table::usual_places);

  /// The same of persistent operations, by the order in which they were made. Starts of one follow each other.
  static int of_persistent(int number) { return -1 - number; }
  static int of_persistent_plan(int number, int rounds) { return persistent_plans + number * rounds; }
  static int most_persistent(int rounds) { return (persistent - persistent_plans) / rounds; }

 private:
  // Each is the first of a range that ends where the one above it begins. Those of operations begin at 0.
  static constexpr int plans = 1 << 30;
  static constexpr int persistent = -(1 << 30);
  static constexpr int persistent_plans = std::numeric_limits<int>::min() + 1;  // the least tag says "any"
};

}  // namespace tri::mpi::collectives
