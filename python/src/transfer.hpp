// A section under way between a global array and a Python buffer, which stays as long.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "session.hpp"
#include "typed_array.hpp"

namespace tri::python {

/// The memory of a contiguous buffer. Throws the Python error when the object has none, std::invalid_argument when it
/// has another number of bytes.
class held_buffer {
 public:
  held_buffer(nanobind::handle object, std::size_t bytes, bool is_written) {
    if (PyObject_GetBuffer(object.ptr(), &view_, is_written ? PyBUF_CONTIG : PyBUF_CONTIG_RO) != 0)
      nanobind::raise_python_error();
    if (static_cast<std::size_t>(view_.len) == bytes) return;
    const std::string come = std::to_string(view_.len);
    PyBuffer_Release(&view_);
    throw std::invalid_argument("a buffer has " + come + " bytes; it must have " + std::to_string(bytes));
  }
  ~held_buffer() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }
  held_buffer(held_buffer&& other) noexcept : view_(other.view_) { other.view_.obj = nullptr; }
  held_buffer& operator=(held_buffer&&) = delete;
  void* data() const { return view_.buf; }

 private:
  Py_buffer view_{};
};

class transfer {
 public:
  transfer(future<void> done, held_buffer buffer) : buffer_(std::move(buffer)), done_(std::move(done)) {}
  transfer(transfer&& other) noexcept : buffer_(std::move(other.buffer_)), done_(std::move(other.done_)) {
    other.done_.reset();
  }
  transfer& operator=(transfer&&) = delete;
  /// Answers would still be written into the buffer.
  ~transfer() {
    if (!done_ || done_->ready() || !session::is_running()) return;
    try {
      wait();
    } catch (...) {  // the error of a transfer for whose end the program did not wait, or the end of the run
    }
  }
  bool ready() const { return !done_ || done_->ready(); }
  /// Once it has returned, or thrown, it does nothing.
  void wait() {
    if (!done_) return;
    std::optional<future<void>> done = std::move(done_);
    done_.reset();
    wait_for(*done);
  }

 private:
  held_buffer buffer_;
  std::optional<future<void>> done_;
};

}  // namespace tri::python
