// What drop-in libraries ask of the loader: which libraries the process has loaded, and the functions that stand behind
// the drop-in's own of the same name. Any thread.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace tri::os {

/// The paths of all libraries that are loaded, also those that a plug-in of an interpreter loaded for itself.
std::vector<std::string> loaded_objects();
/// The definition of `name` in that object, or in the libraries that it names; null when it is not loaded or has none.
void* find_in_object(const char* object, const char* name);

/// A function that `find` looks up when it is first asked for; `find` does not return without one. Threads that race
/// look up the same thing.
template <class Signature, void* (*find)(const char* name)>
class late_function {
 public:
  constexpr explicit late_function(const char* name) : name_(name) {}

  Signature* get() {
    void* found = found_.load(std::memory_order_relaxed);  // relaxed: the loader published the code long ago
    if (found == nullptr) {
      found = find(name_);
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

}  // namespace tri::os
