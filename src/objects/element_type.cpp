#include "objects/element_type.hpp"

#include <deque>

namespace tri::objects {
namespace {
std::deque<element_type>& types() {
  static std::deque<element_type> registered;
  return registered;
}
}  // namespace

std::uint32_t register_element_type(element_type type) {
  types().push_back(std::move(type));
  return static_cast<std::uint32_t>(types().size() - 1);
}

const element_type& element_type_of(std::uint32_t number) { return types()[number]; }

}  // namespace tri::objects
