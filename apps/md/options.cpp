// See options.hpp.
#include "md/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "md/electrostatics/charge_mesh.hpp"
#include "md/electrostatics/ewald_parameters.hpp"
#include "md/electrostatics/mesh_transforms.hpp"
#include "md/files/lammps_data.hpp"
#include "md/patches/patch_grid.hpp"

namespace md {
namespace {

template <class T>
CLI::Validator at_least(T least) {
  return {[least](std::string& text) {
            T value{};
            const bool number = CLI::detail::lexical_cast(text, value);
            if (number && value >= least) return std::string();
            return fmt::format("'{}' is not possible; expected {} of at least {}", text,
                               std::is_integral_v<T> ? "an integer" : "a number", least);
          },
          ""};
}

CLI::Validator positive() {
  return {[](std::string& text) {
            double value = 0.0;
            if (CLI::detail::lexical_cast(text, value) && value > 0.0 && std::isfinite(value)) return std::string();
            return fmt::format("'{}' is not possible; expected a number larger than 0", text);
          },
          ""};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row.back();
}

void add_input_options(CLI::App& app, options& values) {
  app.add_option("--data", values.data, "LAMMPS data file (atom_style atomic or charge, units lj) to start from")
      ->type_name("FILE");
  app.add_option("--system", values.system, "make a system instead: droplet, a liquid sphere in a large box")
      ->type_name("NAME")
      ->check(CLI::IsMember({"droplet"}));
  app.add_option("--droplet-radius", values.droplet.radius, "radius of the droplet, in sigma")
      ->type_name("R")
      ->check(positive())
      ->capture_default_str();
  app.add_option("--droplet-box", values.droplet.box, "edge of its box")
      ->type_name("L")
      ->check(positive())
      ->capture_default_str();
  app.add_option("--droplet-place", values.droplet.place, "its middle on the diagonal of the box, from 0 to 1")
      ->type_name("F")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--droplet-speed", values.droplet.speed, "speed of the whole droplet, along the diagonal of the box")
      ->type_name("V")
      ->capture_default_str();
  app.add_option("--restart-in", values.restart_in, "restart file to continue from, instead of --data")
      ->type_name("FILE");
  app.add_option("--replicate", values.replicate, "repeat the box NX NY NZ times (with --data)")
      ->type_name("NX NY NZ")
      ->check(at_least<int>(1));
}

void add_physics_options(CLI::App& app, options& values) {
  run_settings& s = values.settings;
  app.add_option("--steps", values.steps, "time steps to do")
      ->type_name("N")
      ->check(at_least<std::int64_t>(0))
      ->capture_default_str();
  app.add_option("--dt", s.dt, "time step, in units of tau")->type_name("T")->check(positive())->capture_default_str();
  app.add_option("--cutoff", s.cutoff, "pairs further apart give no force, in units of sigma")
      ->type_name("R")
      ->check(positive())
      ->capture_default_str();
  app.add_option("--skin", s.skin, "neighbour lists hold pairs up to cutoff + skin")
      ->type_name("R")
      ->check(at_least<double>(0.0))
      ->capture_default_str();
  app.add_option("--reneighbor-every", s.reneighbor_every, "steps between builds of the neighbour lists")
      ->type_name("N")
      ->check(at_least<std::int32_t>(1))
      ->capture_default_str();
  app.add_flag("--check", s.check_displacement,
               "build lists only if an atom moved further than half the skin since the last build");
  CLI::Option* const patches = app.add_option("--patches", s.patches, "patches in each direction")
                                   ->type_name("NX NY NZ")
                                   ->check(at_least<int>(1));
  app.add_option("--patch-size", s.patch_size, "least width of a patch [2 (cutoff + skin)]")
      ->type_name("R")
      ->check(positive())
      ->excludes(patches);
  app.add_option("--kernels", values.kernels, "variant of the pair kernel: auto, avx512, avx2 or generic")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "avx512", "avx2", "generic"}))
      ->capture_default_str();
}

