#include "os/plug_in.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

namespace tri::os {

void* load_plug_in(const std::string& file, std::string& reason) {
  namespace fs = std::filesystem;
  std::vector<std::string> places{file};
  if (file.find('/') == std::string::npos) {
    std::error_code unknown;
    const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
    if (!unknown) places.push_back((program.parent_path() / "../lib" / file).lexically_normal().string());
    places.push_back(std::string(TRIREME_INSTALLED_LIBRARIES) + "/" + file);
  }
  reason.clear();
  for (const std::string& place : places) {
    if (void* const loaded = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return loaded;
    // The first folder's error is the least useful when another one has the file and cannot load it.
    const std::string found = dlerror();
    if (reason.empty() || fs::exists(place)) reason = found;
  }
  return nullptr;
}

}  // namespace tri::os
