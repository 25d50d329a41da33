// The header of a .npy file: NumPy's format for one array (numpy.lib.format, versions 1 to 3). Behind it come the
// elements, row by row or (Fortran's order) column by column. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/detail/arrays/array_in_file.hpp"

namespace tri::arrays {

/// Longer headers are refused; those of arrays of numbers have about 128 bytes.
inline constexpr std::size_t most_bytes_of_npy_header = 1 << 16;

std::string npy_header(const array_in_file& array);

struct npy_contents {
  element_type type;
  bool is_fortran_order = false;
  std::vector<std::int64_t> extents;
  std::int64_t data_begins = 0;  // bytes before the first element
};
/// `beginning`: as much of the file as there is, up to most_bytes_of_npy_header. Throws std::runtime_error that says
/// what is wrong with it.
npy_contents parse_npy_header(std::string_view beginning);

}  // namespace tri::arrays
