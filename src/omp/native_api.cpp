#include "omp/native_api.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace tri::omp {

void* find_for_caller(const char* name, const void* caller) {
  // By object, for which it never changes; names are literals of ours.
  static std::mutex guard;
  static auto* const known = new std::map<std::pair<const void*, std::string>, void*>;  // used until the very end
  Dl_info info{};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return find_native_function(name);
  const std::lock_guard held(guard);
  void*& found = (*known)[{info.dli_fbase, name}];
  if (found == nullptr) found = find_behind_object(info.dli_fname, name);
  if (found == nullptr) found = find_native_function(name);
  return found;
}

}  // namespace tri::omp
