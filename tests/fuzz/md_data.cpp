// Data files and restart files of the molecular dynamics program (apps/md). The checksum of a restart file is made
// right first: it finds damage, not intent.
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/scratch_folder.hpp"
#include "md/files/lammps_data.hpp"
#include "md/files/restart.hpp"

namespace tri::fuzz {
namespace {

void read_data(std::string_view text) {
  std::istringstream in{std::string(text)};
  const md::atom_system system = md::read_lammps_data(in, "input");
  std::ostringstream out;
  md::write_lammps_data(out, system);
  std::istringstream again(out.str());
  expect(md::read_lammps_data(again, "output").atoms.size() == system.atoms.size(), "what is written can be read");
}

constexpr std::size_t checksum_offset = 16;
constexpr std::size_t header_bytes = 184;

std::uint64_t checksum(std::uint64_t hash, std::string_view data) {
  for (std::size_t i = 0; i + 8 <= data.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + i, 8);
    hash = (hash ^ word) * 0x100000001b3ULL;
  }
  return hash;
}

void read_restart(std::string file) {
  if (file.size() >= header_bytes) {
    std::memset(file.data() + checksum_offset, 0, 8);
    const std::string_view all = file;
    const std::uint64_t sum =
        checksum(checksum(0xcbf29ce484222325ULL, all.substr(header_bytes)), all.substr(0, header_bytes));
    std::memcpy(file.data() + checksum_offset, &sum, 8);
  }
  const md::restart_state state = md::read_restart(scratch_file("restart", file));
  const md::run_settings& settings = state.settings;
  expect(settings.reneighbor_every > 0 && settings.reach() > 0.0, "settings of a restart file can be run with");
  for (const md::atom_record& atom : state.system.atoms) {
    expect(static_cast<std::size_t>(atom.type) < state.system.masses.size(), "an atom has one of the types");
    md::atom_record moved = atom;
    state.system.box.wrap(moved.position, moved.image);
  }
  md::write_restart(scratch_folder() / "restart", state);
}

md::atom_system two_atoms() {
  md::atom_system system;
  system.box = {{0, 0, 0}, {4, 4, 4}};
  system.masses = {1.0, 2.0};
  system.types = {{1.0, 1.0}, {0.5, 1.2}};
  system.atoms = {{.position = {1, 1, 1}, .velocity = {0.1, 0, 0}, .id = 1, .type = 0, .image = {0, -1, 2}},
                  {.position = {2.5, 1, 3.25}, .velocity = {-0.1, 0, 0}, .id = 2, .type = 1, .image = {}}};
  return system;
}

}  // namespace

bool read(std::string_view input) {
  if (input.empty()) return false;
  try {
    if (input[0] == 'r')
      read_restart(std::string(input.substr(1)));
    else
      read_data(input.substr(1));
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  const md::atom_system system = two_atoms();
  std::ostringstream data;
  md::write_lammps_data(data, system);
  md::restart_state state;
  state.system = system;
  state.kernels = "generic";
  state.step = 40;
  state.held_positions = {{1, 1, 1}, {2.5, 1, 3}};
  const std::filesystem::path file = scratch_folder() / "seed";
  md::write_restart(file, state);
  return {"d" + data.str(), "r" + testing::contents_of(file)};
}

}  // namespace tri::fuzz
