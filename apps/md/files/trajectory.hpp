// Writes positions over time as text, as XYZ or in LAMMPS's dump format (`dump custom id type x y z ix iy iz`).
#pragma once

#include <filesystem>
#include <fstream>
#include <span>

#include "md/system/box.hpp"

namespace md {

enum class trajectory_format { xyz, lammps };

class trajectory_writer {
 public:
  /// `continued`: appends to the file, for a run from a restart. Throws std::runtime_error if it cannot be opened.
  trajectory_writer(std::filesystem::path file, trajectory_format format, bool continued = false);

  /// Atoms in the order in which they shall appear, wrapped. Throws std::runtime_error if the disk refuses.
  void write(std::int64_t step, const box& box, std::span<const atom_record> atoms);

 private:
  std::filesystem::path file_;
  trajectory_format format_;
  std::ofstream out_;
};

}  // namespace md