void add_charge_options(CLI::App& app, options& values) {
  electrostatics_settings& charges = values.settings.charges;
  app.add_option("--electrostatics", values.electrostatics,
                 "auto (pme if atoms have charges), pme (particle-mesh Ewald) or cutoff (plain Coulomb)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "pme", "cutoff"}))
      ->capture_default_str();
  app.add_option("--pme-tolerance", values.pme_tolerance,
                 "error of the forces (root mean square, in lj units) that alpha and mesh are chosen for")
      ->type_name("F")
      ->check(positive())
      ->capture_default_str();
  app.add_option("--pme-order", charges.order, "order of the splines: 4, 6 or 8 [6]")
      ->type_name("N")
      ->check(CLI::IsMember({4, 6, 8}));
  app.add_option("--pme-grid", charges.mesh, "points of the charge mesh in each direction [by tolerance]")
      ->type_name("NX NY NZ")
      ->check(CLI::Range(1, most_mesh_points));
  app.add_option("--pme-alpha", charges.alpha, "Ewald's splitting, in 1/sigma [by tolerance]")
      ->type_name("A")
      ->check(positive());
  app.add_option("--pme-slabs", values.pme_slabs,
                 "objects that the mesh is cut into; results do not depend on it [PEs]")
      ->type_name("N")
      ->check(at_least<int>(1));
}

void add_placement_options(CLI::App& app, options& values) {
  app.add_option("--placement", values.placed_by_volume,
                 "where patches and pairs begin: by expected work, or by volume")
      ->type_name("NAME")
      ->transform(CLI::CheckedTransformer(std::map<std::string, bool>{{"work", false}, {"volume", true}})
                      .description("{work,volume}"))
      ->default_str("work");
  app.add_option(
         "--balance", values.balance,
         "strategy that moves patches, pairs and mesh by their measured loads: trireme balance --list, or scatter "
         "(anywhere, to try that no result changes)")
      ->type_name("NAME");
  app.add_option("--balance-every", values.balance_every, "steps between balancings, at the next list build")
      ->type_name("N")
      ->check(at_least<std::int64_t>(1))
      ->capture_default_str();
  app.add_option(
         "--balance-first", values.balance_first,
         "steps before the first balancing, if not as many: what was placed without knowing loads is soon mended")
      ->type_name("N")
      ->check(at_least<std::int64_t>(1));
}

void add_output_options(CLI::App& app, options& values) {
  app.add_option("--thermo", values.thermo_every, "steps between lines of the thermo table; 0: first and last only")
      ->type_name("N")
      ->check(at_least<std::int64_t>(0))
      ->capture_default_str();
  app.add_option("--thermo-digits", values.thermo_digits, "significant digits of the values in the table")
      ->type_name("N")
      ->check(CLI::Range(1, 17))
      ->capture_default_str();
  app.add_option("--dump", values.dump, "trajectory file to write")->type_name("FILE");
  app.add_option("--dump-every", values.dump_every, "steps between frames of the trajectory")
      ->type_name("N")
      ->check(at_least<std::int64_t>(1))
      ->capture_default_str();
  app.add_option("--dump-format", values.dump_format, "form of the trajectory; both are text")
      ->type_name("NAME")
      ->transform(CLI::CheckedTransformer(std::map<std::string, trajectory_format>{
                                              {"xyz", trajectory_format::xyz}, {"lammps", trajectory_format::lammps}})
                      .description("{xyz,lammps}"))
      ->default_str("xyz");
  app.add_option("--restart-out", values.restart_out, "restart file to write after the last step")->type_name("FILE");
  app.add_option("--restart-every", values.restart_every, "also write the restart file every N steps")
      ->type_name("N")
      ->check(at_least<std::int64_t>(1));
  app.add_flag("--barrier", values.barrier, "patches wait for each other after every step");
  app.add_flag("--progress", values.progress, "show a progress line on standard error");
}

bool given(const CLI::App& app, const char* option) { return app.get_option(option)->count() != 0; }

// Settings of the restart file, overridden by the command line.
run_settings merge(const CLI::App& app, const run_settings& from_file, const run_settings& from_options) {
  run_settings result = from_file;
  if (given(app, "--dt")) result.dt = from_options.dt;
  if (given(app, "--cutoff")) result.cutoff = from_options.cutoff;
  if (given(app, "--skin")) result.skin = from_options.skin;
  if (given(app, "--reneighbor-every")) result.reneighbor_every = from_options.reneighbor_every;
  if (given(app, "--check")) result.check_displacement = from_options.check_displacement;
  const bool other_patches = given(app, "--patches") || given(app, "--patch-size");
  const bool other_reach = given(app, "--cutoff") || given(app, "--skin");
  if (other_patches || other_reach) {
    result.patches = from_options.patches;
    result.patch_size = from_options.patch_size;
  }
  return result;
}

bool given_any(const CLI::App& app, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return given(app, name); });
}

