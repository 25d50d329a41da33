// Reads LAMMPS's thermo values as scripts/md_reference.sh writes them.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "md/output/thermo.hpp"

namespace md::test {

inline std::vector<thermo_row> read_reference(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot open " + file.string());
  std::vector<thermo_row> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    thermo_row row;
    std::istringstream words(line);
    words >> row.step >> row.temperature >> row.pair_energy >> row.molecular_energy >> row.total_energy >> row.pressure;
    if (!words) throw std::runtime_error("bad line in " + file.string() + ": " + line);
    rows.push_back(row);
  }
  if (rows.size() < 2) throw std::runtime_error("too few lines in " + file.string());
  return rows;
}

}  // namespace md::test
