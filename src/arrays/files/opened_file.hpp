// What PE 0 finds out about a file before all PEs work on it. Used by PE 0 alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arrays/files/shared_file.hpp"
#include "trireme/array_files.hpp"

namespace tri::arrays {

/// The format of the options, or by the name. Throws std::runtime_error.
file_format format_of(const std::string& path, file_format wanted);

/// The file's beginning, up to `most` bytes.
std::string beginning_of(const shared_file& file, std::size_t most);

/// A file that is loaded, in any format.
struct found_array {
  file_format format = file_format::npy;
  bool is_described = true;  // text without our line has no type and no extents
  element_type type;
  std::vector<std::int64_t> extents;
  bool is_fortran_order = false;
  std::int64_t data_begins = 0;  // -1: its library knows
  std::int64_t bytes = 0;        // of the file

  template <class Archive>
  void serialize(Archive& archive) {
    archive(format, is_described, type, extents, is_fortran_order, data_begins, bytes);
  }
};
/// Throws std::runtime_error with the path.
found_array inspect(const std::string& path, const file_options& options);
/// Throws std::runtime_error unless its type and dimensions are these; and, if given, its extents and its length.
void check_type(const std::string& path, const found_array& found, element_type type, int dimensions);
void check_shape(const std::string& path, const found_array& found, const array_in_file& array);

}  // namespace tri::arrays
