#include "trireme/placement.hpp"

#include <vector>

namespace tri::objects {
namespace {
struct registered_map {
  placement_function place;
  bool (*fits)(const node_object* state);
};
std::vector<registered_map>& maps() {
  static std::vector<registered_map> registered;
  return registered;
}
}  // namespace

std::uint32_t register_placement(placement_function place, bool (*fits)(const node_object* state)) {
  maps().push_back({place, fits});
  return static_cast<std::uint32_t>(maps().size() - 1);
}

std::uint32_t placements() { return static_cast<std::uint32_t>(maps().size()); }

placement_function placement_of(std::uint32_t number) { return maps()[number].place; }

bool placement_fits(std::uint32_t number, const node_object* state) { return maps()[number].fits(state); }

}  // namespace tri::objects
