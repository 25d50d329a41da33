// Elements as text, and the names of their types. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "trireme/detail/arrays/array_in_file.hpp"

namespace tri::arrays {

/// As NumPy calls it: float64, int32, bool, complex128; "plain data of 24 bytes".
std::string name_of(element_type type);
/// The inverse for types that are numbers; false: there is no type of this name.
bool find_type(std::string_view name, element_type& type);

/// Whether its elements have a text.
bool has_text(element_type type);
/// Appends a number: the shortest text that is read as the same value. Complex ones are 1.5-2j, as in Python.
void append_number(std::string& text, element_type type, const std::byte* element);
/// Reads what append_number and Python write; false: that is no such number, or outside of the type's range.
bool parse_number(std::string_view text, element_type type, std::byte* element);

}  // namespace tri::arrays
