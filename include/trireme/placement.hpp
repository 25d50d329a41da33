// Placement maps: which PE an element is created on. A map is a pure function of the element's number, so every PE
// knows the initial place of every element without communication. Maps are registered by type, like entry methods.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>

#include "trireme/detail/objects/local_collection.hpp"
#include "trireme/index.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {
/// `fits`: whether the map can have such a state.
std::uint32_t register_placement(placement_function place, bool (*fits)(const node_object* state));
placement_function placement_of(std::uint32_t number);
bool placement_fits(std::uint32_t number, const node_object* state);
std::uint32_t placements();  ///< the number of placements

template <class Map>
struct placement_entry {
  static constexpr bool has_state =
      requires(const array_shape& shape, const node_object* state) { Map{}(0, 0, 0, shape, state); };
  static int place(std::uint64_t element, std::uint64_t elements, int pes, const array_shape& shape,
                   [[maybe_unused]] const node_object* state) {
    if constexpr (has_state)
      return Map{}(element, elements, pes, shape, state);
    else
      return Map{}(element, elements, pes, shape);
  }
  static bool fits(const node_object* state) {
    if constexpr (has_state)
      return Map::fits(state);
    else
      return state == nullptr;
  }
  static inline const std::uint32_t number = register_placement(&place, &fits);
};
}  // namespace objects

/// A placement map by its number; made by the constants and functions below.
struct placement {
  std::uint32_t number;
  std::uint32_t map = 0;  ///< the node group that has the state of the map (placement_map.hpp); 0: it has none
};

namespace objects {
struct block_map {  // contiguous runs of equal length; sparse arrays, which have no total, by hash
  int operator()(std::uint64_t element, std::uint64_t elements, int pes, const array_shape&) const {
    if (elements == 0) return static_cast<int>(finalize_hash(element) % static_cast<std::uint64_t>(pes));
    // element e goes to the PE p with floor(p * n / P) <= e < floor((p + 1) * n / P)
    const auto p = static_cast<std::uint64_t>(pes);
    std::uint64_t pe = static_cast<std::uint64_t>(static_cast<double>(element) / static_cast<double>(elements) *
                                                  static_cast<double>(p));
    while (pe * elements / p > element) --pe;
    while ((pe + 1) * elements / p <= element) ++pe;
    return static_cast<int>(pe);
  }
};
struct round_robin_map {
  int operator()(std::uint64_t element, std::uint64_t, int pes, const array_shape&) const {
    return static_cast<int>(element % static_cast<std::uint64_t>(pes));
  }
};
struct identity_map {
  int operator()(std::uint64_t element, std::uint64_t, int, const array_shape&) const {
    return static_cast<int>(element);
  }
};
template <class Index, class Map>
struct index_map {
  int operator()(std::uint64_t element, std::uint64_t, int pes, const array_shape& shape) const {
    return Map{}(index_of<Index>(shape, element), pes);
  }
};
}  // namespace objects

inline placement block() { return {objects::placement_entry<objects::block_map>::number}; }
inline placement round_robin() { return {objects::placement_entry<objects::round_robin_map>::number}; }
/// A map of your own: a stateless function object or captureless lambda `int(const Index&, int pes)`.
template <class Index, class Map>
placement placed_by(Map) {
  return {objects::placement_entry<objects::index_map<Index, Map>>::number};
}

}  // namespace tri

#pragma GCC visibility pop
