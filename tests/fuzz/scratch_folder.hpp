// A folder of this process for readers that take the name of a file or folder. Where TMPDIR or /tmp is memory, writing
// and reading a file takes a few microseconds.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "support/command_runner.hpp"

namespace tri::fuzz {

/// Removed at the end of the process; what a crash leaves behind, scripts/fuzz.sh removes.
inline const std::filesystem::path& scratch_folder() {
  static const testing::temporary_folder folder;
  return folder.path();
}

inline std::filesystem::path scratch_file(const std::string& name, std::string_view contents) {
  std::filesystem::path file = scratch_folder() / name;
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(contents.data(), static_cast<std::streamsize>(contents.size()));
  return file;
}

}  // namespace tri::fuzz
