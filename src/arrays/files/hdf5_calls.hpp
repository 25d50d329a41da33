// The calls of HDF5's library that arrays need, behind one interface: a plug-in (hdf5_plug_in.cpp) has them, which is
// loaded when the first file of HDF5 is written or read, so programs need no HDF5 otherwise. Its library is the serial
// one: it writes the file's description, and PEs write the elements by themselves, at the place that it has given them.
//
// Of one thread at a time (Debian's library may be called by several, others not). Errors are std::runtime_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trireme/detail/arrays/array_in_file.hpp"

namespace tri::arrays {

struct hdf5_contents {
  element_type type;
  std::vector<std::int64_t> extents;
  std::int64_t data_begins = -1;  // in the file, row by row in our byte order; -1: read it by hdf5_data_set
};

/// A data set that is read through the library: in chunks, compressed, or in the other byte order.
class hdf5_data_set {
 public:
  hdf5_data_set() = default;
  hdf5_data_set(const hdf5_data_set&) = delete;
  hdf5_data_set& operator=(const hdf5_data_set&) = delete;
  virtual ~hdf5_data_set() = default;
  virtual void read(const std::int64_t* first, const std::int64_t* last, std::byte* memory) = 0;
};

class hdf5_calls {
 public:
  /// Of this interface: both are built together, or the plug-in is refused.
  static constexpr int version = 1;

  hdf5_calls() = default;
  hdf5_calls(const hdf5_calls&) = delete;
  hdf5_calls& operator=(const hdf5_calls&) = delete;
  virtual ~hdf5_calls() = default;

  /// Writes a file with one data set, and returns where its elements are to be written.
  virtual std::int64_t create(const std::string& path, const std::string& data_set, const array_in_file& array) = 0;
  virtual hdf5_contents inspect(const std::string& path, const std::string& data_set) = 0;
  virtual std::unique_ptr<hdf5_data_set> open(const std::string& path, const std::string& data_set,
                                              element_type type) = 0;
};

/// What a plug-in exports as `trireme_hdf5`. Null: it is of another version.
using hdf5_function = hdf5_calls*(int version);

/// Loads the plug-in, once in a process. Any thread. Throws std::runtime_error that says what is missing.
hdf5_calls& hdf5();

class shared_file;
/// Writes all of a file but its elements, and returns where they begin. The library gets a file in memory, which is
/// copied: where a disk is full, closing its own leaves it in a state in which it crashes later (HDF5 1.10).
std::int64_t write_hdf5_header(const shared_file& file, const std::string& data_set, const array_in_file& array);

}  // namespace tri::arrays
