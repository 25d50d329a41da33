// Groups (Charm++: group): one member on every PE, addressed by PE number.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <stdexcept>

#include "trireme/array.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Base of the members of a group.
template <class Self>
class group_member : public array_element<Self, index<1>> {};

/// Handle of a group. `group[pe]` addresses a member; broadcast and reduce as for arrays.
template <class T>
class group : public array<T> {
 public:
  group() = default;
  explicit group(const array<T>& members) : array<T>(members) {}
  /// Throws std::out_of_range when there is no such PE. The number of PEs is that of this job: a handle from a
  /// checkpoint may be of one with others.
  element_ref<T> operator[](int pe) const {
    objects::check_pe(sched::this_pe(), pe, [] { return "group of " + objects::type_name<T>() + ": a member"; });
    return element_ref<T>(this->id(), static_cast<std::uint64_t>(pe));
  }
  element_ref<T> operator()(int pe) const { return (*this)[pe]; }
  /// The member on the calling PE.
  /// Throws std::logic_error when the group does not exist yet because an urgent message has overtaken its creation.
  T& local() const {
    T* const member = element_ref<T>(this->id(), static_cast<std::uint64_t>(sched::this_pe().number())).local();
    if (member == nullptr) [[unlikely]]
      throw std::logic_error("trireme: group of " + objects::type_name<T>() +
                             " has no member on this PE yet (immediate messages pass the creation of collections)");
    return *member;
  }
};

template <class T, class... A>
group<T> make_group(const A&... arguments) {
  objects::array_shape shape;
  shape.dense = true;
  shape.dimensions = 1;
  shape.extent[0] = static_cast<std::uint32_t>(sched::this_pe().job().pes());
  const placement own{objects::placement_entry<objects::identity_map>::number};
  return group<T>(array<T>(objects::create_collection<T>(shape, own, {.one_per_pe = true}, arguments...).id, shape));
}

}  // namespace tri

#pragma GCC visibility pop
