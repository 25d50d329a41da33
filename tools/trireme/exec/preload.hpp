// The libraries that `trireme exec` has the loader put before a program's own.
#pragma once

#include <filesystem>
#include <string>

namespace tri::tools {

/// Of our libraries: beside this command. Throws std::runtime_error naming the places that were looked at.
std::filesystem::path library_path(const char* name);
/// Puts a library before those that LD_PRELOAD names already.
void preload(const std::filesystem::path& library);
/// The variable's value; empty when it is not set.
std::string value_of(const char* variable);

}  // namespace tri::tools
