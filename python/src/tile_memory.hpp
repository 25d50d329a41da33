// A tile in the memory of this host, as an object with Python's buffer protocol: numpy.asarray shows it without a copy.
// Who has such a buffer keeps the array from being freed.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "any_array.hpp"

namespace tri::python {

class tile_memory {
 public:
  tile_memory(std::shared_ptr<any_array> array, tile_in_memory tile)
      : array_(std::move(array)), tile_(std::move(tile)) {
    for (std::size_t d = 0; d < tile_.first.size(); ++d) shape_.push_back(tile_.last[d] - tile_.first[d]);
  }
  const std::shared_ptr<any_array>& array() const { return array_; }
  const numbers& first() const { return tile_.first; }
  const numbers& last() const { return tile_.last; }
  /// The same with the ghost cells around it.
  tile_memory with_halo() const {
    tile_in_memory wide = tile_;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const std::int64_t width = array_->halo()[d];
      wide.data -= width * wide.strides[d];
      wide.first[d] -= width;
      wide.last[d] += width;
    }
    return {array_, std::move(wide)};
  }

  /// The slots of the type; with a BufferError set where they return -1.
  static int get_buffer(PyObject* self, Py_buffer* view, int flags);
  static void release_buffer(PyObject* self, Py_buffer* view);

 private:
  bool is_contiguous() const;

  std::shared_ptr<any_array> array_;
  tile_in_memory tile_;
  numbers shape_;
};

}  // namespace tri::python
