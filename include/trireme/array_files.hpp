// Global arrays in files. All PEs write and read at once, each a part of one file; what is in it depends neither on the
// distribution nor on the number of PEs and hosts, so it may be loaded into an array that is dealt otherwise.
//
//   tri::dump(a, "a.npy");                                       // numpy.load reads it
//   tri::load(b, "a.npy");                                       // into an array of the same extents and type
//   auto c = tri::load<double, 2>("a.npy", tri::tiles(64, 64));  // a new array with the extents of the file
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "trireme/checkpoint.hpp"
#include "trireme/detail/arrays/array_in_file.hpp"
#include "trireme/global_array.hpp"

#pragma GCC visibility push(default)

namespace tri {

enum class file_format : std::uint8_t {
  by_name,  ///< by the end of the name: .npy, .txt, .h5 or .hdf5
  npy,      ///< binary, in row-major order: NumPy's own
  text,     ///< numbers, a row of the last dimension on a line: numpy.loadtxt reads it
  hdf5      ///< a data set in a file of HDF5; where Trireme was built with HDF5
};

/// A line on stderr that says how far a dump or load has come.
enum class progress_line : std::uint8_t {
  on_terminals,  ///< if stderr is a terminal and it takes longer than a second
  always,
  never
};

struct file_options {
  file_format format = file_format::by_name;
  std::string data_set = "array";        ///< of HDF5: its name in the file
  std::int64_t bytes_at_once = 4 << 20;  ///< what each PE reads or writes in one piece, and has in memory; at least 1
  progress_line progress = progress_line::on_terminals;
};

/// A file that cannot be written or read, or has something else in it than the array: the path and what is wrong. The
/// same on all PEs.
struct file_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Writes the array into a file, which all hosts must see at this path. Collective, for programs in SPMD style: it
/// waits, and what other PEs have written before they called it is in the file. A file that is there is replaced when
/// the new one is complete; after an error it is as it was. Throws file_error, on all PEs, or on all std::logic_error
/// when the array was freed.
template <class T, int N>
void dump(const global_array<T, N>& array, const std::string& path, const file_options& options = {}) {
  (void)array.own_tiles();  // throws when the array was freed
  const arrays::array_in_file shape{arrays::element_type_of<T>(), N, arrays::as_file_extents(array.extents()),
                                    arrays::as_file_extents(array.tile())};
  arrays::dump_array(shape, path, options, [&](const std::int64_t* first, const std::int64_t* last, std::byte* memory) {
    const region<N> box(arrays::as_position<N>(first), arrays::as_position<N>(last));
    array.get(box, reinterpret_cast<T*>(memory)).get();
  });
}

/// Fills the array with what is in a file: the same extents and type of elements. Collective, for programs in SPMD
/// style: it waits, at the end for all PEs. Throws as dump; after an error some elements may be those of the file.
template <class T, int N>
void load(const global_array<T, N>& array, const std::string& path, const file_options& options = {}) {
  (void)array.own_tiles();
  const arrays::array_in_file shape{arrays::element_type_of<T>(), N, arrays::as_file_extents(array.extents()),
                                    arrays::as_file_extents(array.tile())};
  arrays::load_array(shape, path, options, [&](const std::int64_t* first, const std::int64_t* last, std::byte* memory) {
    const region<N> box(arrays::as_position<N>(first), arrays::as_position<N>(last));
    array.put(box, reinterpret_cast<const T*>(memory)).get();
  });
}

/// A new array with the extents and elements of a file. `how`: options of global_array's constructor. Collective, as
/// load.
template <class T, int N, class... Options>
global_array<T, N> load(const std::string& path, const file_options& options, const Options&... how) {
  const arrays::file_extents extents = arrays::read_extents(arrays::element_type_of<T>(), N, path, options);
  const global_array<T, N> array(arrays::as_position<N>(extents.data()), how...);
  load(array, path, options);
  return array;
}
template <class T, int N, class... Options>
global_array<T, N> load(const std::string& path, const Options&... how) {
  return load<T, N>(path, file_options(), how...);
}

namespace objects {
future<void> begin_checkpoint_without_arrays(const std::string& folder, program_state state);
}  // namespace objects

/// tri::checkpoint without the global arrays of the job: for programs that write them into files of their own, or can
/// compute them again. Their handles are of no use after a restart.
template <class State>
[[nodiscard]] future<void> checkpoint_without_arrays(const std::string& folder, const State& state) {
  return objects::begin_checkpoint_without_arrays(folder, objects::as_program_state(state));
}
template <class State>
[[nodiscard]] future<void> checkpoint_without_arrays(in_memory_tag, const State& state) {
  if (!objects::survives_losses()) return objects::ready_future();
  return objects::begin_checkpoint_without_arrays({}, objects::as_program_state(state));
}
/// The same without a state of the main program.
[[nodiscard]] inline future<void> checkpoint_without_arrays(const std::string& folder) {
  return objects::begin_checkpoint_without_arrays(folder, {});
}
[[nodiscard]] inline future<void> checkpoint_without_arrays(in_memory_tag) {
  if (!objects::survives_losses()) return objects::ready_future();
  return objects::begin_checkpoint_without_arrays({}, {});
}

}  // namespace tri

#pragma GCC visibility pop
