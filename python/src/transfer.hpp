// A section under way between a global array and a Python buffer, which stays as long; or ghost cells, without one.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"
#include "typed_array.hpp"

namespace tri::python {

/// The memory of a contiguous buffer. Throws the Python error when the object has none, std::invalid_argument when it
/// has another number of bytes.
class held_buffer {
 public:
  held_buffer() = default;
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

/// Belongs to the PE, as its future does, but Python may drop the last reference to it on any thread. The buffer stays
/// until no answer can come for it: until the future is ready, or the run has ended.
class transfer {
 public:
  transfer(future<void> done, held_buffer buffer) : buffer_(std::move(buffer)), done_(std::move(done)) {}
  transfer(transfer&& other) noexcept : buffer_(std::move(other.buffer_)), done_(std::move(other.done_)) {
    other.done_.reset();
  }
  transfer& operator=(transfer&&) = delete;
  /// On the PE it waits. Elsewhere the PE does, in its next call that may wait: finish_dropped.
  ~transfer() {
    if (!done_ || session::has_ended()) return;
    if (session::is_of_parent()) {  // a forked child: no answer comes to it, and the future is its parent's
      new future<void>(std::move(*done_));
      return;
    }
    if (session::is_here()) {
      try {
        wait();
      } catch (...) {  // the error of a transfer for whose end the program did not wait, or the job was stopped
      }
    }
    if (done_) dropped().push_back(std::move(*this));
  }
  /// Throws as session::check_running, unless it has been waited for.
  bool ready() const {
    if (!done_) return true;
    session::check_running();
    return done_->ready();
  }
  /// Once it has returned, or thrown an error of the transfer, it does nothing. Throws as session::check_running, and
  /// when the job is stopped, without an effect.
  void wait() {
    if (!done_) return;
    session::check_running();
    try {
      wait_for(*done_);
    } catch (...) {
      if (done_->ready()) done_.reset();
      throw;
    }
    done_.reset();
  }

  /// Waits for those that were dropped on other threads. On the PE, or when the run has ended.
  static void finish_dropped() {
    if (dropped().empty()) return;
    const std::vector<transfer> ending = std::exchange(dropped(), {});  // others may be dropped meanwhile
  }

 private:
  /// Guarded by the interpreter's lock. Never destroyed: that would come too late for Python's buffers.
  static std::vector<transfer>& dropped() {
    static auto& all = *new std::vector<transfer>;
    return all;
  }

  held_buffer buffer_;
  std::optional<future<void>> done_;
};

}  // namespace tri::python
