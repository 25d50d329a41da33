// Arrays whose indices are keys of the user's types; elements migrate while they are called.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct version_key {
  int major = 0, minor = 0;
  std::string name;
  bool operator==(const version_key&) const = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(major, minor, name);
  }
};

}  // namespace
}  // namespace tri::testing

template <>
struct std::hash<tri::testing::version_key> {
  std::size_t operator()(const tri::testing::version_key& key) const {
    return std::hash<std::string>{}(key.name) * 31 + static_cast<std::size_t>(key.major * 1000 + key.minor);
  }
};

namespace tri::testing {
namespace {

template <class Key>
struct keyed : array_element<keyed<Key>, Key> {
  int visits = 0;
  keyed() = default;
  explicit keyed(int start) : visits(start) {}
  Key visit(int pe) {
    ++visits;
    this->migrate_to(pe % pe_count());
    return this->this_index();
  }
  int count() { return visits; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(visits);
  }
};

template <class Key>
void keys_of_type(const std::vector<Key>& keys) {
  auto array = make_sparse_array<keyed<Key>>();
  for (std::size_t i = 0; i < keys.size(); ++i) array.insert_on(static_cast<int>(i) % pe_count(), keys[i], 100);
  for (int round = 0; round < 4; ++round)
    for (std::size_t i = 0; i < keys.size(); ++i)
      check(array[keys[i]].template call<&keyed<Key>::visit>(static_cast<int>(i) + round).get() == keys[i],
            "an element has another key");
  check_equal(array.template reduce<&keyed<Key>::count>(sum).get(), static_cast<int>(keys.size()) * 104);
}
void keys() {
  keys_of_type<int>({0, 1, -1, 2147483647, 42});
  keys_of_type<std::string>({"", "a", "b", "a key longer than any small string of the library"});
  keys_of_type<version_key>({{1, 2, "x"}, {1, 2, "y"}, {2, 1, "x"}});
}
const case_entry keys_case{"keys", &keys};

}  // namespace
}  // namespace tri::testing
