// A global array whose type of elements and number of dimensions are known at run time only: what the Python module
// works with. Elements and sections are bytes in buffers that the caller has checked. All calls are for the PE of the
// process, with the interpreter's lock, which is released while a call waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/array_files.hpp"
#include "trireme/detail/arrays/element_access.hpp"
#include "trireme/future.hpp"

namespace tri::python {

using numbers = std::vector<std::int64_t>;  // one for each dimension

/// How an array is dealt to the PEs, and its ghost cells; empty: not given.
struct asked_distribution {
  numbers tile, grid, host_tile;
  numbers halo;      // widths
  numbers periodic;  // 1: along this dimension
};

/// A tile in the memory of this host; strides in bytes.
struct tile_in_memory {
  std::byte* data;
  numbers first, last, strides;
};

class any_array {
 public:
  any_array() = default;
  any_array(const any_array&) = delete;
  any_array& operator=(const any_array&) = delete;
  virtual ~any_array() = default;

  /// Pieces of NumPy's notation, as "f8" and "c16"; see format() for that of the buffer protocol.
  const std::string& kind() const { return kind_; }
  const char* format() const { return format_; }
  std::size_t bytes_of_element() const { return bytes_of_element_; }
  const numbers& extents() const { return extents_; }
  const numbers& tile() const { return tile_; }
  const numbers& grid() const { return grid_; }          ///< empty: none
  const numbers& halo() const { return halo_; }          ///< widths; zeros: no ghost cells
  const numbers& periodic() const { return periodic_; }  ///< 1: along this dimension
  int dimensions() const { return static_cast<int>(extents_.size()); }
  bool is_freed() const { return is_freed_; }
  /// Buffers of Python that show tiles.
  int views = 0;

  /// Single elements; `at` is inside. `value` and `result` are elements in memory.
  virtual int owner(const numbers& at) const = 0;
  virtual bool is_local(const numbers& at) const = 0;
  virtual void read(const numbers& at, void* result) = 0;
  virtual void write(const numbers& at, const void* value) = 0;
  /// Without the value before, and without waiting. Throws std::invalid_argument: this type has no such update.
  virtual void update(arrays::update what, const numbers& at, const void* value) = 0;
  virtual void fetch(arrays::update what, const numbers& at, const void* value, void* result) = 0;
  virtual void compare_exchange(const numbers& at, const void* expected, const void* desired, void* result) = 0;

  /// Sections; the memory stays until the future is ready.
  virtual future<void> get(const numbers& first, const numbers& last, void* to) = 0;
  virtual future<void> put(const numbers& first, const numbers& last, const void* from) = 0;
  virtual future<void> accumulate(const numbers& first, const numbers& last, const void* from) = 0;

  /// Fill the ghost cells of this PE; without a width those of the whole halo.
  virtual future<void> exchange_halo(std::optional<int> width) = 0;
  virtual future<void> get_halo() = 0;

  virtual std::vector<tile_in_memory> tiles_of(int pe) = 0;
  /// The tile that has an element of this host; `at` is inside.
  virtual tile_in_memory tile_at(const numbers& at) = 0;
  virtual std::shared_ptr<any_array> redistribute(const asked_distribution& how) = 0;
  virtual void free() = 0;

  /// Collective; they wait, without the interpreter's lock.
  virtual void dump(const std::string& path, const file_options& options) = 0;
  virtual void load(const std::string& path, const file_options& options) = 0;

 protected:
  std::string kind_;
  const char* format_ = "";
  std::size_t bytes_of_element_ = 0;
  numbers extents_, tile_, grid_, halo_, periodic_;
  bool is_freed_ = false;
};

/// Waits for a future of the PE; other Python threads run meanwhile.
template <class T>
T wait_for(future<T>& result);

/// Collective. Throws std::invalid_argument for a kind or a shape that there is not.
std::shared_ptr<any_array> make_array(const std::string& kind, const numbers& extents, const asked_distribution& how);

}  // namespace tri::python
