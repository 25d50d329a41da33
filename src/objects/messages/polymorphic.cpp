#include "trireme/detail/objects/polymorphic.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "os/hash.hpp"

namespace tri::objects {
namespace {

struct registry {
  std::map<std::pair<std::type_index, std::type_index>, derived_class_entry> by_class;  // base, derived
  std::map<std::pair<std::type_index, std::uint64_t>, const derived_class_entry*> by_hash;
};
std::string name_of_type(std::type_index type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                    &std::free);
  return status == 0 ? name.get() : type.name();
}

// Filled before main, read by all threads afterwards.
registry& known() {
  static registry all;
  return all;
}

}  // namespace

void register_derived_class(derived_class_entry entry) {
  entry.hash = os::hashed(entry.name);
  const auto [made, is_new] = known().by_class.try_emplace({entry.base, entry.derived}, std::move(entry));
  if (!is_new) return;  // a header declares it in several files
  const derived_class_entry& registered = made->second;
  const auto [same_hash, is_first] = known().by_hash.try_emplace({registered.base, registered.hash}, &registered);
  if (is_first) return;
  fmt::print(stderr, "trireme: the names of the classes {} and {} have the same hash; rename one of them\n",
             registered.name, same_hash->second->name);
  std::abort();
}

const derived_class_entry& derived_class_of(std::type_index base, const std::string& name_of_base,
                                            std::type_index derived) {
  const auto found = known().by_class.find({base, derived});
  if (found == known().by_class.end())
    throw std::runtime_error(
        fmt::format("trireme: an object of class {} cannot be sent by a pointer to {}: declare "
                    "tri::derived_class<{}, that class> at namespace scope",
                    name_of_type(derived), name_of_base, name_of_base));
  return found->second;
}

const derived_class_entry& derived_class_named(std::type_index base, const std::string& name_of_base,
                                               std::uint64_t hash) {
  const auto found = known().by_hash.find({base, hash});
  if (found == known().by_hash.end())
    throw archive_error(fmt::format("no class derived from {} has the number {:x}", name_of_base, hash));
  return *found->second;
}

}  // namespace tri::objects
