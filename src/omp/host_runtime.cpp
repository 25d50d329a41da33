#include "omp/host_runtime.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

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
  void* const handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const found = dlsym(handle, name);
  dlclose(handle);
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

void* find_global_host_function(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

void* find_host_function(const char* name) {
  if (void* const found = find_global_host_function(name)) return found;
  std::vector<std::string> objects;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/') {
          static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &objects);
  for (const std::string& object : objects) {
    if (void* const found = find_behind_object(object.c_str(), name)) return found;
  }
  return nullptr;
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
