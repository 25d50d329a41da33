#include "files.hpp"

#include "session.hpp"

namespace tri::python {
namespace {

/// NumPy's letter for a kind of elements; 0: there is none in any_array.
char letter_of(arrays::element_kind kind) {
  switch (kind) {
    case arrays::element_kind::boolean:
      return 'b';
    case arrays::element_kind::signed_integer:
      return 'i';
    case arrays::element_kind::unsigned_integer:
      return 'u';
    case arrays::element_kind::floating_point:
      return 'f';
    case arrays::element_kind::complex:
      return 'c';
    default:
      return 0;
  }
}

}  // namespace

std::pair<std::string, numbers> inspect_file(const std::string& path, const file_options& options) {
  const interpreter_released released;
  const arrays::array_in_file found = arrays::read_shape(path, options);
  const char letter = letter_of(found.type.kind);
  if (letter == 0)
    throw file_error(path + ": its elements are " + std::to_string(found.type.bytes) +
                     " bytes without a type; arrays of Python have numbers");
  return {letter + std::to_string(found.type.bytes),
          numbers(found.extents.begin(), found.extents.begin() + found.dimensions)};
}

}  // namespace tri::python
