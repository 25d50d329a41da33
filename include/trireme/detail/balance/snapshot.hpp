// What a balancing strategy sees: the measured load of objects and PEs and the traffic between objects, at one moment.
// Plain data without pointers into a run time: it can be saved, sent, and looked at elsewhere. One owner, one thread;
// strategies only read it.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::balancing {

struct object_load {
  std::uint64_t id = 0;       ///< the name that the run time gave it; different for each object
  std::int64_t load_ns = 0;   ///< time on its present PE since the last balancing
  std::int64_t bytes = 0;     ///< that its migration sends
  std::int32_t pe = 0;        ///< where it is
  bool is_migratable = true;  ///< false: it stays, and its load counts where it is
};

struct pe_load {
  double speed = 1.0;              ///< beta of Mei's section 7.6: work done in a unit of time, by that of a usual PE
  std::int64_t background_ns = 0;  ///< time of all that is no object, since the last balancing
  std::int32_t host = 0;
  std::int32_t numa_node = 0;  ///< of the host
  std::int32_t cache = 0;      ///< the last-level cache that it shares, of the host
};

/// Of one pair of objects, by their indices in the snapshot.
struct pair_traffic {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

/// The lists with something for each object are empty, or have it for all of them.
struct snapshot {
  std::vector<object_load> objects;
  std::vector<pe_load> pes;
  std::vector<pair_traffic> traffic;

  std::uint32_t dimensions = 0;     ///< of the coordinates, at most most_dimensions
  std::vector<double> coordinates;  ///< `dimensions` numbers for each object

  std::vector<std::string> counters;   ///< names of hardware counters or other second metrics
  std::vector<double> counter_values;  ///< a value of each counter for each object

  std::vector<std::byte> user_data;           ///< of all objects, one after the other
  std::vector<std::uint64_t> user_data_ends;  ///< where that of each object ends

  /// Empty where the snapshot has none.
  std::span<const double> coordinates_of(std::uint32_t object) const;
  std::span<const std::byte> user_data_of(std::uint32_t object) const;
  /// The values of one counter are counters.size() apart.
  double counter_of(std::uint32_t object, std::size_t counter) const {
    return counter_values[object * counters.size() + counter];
  }
};

inline constexpr std::uint32_t most_dimensions = 3;
/// Relative to a usual PE.
inline constexpr double lowest_speed = 0.001;
inline constexpr double highest_speed = 1000.0;

/// Throws std::invalid_argument with what is wrong, where, and what would be right. What passes is safe for all
/// functions here.
void check(const snapshot& of);

/// Where an object goes.
struct move {
  std::uint32_t object = 0;  ///< index in the snapshot
  std::int32_t from = 0;     ///< PEs
  std::int32_t to = 0;
  friend bool operator==(const move&, const move&) = default;
};

/// Throws std::invalid_argument unless each move is of another object that may move, from where it is to another PE
/// that exists. `who` begins the message.
void check_moves(const snapshot& of, std::span<const move> moves, std::string_view who);

}  // namespace tri::balancing

#pragma GCC visibility pop
