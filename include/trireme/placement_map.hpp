// Placement maps with state, which every process is given when the map is made: tables, bounds, a value for each PE.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <utility>

#include "trireme/nodegroup.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {

/// The map in one process; in checkpoints like other node groups.
template <class Index, class Map>
class map_member : public nodegroup_member<map_member<Index, Map>> {
 public:
  static constexpr bool same_everywhere = true;
  map_member() = default;
  explicit map_member(Map map) : map_(std::move(map)) {}
  int place(const Index& where, int pes) const { return map_(where, pes); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(map_);
  }

 private:
  Map map_;
};

template <class Index, class Map>
struct map_with_state {
  static bool fits(const node_object* state) { return dynamic_cast<const map_member<Index, Map>*>(state) != nullptr; }
  int operator()(std::uint64_t element, std::uint64_t, int pes, const array_shape& shape,
                 const node_object* map) const {
    return static_cast<const map_member<Index, Map>&>(*map).place(index_of<Index>(shape, element), pes);
  }
};

}  // namespace objects

/// A placement of your own with state (Charm++: CkArrayMap): `map(const Index&, int pes)` is const and returns a PE,
/// the same in every process and at any time; several PEs call it at once. Map is default-constructible, and plain or
/// with a serialize function. It lives until the job ends, for any number of arrays. For indices of tri::index; user
/// keys are placed by their hash alone. For sparse arrays it is asked again and again: let it be quick. After a restart
/// from a checkpoint it has the state that it had, and is asked with the number of PEs that there are; a PE that does
/// not exist ends the job. Any PE may call it.
template <class Index, class Map>
placement make_placement_map(const Map& map) {
  static_assert(objects::dimensions_of<Index> > 0, "make_placement_map: maps are for tri::index<1> to tri::index<6>");
  static_assert(
      std::is_default_constructible_v<Map> && objects::is_serializable<Map>,
      "make_placement_map: every process gets the map, so it needs a default constructor and must be plain or "
      "have a serialize function");
  const auto everywhere = make_nodegroup<objects::map_member<Index, Map>>(map);
  return {objects::placement_entry<objects::map_with_state<Index, Map>>::number, everywhere.id()};
}

}  // namespace tri

#pragma GCC visibility pop
