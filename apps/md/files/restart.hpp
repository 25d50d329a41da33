// Restart files: everything from which a run continues bit-identically, at any step.
//
// Between two list builds a run depends on where the atoms were at the last build: they determine the order of the
// atoms in their patches and the contents of the lists. So the file has those positions too; the continuing run
// rebuilds the very same patches and lists from them and then moves the atoms to where they are. Writing a restart
// therefore never changes the run that writes it.
//
// Binary, little-endian, with magic, version, size and checksum; written beside its place and renamed, so that a crash
// leaves the previous file.
#pragma once

#include <filesystem>
#include <string>

#include "md/patches/patch.hpp"
#include "md/settings.hpp"
#include "md/system/atoms.hpp"

namespace md {

struct restart_state {
  atom_system system;  ///< atoms sorted by id; positions as integrated since the last build, hence not wrapped
  run_settings settings;
  std::string kernels;  ///< name of the kernel variant
  std::int64_t step = 0;
  std::int32_t steps_since_build = 0;
  std::vector<vec3> held_positions;  ///< at the last list build, in the order of the atoms

  /// Appends the atoms of a patch; call sort after the last one.
  void add(const patch& p);
  void sort();
};

/// Both throw std::runtime_error naming the file and the error.
void write_restart(const std::filesystem::path& file, const restart_state& state);
restart_state read_restart(const std::filesystem::path& file);

}  // namespace md
