// See simulation.hpp.
#include "md/parallel/simulation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "md/electrostatics/ewald_parameters.hpp"
#include "md/output/run_report.hpp"
#include "md/parallel/balancing.hpp"
#include "md/parallel/run_objects.hpp"
#include "md/serial_driver.hpp"
#include "os/clock.hpp"

namespace md {
namespace {

// Atoms belong to the patch where they were at the last list build; a restart also has their current positions.
std::vector<patch_load> distribute(const run_input& input, const patch_grid& grid, const box& box) {
  std::vector<patch_load> loads(static_cast<std::size_t>(grid.size()));
  const std::vector<atom_record>& atoms = input.restart ? input.restart->system.atoms : input.system.atoms;
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    atom_record atom = atoms[i];
    if (input.restart) atom.position = input.restart->held_positions[i];
    box.wrap(atom.position, atom.image);
    patch_load& load = loads[static_cast<std::size_t>(grid.owner(atom.position))];
    load.atoms.push_back(atom);
    if (input.restart) load.present.push_back(atoms[i].position);
  }
  return loads;
}

output_plan make_plan(const run_input& input, const options& values) {
  output_plan plan;
  plan.first = input.restart ? input.restart->step : 0;
  plan.last = plan.first + values.steps;
  plan.thermo_every = values.thermo_every;
  plan.dump_every = values.dump.empty() ? 0 : values.dump_every;
  plan.restart_every = values.restart_every;
  plan.writes_restart = !values.restart_out.empty();
  plan.continued = input.restart.has_value();
  return plan;
}

world make_world(const run_input& input, const options& values, const patch_grid& grid,
                 const std::vector<patch_load>& loads) {
  const atom_system& system = input.restart ? input.restart->system : input.system;
  world_facts facts;
  facts.box = system.box;
  facts.settings = input.settings;
  facts.settings.patches = grid.counts();
  facts.plan = make_plan(input, values);
  choose_kernels(input.kernels).name.copy(facts.kernels.data(), facts.kernels.size() - 1);
  facts.steps_since_build = input.restart ? input.restart->steps_since_build : 0;
  facts.barrier = values.barrier;
  facts.balance_every = values.balance.empty() ? 0 : values.balance_every;
  facts.balance_first = values.balance_first.value_or(facts.balance_every);
  facts.mesh_objects = values.pme_slabs != 0 ? values.pme_slabs : tri::pe_count();
  facts.constant_sums = constant_sums(system.box, totals_of(system), input.settings.charges);
  facts.shows_progress = values.progress || isatty(STDERR_FILENO) == 1;
  std::vector<std::size_t> atoms;
  for (const patch_load& load : loads) atoms.push_back(values.placed_by_volume ? 1 : load.atoms.size());
  return {facts, system.masses, system.types, place_work(grid, atoms, input.settings.reach(), tri::pe_count())};
}

}  // namespace

void simulate(const run_input& input, const options& values) {
  check_strategy(values.balance);
  const md::box box = input.restart ? input.restart->system.box : input.system.box;
  const patch_grid grid = make_grid(box, input.settings);
  const std::vector<patch_load> loads = distribute(input, grid, box);
  the_world.publish(make_world(input, values, grid, loads)).get();
  const world& w = *the_world;

  const run_objects all =
      make_objects(loads, {values.dump, values.dump_format, values.restart_out, values.thermo_digits});
  std::size_t atoms = 0;
  for (const patch_load& load : loads) atoms += load.atoms.size();
  const int3 counts = grid.counts();
  fmt::print("{} atoms in {} x {} x {} patches, {} pairs of patches, {} kernels, {}\n", atoms, counts[0], counts[1],
             counts[2], grid.size() * pair_kinds, w.kernels().name, describe_pes());
  const atom_system& system = input.restart ? input.restart->system : input.system;
  fmt::print("{}", describe(box, totals_of(system), input.settings.cutoff, input.settings.charges));
  std::fflush(stdout);
  all.output.call<&recorder::connect>(all.patches, static_cast<std::int64_t>(atoms)).get();
  all.output.local()->open_files();

  all.start();
  all.reports();  // counts from zero
  const std::int64_t begin = tri::os::now_ns();
  run_report report;
  while (all.run() != patch_object::ended) balance_objects(all, values.balance, report.balancing);
  report.seconds = static_cast<double>(tri::os::now_ns() - begin) * 1e-9;
  report.pes = all.reports();
  report.atoms = atoms;
  report.steps = values.steps;
  report.dt = input.settings.dt;
  report.list_builds = all.list_builds();
  report.strategy = values.balance;
  report.listed_pairs = all.listed_pairs();
  tri::quiescence().get();  // the run itself does not wait for the recorder
  all.output.call<&recorder::finish>().get();
  fmt::print("{}", format_report(report));
}

}  // namespace md
