// Loading our own shared libraries that a process needs only sometimes, because they need libraries of others.
#pragma once

#include <string>

namespace tri::os {

/// Loads `file` by its name alone if the dynamic linker finds it, otherwise from the folders of installations and
/// builds. Null: none could be loaded, and `reason` says why. Any thread.
void* load_plug_in(const std::string& file, std::string& reason);

}  // namespace tri::os
