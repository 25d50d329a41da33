// md_serial: the whole simulation in one thread, without the runtime. The reference that the parallel program must
// equal.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "md/electrostatics/ewald_parameters.hpp"
#include "md/program.hpp"
#include "md/serial_driver.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

md::serial_driver start(const md::run_input& input, const md::kernel_set& kernels) {
  if (input.restart) return {*input.restart, input.settings, kernels};
  return {input.system, input.settings, kernels};
}

bool is_multiple(std::int64_t step, std::int64_t every) { return every != 0 && step % every == 0; }

void show_progress(std::int64_t done, std::int64_t steps) {
  fmt::print(stderr, "\r{} of {} steps{}", done, steps, done == steps ? "\n" : "");
  std::fflush(stderr);
}

void run(const md::run_input& input, const md::options& options) {
  const md::kernel_set& kernels = md::choose_kernels(input.kernels);
  md::serial_driver driver = start(input, kernels);
  const md::box& box = input.restart ? input.restart->system.box : input.system.box;
  const md::int3& counts = driver.grid().counts();
  fmt::print("{} atoms in {} x {} x {} patches, {} kernels, {} listed pairs\n", driver.atom_count(), counts[0],
             counts[1], counts[2], kernels.name, driver.listed_pairs());

  const md::atom_system& system = input.restart ? input.restart->system : input.system;
  fmt::print("{}", md::describe(box, md::totals_of(system), input.settings.cutoff, input.settings.charges));

  std::optional<md::trajectory_writer> trajectory;
  if (!options.dump.empty()) trajectory.emplace(options.dump, options.dump_format, input.restart.has_value());
  // The frame of a restart's own step is in the file already.
  if (trajectory && !input.restart) trajectory->write(driver.step(), box, driver.atoms());

  fmt::print("{}\n{}\n", md::thermo_header(), md::format_thermo(driver.thermo(), options.thermo_digits));
  const std::int64_t last = driver.step() + options.steps;
  const std::int64_t progress_every = std::max<std::int64_t>(1, options.steps / 100);
  const auto begin = clock_type::now();
  for (std::int64_t done = 1; done <= options.steps; ++done) {
    const std::int64_t step = driver.step() + 1;
    const bool thermo = step == last || is_multiple(step, options.thermo_every);
    driver.advance(thermo);
    if (thermo) fmt::print("{}\n", md::format_thermo(driver.thermo(), options.thermo_digits));
    if (trajectory && is_multiple(step, options.dump_every)) trajectory->write(step, box, driver.atoms());
    if (!options.restart_out.empty() && step != last && is_multiple(step, options.restart_every)) {
      md::write_restart(options.restart_out, driver.restart());
    }
    if (options.progress && (done == options.steps || is_multiple(done, progress_every))) {
      show_progress(done, options.steps);
    }
  }
  const double seconds = seconds_since(begin);
  fmt::print("Loop time of {:.6g} on 1 thread for {} steps with {} atoms, {} list builds\n", seconds, options.steps,
             driver.atom_count(), driver.list_builds() - 1);
  if (!options.restart_out.empty()) md::write_restart(options.restart_out, driver.restart());
}

}  // namespace

int main(int argc, char** argv) {
  return md::run_program("md_serial", "Lennard-Jones molecular dynamics in one thread", argc, argv, run);
}
