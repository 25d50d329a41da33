// Single objects: created anywhere, at any time, without an array around them. All single objects of the job form one
// sparse collection, number 0, that exists from the start; an object's number names the PE it was created for.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>

#include "trireme/array.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {

/// PE it was created for (16 bits), PE that created it (16 bits), running number of this pair.
struct object_key {
  std::uint64_t number = 0;
  friend bool operator==(const object_key&, const object_key&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};
inline std::string describe_key(const object_key& key) {
  std::string text("#");
  return text.append(std::to_string(key.number & 0xffffffffu))
      .append(" (made by PE ")
      .append(std::to_string((key.number >> 32) & 0xffffu))
      .append(" for PE ")
      .append(std::to_string(key.number >> 48))
      .append(")");
}

struct object_home_map {
  int operator()(std::uint64_t number, std::uint64_t, int, const array_shape&) const {
    return static_cast<int>(number >> 48);
  }
};

}  // namespace objects
}  // namespace tri

template <>
struct std::hash<tri::objects::object_key> {
  std::size_t operator()(const tri::objects::object_key& key) const { return key.number; }
};

namespace tri {

/// Base of single objects. They may migrate like elements of arrays.
template <class Self>
class object : public array_element<Self, objects::object_key> {
 public:
  element_ref<Self> this_object() const { return this->this_element(); }
};

/// Creates a single object on a PE and returns its handle at once; messages sent to it arrive after its constructor.
template <class T, class... A>
element_ref<T> make_object_on(int pe, A&&... arguments) {
  auto& here = sched::this_pe();
  if (pe < 0 || pe >= here.job().pes())
    throw std::out_of_range(objects::type_name<T>() + ": asked to be created on PE " + std::to_string(pe) +
                            "; there are PEs 0.." + std::to_string(here.job().pes() - 1));
  const objects::object_key key{(static_cast<std::uint64_t>(pe) << 48) |
                                (static_cast<std::uint64_t>(here.number()) << 32) |
                                objects::pe_objects::of(here).next_single_for(pe)};
  using inserted = objects::insertion<T, objects::object_key, std::decay_t<A>...>;
  objects::post_packed(here, pe, inserted::handler, 0, key.number,
                       objects::pack_arguments<typename inserted::tuple>(here, here.is_in_this_process(pe), false, key,
                                                                         std::forward<A>(arguments)...));
  return element_ref<T>(0, key.number);
}
/// The same on the calling PE.
template <class T, class... A>
element_ref<T> make_object(A&&... arguments) {
  return make_object_on<T>(sched::this_pe().number(), std::forward<A>(arguments)...);
}

}  // namespace tri

#pragma GCC visibility pop
