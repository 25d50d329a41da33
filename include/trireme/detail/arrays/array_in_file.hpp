// What files know of a global array: the type of its elements and its shape. The code that reads and writes files is
// compiled once, in src/arrays/files.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "trireme/detail/arrays/position.hpp"
#include "trireme/detail/os/function_ref.hpp"

#pragma GCC visibility push(default)

namespace tri {
struct file_options;
}  // namespace tri

namespace tri::arrays {

/// `bytes`: plain data of the program's own, which files keep as it is.
enum class element_kind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating_point, complex, bytes };
struct element_type {
  element_kind kind = element_kind::bytes;
  std::uint32_t bytes = 0;  ///< of an element
  friend constexpr bool operator==(const element_type&, const element_type&) = default;
};

/// std::complex, and what is like it.
template <class T>
concept complex_number = requires(const T& value) {
  requires std::floating_point<typename T::value_type>;
  requires sizeof(T) == 2 * sizeof(typename T::value_type);
  { value.real() } -> std::convertible_to<typename T::value_type>;
  { value.imag() } -> std::convertible_to<typename T::value_type>;
};

template <class T>
constexpr element_type element_type_of() {
  constexpr auto size = static_cast<std::uint32_t>(sizeof(T));
  if constexpr (std::is_enum_v<T>)
    return element_type_of<std::underlying_type_t<T>>();
  else if constexpr (std::is_same_v<T, bool>)
    return {element_kind::boolean, size};
  else if constexpr (std::is_integral_v<T>)
    return {std::is_signed_v<T> ? element_kind::signed_integer : element_kind::unsigned_integer, size};
  else if constexpr (std::is_floating_point_v<T>)
    return {element_kind::floating_point, size};
  else if constexpr (complex_number<T>)
    return {element_kind::complex, size};
  else
    return {element_kind::bytes, size};
}

using file_extents = std::array<std::int64_t, most_array_dimensions>;  // those of the dimensions are used
struct array_in_file {
  element_type type;
  int dimensions = 0;
  file_extents extents{};
  file_extents tile{};
};

template <int N>
file_extents as_file_extents(const position<N>& given) {
  file_extents result{};
  for (int d = 0; d < N; ++d) result[static_cast<std::size_t>(d)] = given[d];
  return result;
}
template <int N>
position<N> as_position(const std::int64_t* given) {
  position<N> result;
  for (int d = 0; d < N; ++d) result[d] = given[d];
  return result;
}

/// Copies the elements of a box between the array and memory, in which they lie row by row; waits for that.
using box_transfer = os::function_ref<void(const std::int64_t* first, const std::int64_t* last, std::byte* memory)>;

// Collective over all PEs. An error of any PE is thrown on all.
void dump_array(const array_in_file& array, const std::string& path, const file_options& options, box_transfer get);
void load_array(const array_in_file& array, const std::string& path, const file_options& options, box_transfer put);
/// The extents of the array in a file, which must have elements of this type and as many dimensions.
file_extents read_extents(element_type type, int dimensions, const std::string& path, const file_options& options);
/// The type, dimensions and extents of the array in a file, for programs that know none of them; without a tile.
array_in_file read_shape(const std::string& path, const file_options& options);

}  // namespace tri::arrays

#pragma GCC visibility pop
