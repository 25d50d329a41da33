// What one PE reports of its loads, as it travels to the PE that decides; and names of elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/index.hpp"

namespace tri::objects {

struct element_name {
  std::uint32_t collection = 0;
  std::uint64_t number = 0;
  friend bool operator==(const element_name&, const element_name&) = default;
  friend auto operator<=>(const element_name&, const element_name&) = default;
};
inline std::uint64_t hash_of(const element_name& name) {
  return finalize_hash(name.number + (std::uint64_t{name.collection} << 40));
}

struct load_part {
  /// Travels as its bytes, of which there may be hundreds of thousands: no vectors, no bool (any byte may come).
  struct element {
    element_name name;
    std::int64_t load_ns = 0;  ///< time on this PE; or work, that is time on a usual one
    std::int64_t bytes = 0;
    std::array<double, 3> position = {};
    std::uint32_t user_data_bytes = 0;
    std::uint8_t dimensions = 0;  ///< of its position; 0: it has none
    std::uint8_t is_work = 0;
    std::uint8_t is_migratable = 1;
  };
  struct pair {
    element_name from, to;
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
  };

  std::int32_t pe = 0;
  double rate = 1.0;  ///< how fast the PE computes: comparable with other PEs only
  std::int64_t background_ns = 0;
  std::int32_t host = 0;
  std::int32_t numa_node = 0;
  std::int32_t cache = 0;
  std::vector<std::string> counters;  ///< of --tri-load-counters; all PEs have the same, as soon as they know them
  std::vector<element> elements;      ///< by rising name
  std::vector<std::byte> user_data;   ///< of one element after the other
  std::vector<std::uint64_t> counts;  ///< of each element, as many as there are counters
  std::vector<pair> traffic;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(pe, rate, background_ns, host, numa_node, cache, counters, elements, user_data, counts, traffic);
  }
};

/// How long a PE was busy since the last balancing.
struct load_total {
  std::int32_t pe = 0;
  double rate = 1.0;
  std::int64_t busy_ns = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(pe, rate, busy_ns);
  }
};

/// An element is to migrate to a PE.
struct move_order {
  element_name name;
  std::int32_t to = 0;
};

/// What became of a PE's orders.
struct move_counts {
  std::int64_t moved = 0;
  std::int64_t waiting = 0;    ///< they go as soon as they can
  std::int64_t withdrawn = 0;  ///< deleted, or sent elsewhere or kept by the program
  template <class Archive>
  void serialize(Archive& archive) {
    archive(moved, waiting, withdrawn);
  }
  move_counts& operator+=(const move_counts& more) {
    moved += more.moved;
    waiting += more.waiting;
    withdrawn += more.withdrawn;
    return *this;
  }
};

}  // namespace tri::objects
