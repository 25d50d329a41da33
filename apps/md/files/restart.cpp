// See restart.hpp. File layout: file_header, masses, types, atoms (file_atom), all at their natural size.
#include "md/files/restart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <type_traits>

#include "md/electrostatics/b_spline.hpp"
#include "md/electrostatics/charge_mesh.hpp"
#include "md/system/system_check.hpp"

namespace md {
namespace {

constexpr std::array<char, 8> magic = {'T', 'R', 'I', 'M', 'D', 'R', 'S', 'T'};
constexpr std::uint32_t version = 2;
constexpr std::uint32_t byte_order_mark = 0x01020304;

struct file_header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint64_t checksum;  ///< of everything after the header, then of the header with this field 0
  std::uint64_t atoms;
  std::uint32_t types;
  std::int32_t steps_since_build;
  std::int64_t step;
  vec3 box_low;
  vec3 box_high;
  double dt;
  double cutoff;
  double skin;
  std::int32_t reneighbor_every;
  std::int32_t check_displacement;
  int3 patches;
  std::array<char, 12> kernels;
  std::int32_t electrostatics;
  std::int32_t pme_order;
  int3 pme_mesh;
  std::int32_t unused;
  double pme_alpha;
};
static_assert(std::is_trivially_copyable_v<file_header> && sizeof(file_header) == 184);

struct file_atom {
  std::int64_t id;
  vec3 position;
  vec3 velocity;
  vec3 held_position;
  std::int32_t type;
  std::array<std::int32_t, 3> image;
};
static_assert(std::is_trivially_copyable_v<file_atom> && sizeof(file_atom) == 96);

// FNV-1a over 8-byte words (every part of the file is a multiple of 8 bytes long).
std::uint64_t checksum(std::uint64_t hash, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + i, 8);
    hash = (hash ^ word) * 0x100000001b3ULL;
  }
  return hash;
}

std::uint64_t checksum(const file_header& header, const std::vector<char>& body) {
  file_header without = header;
  without.checksum = 0;
  return checksum(checksum(0xcbf29ce484222325ULL, body.data(), body.size()), &without, sizeof without);
}

template <class T>
void append(std::vector<char>& to, const T& value) {
  const auto* bytes = reinterpret_cast<const char*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof(T));
}

template <class T>
T take(const char*& from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  from += sizeof(T);
  return value;
}

std::string problem_of(const electrostatics_settings& charges, double cutoff) {
  if (charges.method != electrostatics::pme) return {};
  const int3& mesh = charges.mesh;
  if (is_spline_order(charges.order) && std::min({mesh[0], mesh[1], mesh[2]}) >= 1 &&
      std::max({mesh[0], mesh[1], mesh[2]}) <= most_mesh_points && charges.alpha > 0.0 &&
      charges.alpha * cutoff <= 6.0) {
    return {};
  }
  return fmt::format(
      "has particle-mesh Ewald of order {} with mesh {} and alpha {}; expected order 4, 6 or 8, 1 to {} points in each "
      "direction, and an alpha from 0 to 6/cutoff",
      charges.order, fmt::join(mesh, " "), charges.alpha, most_mesh_points);
}

// The checksum finds damage, not a program that wrote something else.
std::string problem_of(const restart_state& state) {
  const run_settings& settings = state.settings;
  const auto positive = [](double value) { return std::isfinite(value) && value > 0.0; };
  if (!positive(settings.dt) || !positive(settings.cutoff) || !std::isfinite(settings.skin) || settings.skin < 0.0) {
    return fmt::format(
        "has time step {}, cutoff {} and skin {}; the first two must be larger than 0, the skin at least 0",
        settings.dt, settings.cutoff, settings.skin);
  }
  if (settings.reneighbor_every < 1 || state.step < 0 || state.steps_since_build < 0) {
    return fmt::format(
        "is of step {}, {} steps after lists that are built every {} steps; these must be at least 0, 0 and 1",
        state.step, state.steps_since_build, settings.reneighbor_every);
  }
  if (std::min({settings.patches[0], settings.patches[1], settings.patches[2]}) < 0)
    return fmt::format("has {} patches; each number must be at least 0", fmt::join(settings.patches, " "));
  if (state.system.atoms.empty()) return "has no atoms; at least 1 is needed";
  for (std::size_t i = 0; i < state.held_positions.size(); ++i)
    for (const double each : state.held_positions[i])
      if (!std::isfinite(each))
        return fmt::format("has the position {} of atom {} at the last list build; it must be finite", each,
                           state.system.atoms[i].id);
  if (std::string problem = problem_of(settings.charges, settings.cutoff); !problem.empty()) return problem;
  return problem_of(state.system);
}

[[noreturn]] void fail(const std::filesystem::path& file, std::string_view what) {
  throw std::runtime_error(fmt::format("restart file '{}': {}", file.string(), what));
}

}  // namespace

void restart_state::add(const patch& p) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const vec4& held = p.held_positions()[i];
    system.atoms.push_back(p.record(i));
    held_positions.push_back({held.x, held.y, held.z});
  }
}

