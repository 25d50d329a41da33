// How a value of any type is written to an archive and read from it:
//
//   arithmetic types, enumerations                   as their bytes
//   classes with functions of their own              by those: a member or a free function (found by its argument)
//                                                    `serialize(archive[, value])`, or a pair `save` and `load`
//   trivially copyable classes without any           as their bytes, which a std::vector of them needs no loop for
//   arrays, std::pair, std::tuple, std::array        element by element
//   containers                                       their size, then element by element
//   std::optional, std::variant, std::unique_ptr     which alternative, then its value
//   std::shared_ptr                                  each object once in an archive, however many share it
//   these two to a class with virtual functions      by the class that the object has (polymorphic.hpp)
//
// A container is any class with value_type, size(), clear(), iterators and push_back() or insert(): not only those of
// the standard library, whose headers are not needed for this. Wrappers of the library cereal (named values, base
// classes, sizes, binary data) are treated as the values they wrap, so types written for it need no change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "trireme/archive.hpp"

// Names of the library cereal, which is not needed.
#pragma GCC visibility push(default)

namespace cereal {
template <class T>
class NameValuePair;
template <class T>
struct BinaryData;
template <class T>
class SizeTag;
template <class Base>
struct base_class;
template <class Base>
struct virtual_base_class;
}  // namespace cereal