// Decides how the charges act. A restart keeps what its file has, unless options say otherwise.
electrostatics_settings choose_electrostatics(const CLI::App& app, const options& values, const run_input& input) {
  const atom_system& system = input.restart ? input.restart->system : input.system;
  const charge_totals charges = totals_of(system);
  const bool pme_options = given_any(app, {"--pme-tolerance", "--pme-order", "--pme-grid", "--pme-alpha"});
  electrostatics method = charges.charged() ? electrostatics::pme : electrostatics::none;
  if (values.electrostatics == "cutoff") method = electrostatics::cutoff;
  if (values.electrostatics == "pme") method = electrostatics::pme;
  if (input.restart && !given_any(app, {"--electrostatics", "--cutoff"}) && !pme_options) {
    return input.restart->settings.charges;
  }
  if (!charges.charged() && (values.electrostatics != "auto" || pme_options)) {
    throw std::invalid_argument("--electrostatics and --pme-... are for charged atoms, and no atom has a charge");
  }
  if (pme_options && method != electrostatics::pme) {
    throw std::invalid_argument("--pme-... are for --electrostatics pme, and cutoff was given");
  }
  if (method != electrostatics::pme) return {method, 0, {}, 0.0};
  if (!have_mesh_transforms()) {
    throw std::invalid_argument(
        "the atoms have charges, and this program was built without FFTW, which particle-mesh Ewald needs: install "
        "Debian's libfftw3-dev (scripts/deps.sh build) and build again, or use --electrostatics cutoff");
  }
  return choose_pme(system.box, charges, input.settings.cutoff, values.pme_tolerance, values.settings.charges);
}

}  // namespace

void add_options(CLI::App& app, options& values) {
  add_input_options(app, values);
  add_physics_options(app, values);
  add_charge_options(app, values);
  add_placement_options(app, values);
  add_output_options(app, values);
}

run_input load_input(const CLI::App& app, const options& values) {
  const bool restarting = !values.restart_in.empty();
  const bool made = !values.system.empty();
  const int inputs = (restarting ? 1 : 0) + (values.data.empty() ? 0 : 1) + (made ? 1 : 0);
  if (inputs == 0) throw std::invalid_argument("no input; give --data FILE, --restart-in FILE or --system droplet");
  if (inputs > 1)
    throw std::invalid_argument("--data, --system and --restart-in: more than one was given; give one of them");
  if (!made && given_any(app, {"--droplet-radius", "--droplet-box", "--droplet-place", "--droplet-speed"}))
    throw std::invalid_argument("--droplet-... are for --system droplet");
  if (values.balance.empty() && given_any(app, {"--balance-every", "--balance-first"}))
    throw std::invalid_argument("--balance-every and --balance-first need --balance NAME to say by which strategy");
  if (restarting && values.replicate != int3{1, 1, 1}) {
    throw std::invalid_argument("--replicate works with --data or --system only; a restart file cannot be replicated");
  }
  if (values.restart_every != 0 && values.restart_out.empty()) {
    throw std::invalid_argument("--restart-every needs --restart-out FILE to say where to write");
  }
  const double reach = values.settings.reach();
  if (values.settings.patch_size != 0.0 && values.settings.patch_size < reach) {
    throw std::invalid_argument(
        fmt::format("--patch-size {}: must be at least cutoff + skin = {}", values.settings.patch_size, reach));
  }
  run_input input;
  input.settings = values.settings;
  input.kernels = values.kernels;
  if (restarting) {
    input.restart = read_restart(values.restart_in);
    input.settings = merge(app, input.restart->settings, values.settings);
    if (!given(app, "--kernels")) input.kernels = input.restart->kernels;
  } else {
    input.system = replicate(made ? make_droplet(values.droplet) : read_lammps_data(values.data), values.replicate);
  }
  input.settings.charges = choose_electrostatics(app, values, input);
  return input;
}

std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return message;
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) return message;
  const std::string name = unknown.front().substr(0, unknown.front().find('='));
  std::string nearest;
  std::size_t least = 4;  // a larger distance does not help
  for (const CLI::Option* option : app.get_options()) {
    const std::string candidate = "--" + (option->get_lnames().empty() ? std::string() : option->get_lnames().front());
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  message = fmt::format("unknown option '{}'", name);
  if (!nearest.empty()) message += fmt::format("; did you mean {}?", nearest);
  return message;
}

}  // namespace md
