#include "exec/preload.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "build_parts.hpp"

namespace tri::tools {

namespace fs = std::filesystem;

// ../lib in the build tree, the library folder of the installation otherwise.
fs::path library_path(const char* name) {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  std::string tried;
  for (const char* where : {"../lib", TRIREME_LIBRARY_FOLDER}) {
    const fs::path path = (folder / where / name).lexically_normal();
    if (fs::exists(path)) return path;
    if (tried == path.string()) continue;
    tried += (tried.empty() ? "" : ", ") + path.string();
  }
  for (const build_part& part : build_parts())
    if (part.library == std::string_view(name) && !part.built)
      throw std::runtime_error(fmt::format("{} is not part of this build: {}", name, part.detail));
  throw std::runtime_error(fmt::format("{} is not installed beside this command; looked for {}", name, tried));
}

std::string value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

void preload(const fs::path& library) {
  if (library.string().find_first_of(" :") != std::string::npos)
    throw std::runtime_error(
        fmt::format("{} cannot be preloaded: spaces and colons separate the names in LD_PRELOAD; install "
                    "Trireme in a folder without them",
                    library.string()));
  const std::string others = value_of("LD_PRELOAD");
  setenv("LD_PRELOAD", (others.empty() ? library.string() : library.string() + ":" + others).c_str(), 1);
}

}  // namespace tri::tools
