// See simulation.hpp.
#include "gravity/parallel/simulation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "gravity/bodies/body_files.hpp"
#include "gravity/parallel/report.hpp"
#include "gravity/parallel/run_objects.hpp"
#include "trireme/balance.hpp"
#include "trireme/balance_strategy.hpp"

namespace gravity {
namespace {

class simulation {
 public:
  simulation(const std::vector<body>& bodies, const options& values, int pieces)
      : values_(values), body_count_(bodies.size()), all_(make_objects(bodies, pieces)) {}

  void run() {
    advance(0, 0.0, 0.0);
    energies_.push_back(print_row(0));
    write_snapshot(0);
    clear_statistics();
    for (std::int64_t step = 1; step <= values_.steps; ++step) {
      const double time_step = values_.settings.time_step;
      advance(step, 0.5 * time_step, time_step);
      if (step == values_.steps || (values_.print_every != 0 && step % values_.print_every == 0))
        energies_.push_back(print_row(step));
      if (step % values_.snapshot_every == 0) write_snapshot(step);
      if (!values_.balance.empty() && step != values_.steps && step % values_.balance_every == 0) balance();
    }
    print_report();
  }

 private:
  /// A step: half kick and motion, a new tree, forces and the other half. The first forces are a step without motion.
  void advance(std::int64_t step, double kick, double time_step) {
    phase_timer timer(times_);
    const box bounds = all_.drift(kick, time_step);
    const bool deals_anew = step == 0 || (values_.deal_every != 0 && step % values_.deal_every == 0);
    const root_cube cube = deals_anew ? cube_around(bounds) : division_.cube;
    if (!std::isfinite(cube.side))
      throw std::runtime_error(fmt::format("step {}: the bodies are too far apart for a double", step));
    timer.ends(phase::drift);
    const decomposition now = decompose(cube, deals_anew);
    if (deals_anew) division_ = division_of(now);
    timer.ends(phase::decompose);
    const std::vector<subtree_root> roots = all_.exchange(step, now);
    timer.ends(phase::exchange);
    all_.install(build_top_tree(now, roots, values_.settings.tree.theta), now);
    timer.ends(phase::top_tree);
    sums_ = all_.find_forces(kick);
    timer.ends(phase::forces);
    for (const subtree_sums& each : sums_) interactions_ += each.interactions;
    subtrees_ = roots.size();
    loads_.add(all_.reports());
  }

  /// Between steps nothing is under way, so all pieces can migrate.
  void balance() {
    phase_timer timer(times_);
    moved_ += tri::balance({.strategy = values_.balance}).get().moved;
    ++balancings_;
    timer.ends(phase::balance);
  }

  decomposition decompose(const root_cube& cube, bool deals_anew) const {
    cell_refinement cells(body_count_, static_cast<std::uint64_t>(values_.settings.subtree));
    all_.count(cube, {}, true);  // sorts
    while (!cells.done()) cells.take(all_.count(cube, cells.request(), false));
    return deals_anew ? deal(cube, cells.subtrees(), all_.pieces.shape().extent[0])
                      : deal_as(division_, cells.subtrees());
  }

  energy_row print_row(std::int64_t step) const {
    if (step == 0) fmt::print("{}\n", energy_header());
    const energy_row row = make_row(step, values_.settings.time_step, sums_);
    fmt::print("{}\n", format_row(row));
    std::fflush(stdout);
    return row;
  }

  void write_snapshot(std::int64_t step) const {
    if (!values_.snapshots.empty())
      write_bodies(fmt::format("{}.{:06}.bodies", values_.snapshots, step), all_.bodies());
  }

  void clear_statistics() {
    times_ = {};
    interactions_ = {};
    loads_ = {};
  }

  void print_report() const {
    const std::vector<body> bodies = all_.bodies();
    if (!values_.write.empty()) write_bodies(values_.write, bodies);
    fmt::print("{}", format_report({body_count_, values_.steps, subtrees_, interactions_, times_, loads_}));
    if (!values_.balance.empty()) fmt::print("{} balancings, {} pieces have moved\n", balancings_, moved_);
    fmt::print("{}", format_conservation(energies_.front(), energies_.back()));
    if (values_.verify) fmt::print("{}", format_errors(all_.compare_forces(bodies)));
    fmt::print("checksum {:016x}\n", checksum_of(bodies));
  }

  const options& values_;
  std::size_t body_count_;
  run_objects all_;
  division division_;               ///< the last one
  std::vector<subtree_sums> sums_;  ///< of the last step
  std::size_t subtrees_ = 0;        ///< of the last step
  std::vector<energy_row> energies_;
  interaction_counts interactions_;
  phase_times times_{};
  pe_loads loads_;
  std::int64_t balancings_ = 0;
  std::int64_t moved_ = 0;  ///< pieces, by all balancings
};

}  // namespace

void simulate(const std::vector<body>& bodies, const options& values) {
  if (!values.write.empty()) check_writable(values.write);
  if (!values.balance.empty()) static_cast<void>(tri::balancing::find_strategy(values.balance));  // throws
  the_settings.publish(values.settings).get();
  const int pieces = values.pieces != 0 ? values.pieces : 8 * tri::pe_count();
  fmt::print("{} bodies in {} pieces, theta {}, {} kernels, {} PEs in {} processes\n", bodies.size(), pieces,
             values.settings.tree.theta, values.settings.kernels.data(), tri::pe_count(), tri::process_count());
  simulation(bodies, values, pieces).run();
}

}  // namespace gravity
