#include "omp/host_runtime.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace tri::omp {
namespace {

constexpr int missing_function_status = 127;

const void* our_base() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&find_host_function), &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_ours(void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 || info.dli_fbase == our_base();
}

}  // namespace

void* find_behind_object(const char* object, const char* name) {
  void* const found = host::find_in_object(object, name);
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

void* find_global_host_function(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

void* find_host_function(const char* name) {
  if (void* const found = find_global_host_function(name)) return found;
  for (const std::string& object : host::loaded_objects()) {
    if (void* const found = find_behind_object(object.c_str(), name)) return found;
  }
  return nullptr;
}

void* require_host_function(const char* name) {
  void* const found = find_host_function(name);
  if (found == nullptr) report_missing(name);
  return found;
}

void* find_beside(void* neighbour, const char* name) {
  Dl_info info{};
  void* found = nullptr;
  if (dladdr(neighbour, &info) != 0 && info.dli_fname != nullptr) found = find_behind_object(info.dli_fname, name);
  return found != nullptr ? found : find_host_function(name);
}

void report_missing(const char* name) {
  std::fprintf(
      stderr,
      "trireme omp: the program calls %s, but no OpenMP runtime that is loaded has it. Run the program without "
      "`--omp`, or with the runtime it was built for.\n",
      name);
  _exit(missing_function_status);
}

}  // namespace tri::omp
