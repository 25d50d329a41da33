// The native runtime's function of the OpenMP interface (omp_*) behind ours of the same name. Both native runtimes
// define these, and both may be loaded, each for its own plug-in of a program that has neither: so we call the one that
// the caller would have reached without us.
#pragma once

#include <atomic>

#include "omp/native_runtime.hpp"

namespace tri::omp {

/// The function that the caller's object gets from its own libraries, otherwise any. Null if there is none. Cached.
void* find_for_caller(const char* name, const void* caller);

template <class Signature>
class native_api {
 public:
  constexpr explicit native_api(const char* name) : name_(name) {}

  /// For a call by the code at `caller`. Null: there is no runtime. (A program may test whether the function is
  /// defined, and call it because we define it.)
  Signature* find(const void* caller) {
    void* found = global_.load(std::memory_order_relaxed);  // relaxed: the loader published the code long ago
    if (found == nullptr) {
      found = find_global_native_function(name_);
      if (found != nullptr) {
        global_.store(found, std::memory_order_relaxed);  // relaxed: as above
      } else {
        found = find_for_caller(name_, caller);
      }
    }
    return reinterpret_cast<Signature*>(found);
  }

 private:
  const char* name_;
  std::atomic<void*> global_{nullptr};
};

}  // namespace tri::omp
