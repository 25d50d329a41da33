// Files whose type of elements and extents are known when they are looked into only.
#pragma once

#include <string>
#include <utility>

#include "any_array.hpp"

namespace tri::python {

/// The kind of the elements and the extents of the array in a file. Collective; waits. Throws file_error, also when
/// the elements are none of any_array's.
std::pair<std::string, numbers> inspect_file(const std::string& path, const file_options& options);

}  // namespace tri::python