void restart_state::sort() {
  std::vector<std::size_t> order(system.atoms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return system.atoms[a].id < system.atoms[b].id; });
  std::vector<atom_record> atoms;
  std::vector<vec3> held;
  for (const std::size_t i : order) {
    atoms.push_back(system.atoms[i]);
    held.push_back(held_positions[i]);
  }
  system.atoms = std::move(atoms);
  held_positions = std::move(held);
}

void write_restart(const std::filesystem::path& file, const restart_state& state) {
  file_header header{};
  header.magic = magic;
  header.version = version;
  header.byte_order = byte_order_mark;
  header.atoms = state.system.atoms.size();
  header.types = static_cast<std::uint32_t>(state.system.masses.size());
  header.steps_since_build = state.steps_since_build;
  header.step = state.step;
  header.box_low = state.system.box.low;
  header.box_high = state.system.box.high;
  header.dt = state.settings.dt;
  header.cutoff = state.settings.cutoff;
  header.skin = state.settings.skin;
  header.reneighbor_every = state.settings.reneighbor_every;
  header.check_displacement = state.settings.check_displacement ? 1 : 0;
  header.patches = state.settings.patches;
  state.kernels.copy(header.kernels.data(), header.kernels.size() - 1);
  const electrostatics_settings& charges = state.settings.charges;
  header.electrostatics = static_cast<std::int32_t>(charges.method);
  header.pme_order = charges.order;
  header.pme_mesh = charges.mesh;
  header.pme_alpha = charges.alpha;

  std::vector<char> body;
  body.reserve(state.system.atoms.size() * sizeof(file_atom));
  for (std::size_t t = 0; t < state.system.masses.size(); ++t) {
    append(body, state.system.masses[t]);
    append(body, state.system.types[t]);
  }
  for (std::size_t i = 0; i < state.system.atoms.size(); ++i) {
    const atom_record& atom = state.system.atoms[i];
    append(body, file_atom{atom.id, atom.position, atom.velocity, state.held_positions[i], atom.type, atom.image});
  }
  header.checksum = checksum(header, body);

  const std::filesystem::path unfinished = file.string() + ".new";
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  out.write(body.data(), static_cast<std::streamsize>(body.size()));
  out.close();
  if (!out) {
    const int error = errno;
    std::error_code ignored;  // the user needs the write error
    std::filesystem::remove(unfinished, ignored);
    fail(file, fmt::format("cannot write: {}", std::strerror(error)));
  }
  std::filesystem::rename(unfinished, file);
}

restart_state read_restart(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file, fmt::format("cannot open: {}", std::strerror(errno)));
  std::error_code size_error;
  const std::uintmax_t size = std::filesystem::file_size(file, size_error);
  if (size_error) fail(file, fmt::format("cannot read: {}", size_error.message()));
  file_header header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!in || header.magic != magic) fail(file, "is not a restart file of md (it does not begin with TRIMDRST)");
  if (header.byte_order != byte_order_mark) fail(file, "was written on a machine with another byte order");
  if (header.version != version) {
    fail(file, fmt::format("has version {}, this program reads version {}", header.version, version));
  }
  const std::uintmax_t types_size = header.types * (sizeof(double) + sizeof(type_parameters));
  if (header.atoms > size / sizeof(file_atom) ||
      size != sizeof header + types_size + header.atoms * sizeof(file_atom)) {
    fail(file,
         fmt::format("is {} bytes long, which does not fit its {} atoms: truncated or damaged", size, header.atoms));
  }
  std::vector<char> body(size - sizeof header);
  in.read(body.data(), static_cast<std::streamsize>(body.size()));
  if (!in || checksum(header, body) != header.checksum) fail(file, "is damaged (its checksum does not match)");

  restart_state state;
  state.system.box = {header.box_low, header.box_high};
  state.settings.dt = header.dt;
  state.settings.cutoff = header.cutoff;
  state.settings.skin = header.skin;
  state.settings.reneighbor_every = header.reneighbor_every;
  state.settings.check_displacement = header.check_displacement != 0;
  state.settings.patches = header.patches;
  if (header.electrostatics < 0 || header.electrostatics > static_cast<std::int32_t>(electrostatics::pme))
    fail(file, fmt::format("has electrostatics {}; expected 0 to 2", header.electrostatics));
  state.settings.charges = {static_cast<electrostatics>(header.electrostatics), header.pme_order, header.pme_mesh,
                            header.pme_alpha};
  header.kernels.back() = '\0';
  state.kernels = header.kernels.data();
  state.step = header.step;
  state.steps_since_build = header.steps_since_build;
  const char* from = body.data();
  for (std::uint32_t t = 0; t < header.types; ++t) {
    state.system.masses.push_back(take<double>(from));
    state.system.types.push_back(take<type_parameters>(from));
  }
  state.system.atoms.reserve(header.atoms);
  for (std::uint64_t i = 0; i < header.atoms; ++i) {
    const auto atom = take<file_atom>(from);
    state.system.atoms.push_back({atom.position, atom.velocity, atom.id, atom.type, atom.image});
    state.held_positions.push_back(atom.held_position);
  }
  if (const std::string problem = problem_of(state); !problem.empty()) fail(file, problem);
  return state;
}

}  // namespace md
