// The functions of the host OpenMP runtime behind our entry points of the same name.
#pragma once

#include <atomic>

namespace tri::omp {

// The next definition of `name` behind ours: in the usual search order, or, when the runtime was loaded later and
// privately (a plug-in of an interpreter), in whichever loaded object has it. Null if there is none.
void* find_host_function(const char* name);
// Only in the usual search order.
void* find_global_host_function(const char* name);
// In an object, or the libraries that it names, when it is loaded.
void* find_behind_object(const char* object, const char* name);
// A function of the object that holds `neighbour`: both runtimes may be loaded, and omp_get_thread_num of the wrong one
// knows nothing about our team.
void* find_beside(void* neighbour, const char* name);
// Says what is missing and ends the process: called for a function that a program needs.
[[noreturn]] void report_missing(const char* name);

// A host function, looked up when it is first called. Threads that race look up the same thing.
template <class Signature>
class host_function {
 public:
  constexpr explicit host_function(const char* name) : name_(name) {}

  Signature* get() {
    void* found = found_.load(std::memory_order_relaxed);  // relaxed: the loader published the code long ago
    if (found == nullptr) {
      found = find_host_function(name_);
      if (found == nullptr) report_missing(name_);
      found_.store(found, std::memory_order_relaxed);  // relaxed: as above
    }
    return reinterpret_cast<Signature*>(found);
  }
  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    return get()(arguments...);
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace tri::omp
