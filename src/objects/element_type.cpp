#include "trireme/detail/objects/element_type.hpp"

#include <fmt/format.h>

#include <deque>

#include "os/hash.hpp"

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

std::uint64_t element_type_fingerprint() {
  std::uint64_t hash = os::hash_of_nothing;
  for (const element_type& each : types()) hash = os::hashed_name(hash, each.name);
  return hash;
}

std::uint32_t element_types() { return static_cast<std::uint32_t>(types().size()); }

void check_element_type(std::uint32_t number) {
  if (number >= types().size())
    throw archive_error(fmt::format("it is of class {}; there are 0..{}", number, types().size() - 1));
  if (types()[number].load == nullptr)
    throw archive_error(
        fmt::format("it is of class {}, which cannot be moved to another process", types()[number].name));
}

}  // namespace tri::objects
