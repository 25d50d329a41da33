#include "trireme/placement.hpp"

#include <vector>

namespace tri::objects {
namespace {
std::vector<placement_function>& maps() {
  static std::vector<placement_function> registered;
  return registered;
}
}  // namespace

std::uint32_t register_placement(placement_function place) {
  maps().push_back(place);
  return static_cast<std::uint32_t>(maps().size() - 1);
}

std::uint32_t placements() { return static_cast<std::uint32_t>(maps().size()); }

placement_function placement_of(std::uint32_t number) { return maps()[number]; }

}  // namespace tri::objects
