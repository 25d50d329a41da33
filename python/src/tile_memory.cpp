#include "tile_memory.hpp"

#include "session.hpp"

namespace tri::python {

static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));

bool tile_memory::is_contiguous() const {
  std::int64_t step = static_cast<std::int64_t>(array_->bytes_of_element());
  for (std::size_t d = shape_.size(); d-- > 0;) {
    if (shape_[d] != 1 && tile_.strides[d] != step) return false;
    step *= shape_[d];
  }
  return true;
}

int tile_memory::get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto& tile = *nanobind::inst_ptr<tile_memory>(nanobind::handle(self));
  const auto asks_for = [flags](int what) { return (flags & what) == what; };
  const auto refuse = [view](const char* fault) {
    view->obj = nullptr;
    PyErr_SetString(PyExc_BufferError, fault);
    return -1;
  };
  if (tile.array_->is_freed()) return refuse("the global array of this tile was freed");
  if (!session::is_running()) return refuse("trireme has ended in this process, and the memory of its arrays with it");
  if (asks_for(PyBUF_F_CONTIGUOUS) && tile.shape_.size() > 1)
    return refuse("tiles of global arrays are stored row by row, not column by column");
  if (!tile.is_contiguous() && (asks_for(PyBUF_C_CONTIGUOUS) || asks_for(PyBUF_ANY_CONTIGUOUS) ||
                                asks_for(PyBUF_F_CONTIGUOUS) || !asks_for(PyBUF_STRIDES)))
    return refuse("the rows of this tile are not one behind the other: it needs a buffer with strides");

  view->buf = tile.tile_.data;
  view->obj = self;
  Py_INCREF(self);
  view->itemsize = static_cast<Py_ssize_t>(tile.array_->bytes_of_element());
  view->len = view->itemsize;
  for (const std::int64_t extent : tile.shape_) view->len *= extent;
  view->readonly = 0;
  view->ndim = static_cast<int>(tile.shape_.size());
  view->format = asks_for(PyBUF_FORMAT) ? const_cast<char*>(tile.array_->format()) : nullptr;
  view->shape = asks_for(PyBUF_ND) ? reinterpret_cast<Py_ssize_t*>(tile.shape_.data()) : nullptr;
  view->strides = asks_for(PyBUF_STRIDES) ? reinterpret_cast<Py_ssize_t*>(tile.tile_.strides.data()) : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  ++tile.array_->views;
  return 0;
}

void tile_memory::release_buffer(PyObject* self, Py_buffer*) {
  --nanobind::inst_ptr<tile_memory>(nanobind::handle(self))->array_->views;
}

}  // namespace tri::python
