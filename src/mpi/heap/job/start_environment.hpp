// The environment the process was started with, readable inside the first malloc, when the C library has no `environ`
// yet.
#pragma once

#include <cstddef>
#include <string_view>

namespace tri::mpi {

class start_environment {
 public:
  start_environment();  ///< reads /proc/self/environ
  /// Of a text in the same form, "NAME=value\0NAME=value\0", which must outlive this object.
  explicit start_environment(std::string_view text) : text_(text.data()), bytes_(text.size()) {}
  ~start_environment();
  start_environment(const start_environment&) = delete;
  start_environment& operator=(const start_environment&) = delete;

  /// Value of a variable, empty when it is not set. Valid as long as this object.
  std::string_view operator[](std::string_view name) const;
  bool readable() const { return bytes_ > 0; }

 private:
  const char* text_ = nullptr;  // "NAME=value\0NAME=value\0..."
  std::size_t bytes_ = 0;
  void* room_ = nullptr;  // the mapping the text was read into
};

}  // namespace tri::mpi