namespace tri::objects {

// ---- functions of the class's own

template <class Archive, class T>
concept has_member_serialize = requires(Archive& archive, T& value) { value.serialize(archive); };
template <class Archive, class T>
concept has_free_serialize = requires(Archive& archive, T& value) { serialize(archive, value); };
template <class T>
concept has_member_save = requires(output_archive& archive, const T& value) { value.save(archive); };
template <class T>
concept has_free_save = requires(output_archive& archive, const T& value) { save(archive, value); };
template <class T>
concept has_member_load = requires(input_archive& archive, T& value) { value.load(archive); };
template <class T>
concept has_free_load = requires(input_archive& archive, T& value) { load(archive, value); };

/// A pair of save and load counts where both are there.
template <class T>
concept has_own_pair = (has_member_save<T> || has_free_save<T>)&&(has_member_load<T> || has_free_load<T>);
template <class T>
concept has_own_serialize = (has_member_serialize<output_archive, T> || has_free_serialize<output_archive, T>)&&(
    has_member_serialize<input_archive, T> || has_free_serialize<input_archive, T>);
template <class T>
concept has_own_functions = has_own_pair<T> || has_own_serialize<T>;

// ---- kinds of types

template <template <class...> class Template, class T>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... T>
inline constexpr bool is_a<Template, Template<T...>> = true;

/// Written as bytes, contiguously for contiguous values. Not types for which some bit patterns are invalid: a bool, or
/// the number of an alternative, for another process may send anything. And not pairs, whose elements a map reads as
/// pairs of another type.
template <class T>
inline constexpr bool has_invalid_bytes = std::is_same_v<T, bool> || is_a<std::optional, T> || is_a<std::variant, T> ||
                                          is_a<std::pair, T> || is_a<std::tuple, T>;
template <class T, std::size_t N>
inline constexpr bool has_invalid_bytes<std::array<T, N>> = has_invalid_bytes<T>;
template <class T>
  requires std::is_enum_v<T>
inline constexpr bool has_invalid_bytes<T> = std::is_same_v<std::underlying_type_t<T>, bool>;

template <class T>
concept bulk_value =
    !has_invalid_bytes<T> && (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                              (std::is_class_v<T> && std::is_trivially_copyable_v<T> && !has_own_functions<T>));

template <class T>
concept container =
    requires(T& values, const T& constant) {
      requires !std::is_same_v<typename T::value_type, T>;
      values.clear();
      constant.size();
      constant.begin() != constant.end();
    } &&
    (
        requires(T& values, typename T::value_type&& one) { values.push_back(std::move(one)); } ||
        requires(T& values, typename T::value_type&& one) { values.insert(values.end(), std::move(one)); });

/// Vectors and strings of elements written as bytes.
template <class T>
concept bulk_container = container<T> && bulk_value<typename T::value_type> && requires(T& values, std::size_t size) {
  values.resize(size);
  { values.data() } -> std::same_as<typename T::value_type*>;
};

template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;
/// Element by element, in a loop.
template <class T>
concept any_array = std::is_array_v<T> || is_std_array<T>;

template <class T>
concept tuple_like = requires { std::tuple_size<T>::value; };

template <class T>
inline constexpr bool is_cereal_wrapper =
    is_a<cereal::NameValuePair, T> || is_a<cereal::BinaryData, T> || is_a<cereal::SizeTag, T> ||
    is_a<cereal::base_class, T> || is_a<cereal::virtual_base_class, T>;

/// Pointers to it are written by the class that the object has.
template <class T>
inline constexpr bool is_polymorphic_base = std::is_polymorphic_v<T> && std::has_virtual_destructor_v<T>;
template <class Base>
void write_polymorphic(output_archive& archive, const Base* object);  // polymorphic.hpp
template <class Base>
void read_polymorphic(input_archive& archive, std::unique_ptr<Base>& pointer);
template <class Base>
void write_shared_polymorphic(output_archive& archive, const std::shared_ptr<Base>& pointer);
template <class Base>
void read_shared_polymorphic(input_archive& archive, std::shared_ptr<Base>& pointer);

/// What std::unique_ptr and std::shared_ptr point to; void for all else.
template <class T>
struct pointed_by {
  using type = void;
};
template <class T>
struct pointed_by<std::unique_ptr<T>> {
  using type = T;
};
template <class T>
struct pointed_by<std::shared_ptr<T>> {
  using type = T;
};
template <class T>
inline constexpr bool points_to_base = is_polymorphic_base<typename pointed_by<T>::type>;

// ---- whether a type can be serialized: checked for the elements, too

template <class T>
constexpr bool has_way();

template <class... T>
constexpr bool all_have_way(const std::variant<T...>*) {
  return (has_way<T>() && ...) && (std::is_default_constructible_v<T> && ...);
}
template <class T, std::size_t... I>
constexpr bool elements_have_way(std::index_sequence<I...>) {
  return (has_way<std::remove_cvref_t<std::tuple_element_t<I, T>>>() && ...);
}
// The type of a container's element while it is read: a map's keys are const.
template <class T>
struct as_read {
  using type = T;
};
template <class Key, class Value>
struct as_read<std::pair<const Key, Value>> {
  using type = std::pair<Key, Value>;
};
template <class T>
using read_element = typename as_read<typename T::value_type>::type;

// NOLINTBEGIN(bugprone-branch-clone): one branch for each kind of type
template <class T>
constexpr bool has_way() {
  if constexpr (std::is_const_v<T>) {
    return false;  // nothing could be read into it
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || is_cereal_wrapper<T>) {
    return true;
  } else if constexpr (std::is_pointer_v<T> || std::is_reference_v<T> || std::is_void_v<T>) {
    return false;
  } else if constexpr (std::is_array_v<T>) {
    return has_way<std::remove_cv_t<std::remove_extent_t<T>>>();
  } else if constexpr (is_std_array<T>) {
    return has_way<typename T::value_type>();
  } else if constexpr (has_own_functions<T>) {
    return !(has_own_pair<T> && has_own_serialize<T>);  // which one is meant? Perhaps one is of the base class
  } else if constexpr (bulk_value<T>) {
    return true;
  } else if constexpr (is_a<std::optional, T>) {
    return has_way<typename T::value_type>() && std::is_default_constructible_v<typename T::value_type>;
  } else if constexpr (is_a<std::variant, T>) {
    return all_have_way(static_cast<const T*>(nullptr));
  } else if constexpr (is_a<std::unique_ptr, T> || is_a<std::shared_ptr, T>) {
    using pointed = typename T::element_type;
    constexpr bool owns_one =
        std::is_same_v<T, std::unique_ptr<pointed>> || std::is_same_v<T, std::shared_ptr<pointed>>;
    if constexpr (!owns_one || std::is_void_v<pointed>) {
      return false;  // how many, or deleted how?
    } else if constexpr (is_polymorphic_base<pointed>) {
      return true;  // the classes that are registered for it (polymorphic.hpp)
    } else if constexpr (std::is_polymorphic_v<pointed>) {
      return false;  // of which class?
    } else {
      return has_way<std::remove_cv_t<pointed>>() && std::is_default_constructible_v<std::remove_cv_t<pointed>>;
    }
  } else if constexpr (container<T>) {
    return has_way<read_element<T>>() && std::is_default_constructible_v<read_element<T>>;
  } else if constexpr (tuple_like<T>) {
    return elements_have_way<T>(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return false;
  }
}
// NOLINTEND(bugprone-branch-clone)

/// It can be written, made and read.
template <class T>
inline constexpr bool is_serializable =
    has_way<std::remove_cv_t<T>>() && std::is_default_constructible_v<T> && !is_cereal_wrapper<T>;

// ---- writing

template <class T>
void write_as_class_says(output_archive& archive, const T& value) {
  auto& itself = const_cast<T&>(value);  // serialize() is one function for both ways
  if constexpr (has_own_pair<T> && has_member_save<T>) {
    value.save(archive);
  } else if constexpr (has_own_pair<T>) {
    save(archive, value);
  } else if constexpr (has_member_serialize<output_archive, T>) {
    itself.serialize(archive);
  } else {
    serialize(archive, itself);
  }
}

template <class T>
void write_cereal_wrapper(output_archive& archive, const T& wrapper) {
  if constexpr (is_a<cereal::NameValuePair, T>) {
    archive(wrapper.value);
  } else if constexpr (is_a<cereal::BinaryData, T>) {
    archive.write(wrapper.data, static_cast<std::size_t>(wrapper.size));
  } else if constexpr (is_a<cereal::SizeTag, T>) {
    archive.write_size(wrapper.size);
  } else {
    archive(*wrapper.base_ptr);
  }
}

/// Its address distinguishes types: pointers of two types may have one address.
template <class T>
inline constexpr char kind_of_shared = 0;

template <class T>
void write_shared(output_archive& archive, const T& pointer) {
  const std::uint32_t any = pointer != nullptr ? 1 : 0;
  archive.write(&any, sizeof any);
  if (any == 0) return;
  using pointed = std::remove_const_t<typename T::element_type>;
  const output_archive::shared_number shared = archive.number_of_shared(pointer, &kind_of_shared<pointed>);
  archive.write(&shared.number, sizeof shared.number);
  if (shared.is_new) write_value(archive, *pointer);
}

template <class T>
void write_value(output_archive& archive, const T& value) {
  static_assert(has_way<std::remove_cv_t<T>>(),
                "this type is neither plain data nor has it a member 'template <class Archive> void "
                "serialize(Archive&)'");
  if constexpr (is_cereal_wrapper<T>) {
    write_cereal_wrapper(archive, value);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || bulk_value<T>) {
    archive.write(&value, sizeof value);
  } else if constexpr (has_own_functions<T>) {
    write_as_class_says(archive, value);
  } else if constexpr (any_array<T>) {
    for (const auto& each : value) write_value(archive, each);
  } else if constexpr (points_to_base<T> && is_a<std::unique_ptr, T>) {
    write_polymorphic<std::remove_const_t<typename T::element_type>>(archive, value.get());
  } else if constexpr (points_to_base<T>) {
    write_shared_polymorphic(archive, value);
  } else if constexpr (is_a<std::optional, T> || is_a<std::unique_ptr, T>) {
    const std::uint32_t any = value ? 1 : 0;
    archive.write(&any, sizeof any);
    if (any != 0) write_value(archive, *value);
  } else if constexpr (is_a<std::variant, T>) {
    const auto choice = static_cast<std::uint32_t>(value.index());
    archive.write(&choice, sizeof choice);
    std::visit([&](const auto& held) { write_value(archive, held); }, value);
  } else if constexpr (is_a<std::shared_ptr, T>) {
    write_shared(archive, value);
  } else if constexpr (bulk_container<T>) {
    archive.write_size(value.size());
    archive.write(value.data(), value.size() * sizeof(typename T::value_type));
  } else if constexpr (container<T>) {
    archive.write_size(value.size());
    for (const typename T::value_type& each : value) write_value(archive, each);
  } else {
    std::apply([&](const auto&... each) { (write_value(archive, each), ...); }, value);
  }
}

// ---- reading

template <class T>
void read_as_class_says(input_archive& archive, T& value) {
  if constexpr (has_own_pair<T> && has_member_load<T>) {
    value.load(archive);
  } else if constexpr (has_own_pair<T>) {
    load(archive, value);
  } else if constexpr (has_member_serialize<input_archive, T>) {
    value.serialize(archive);
  } else {
    serialize(archive, value);
  }
}

template <class T>
void read_cereal_wrapper(input_archive& archive, T& wrapper) {
  if constexpr (is_a<cereal::NameValuePair, T>) {
    archive(wrapper.value);
  } else if constexpr (is_a<cereal::BinaryData, T>) {
    archive.read(wrapper.data, static_cast<std::size_t>(wrapper.size));
  } else if constexpr (is_a<cereal::SizeTag, T>) {
    wrapper.size = archive.read_size();
  } else {
    archive(*wrapper.base_ptr);
  }
}

template <class T>
void read_container(input_archive& archive, T& values) {
  const std::uint64_t size = archive.read_size();
  const input_archive::level deeper(archive);
  values.clear();
  for (std::uint64_t count = 0; count < size; ++count) {
    read_element<T> one{};
    read_value(archive, one);
    if constexpr (requires { values.push_back(std::move(one)); }) {
      values.push_back(std::move(one));
    } else {
      values.insert(values.end(), std::move(one));
    }
  }
}

template <class T>
void read_bulk(input_archive& archive, T& values) {
  const std::uint64_t size = archive.read_size();
  archive.check_size(size, sizeof(typename T::value_type));
  values.resize(static_cast<std::size_t>(size));
  archive.read(values.data(), values.size() * sizeof(typename T::value_type));
}

template <class... T>
void read_variant(input_archive& archive, std::variant<T...>& value) {
  const std::uint32_t choice = archive.read_choice(sizeof...(T));
  const auto read_if_it_is = [&]<std::size_t Number>(std::in_place_index_t<Number>) {
    if (Number != choice) return;
    std::variant_alternative_t<Number, std::variant<T...>> held{};
    read_value(archive, held);
    value.template emplace<Number>(std::move(held));
  };
  [&]<std::size_t... Number>(std::index_sequence<Number...>) {
    (read_if_it_is(std::in_place_index<Number>), ...);
  }(std::index_sequence_for<T...>());
}

template <class T>
void read_shared(input_archive& archive, std::shared_ptr<T>& pointer) {
  pointer.reset();
  if (archive.read_choice(2) == 0) return;
  std::uint32_t number = 0;
  archive.read(&number, sizeof number);
  using pointed = std::remove_const_t<T>;
  if (const std::shared_ptr<void>* const known = archive.shared_of(number, &kind_of_shared<pointed>)) {
    pointer = std::static_pointer_cast<T>(*known);
    return;
  }
  const input_archive::level deeper(archive);
  const auto made = std::make_shared<pointed>();
  archive.add_shared(made, &kind_of_shared<pointed>);  // first: it may point to itself
  read_value(archive, *made);
  pointer = made;
}

template <class T>
void read_value(input_archive& archive, T& value) {
  static_assert(has_way<T>(),
                "this type is neither plain data nor has it a member 'template <class Archive> void "
                "serialize(Archive&)'");
  if constexpr (is_cereal_wrapper<T>) {
    read_cereal_wrapper(archive, value);
  } else if constexpr ((std::is_arithmetic_v<T> || std::is_enum_v<T>)&&has_invalid_bytes<T>) {
    std::uint8_t byte = 0;
    archive.read(&byte, sizeof byte);
    value = static_cast<T>(byte != 0);
  } else if constexpr (bulk_value<T>) {
    archive.read(&value, sizeof value);
  } else if constexpr (has_own_functions<T>) {
    read_as_class_says(archive, value);
  } else if constexpr (any_array<T>) {
    for (auto& each : value) read_value(archive, each);
  } else if constexpr (is_a<std::optional, T>) {
    value.reset();
    if (archive.read_choice(2) != 0) read_value(archive, value.emplace());
  } else if constexpr (points_to_base<T> && is_a<std::unique_ptr, T>) {
    read_polymorphic(archive, value);
  } else if constexpr (points_to_base<T>) {
    read_shared_polymorphic(archive, value);
  } else if constexpr (is_a<std::unique_ptr, T>) {
    value.reset();
    if (archive.read_choice(2) == 0) return;
    const input_archive::level deeper(archive);
    auto made = std::make_unique<std::remove_const_t<typename T::element_type>>();
    read_value(archive, *made);
    value = std::move(made);
  } else if constexpr (is_a<std::variant, T>) {
    read_variant(archive, value);
  } else if constexpr (is_a<std::shared_ptr, T>) {
    read_shared(archive, value);
  } else if constexpr (bulk_container<T>) {
    read_bulk(archive, value);
  } else if constexpr (container<T>) {
    read_container(archive, value);
  } else {
    std::apply([&](auto&... each) { (read_value(archive, each), ...); }, value);
  }
}

}  // namespace tri::objects

#pragma GCC visibility pop

#include "trireme/detail/objects/polymorphic.hpp"  // pointers to base classes
