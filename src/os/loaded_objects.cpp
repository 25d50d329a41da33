#include "os/loaded_objects.hpp"

#include <dlfcn.h>
#include <link.h>

namespace tri::os {

std::vector<std::string> loaded_objects() {
  std::vector<std::string> objects;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/') {
          static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &objects);
  return objects;
}

void* find_in_object(const char* object, const char* name) {
  void* const handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const found = dlsym(handle, name);
  dlclose(handle);
  return found;
}

}  // namespace tri::os
