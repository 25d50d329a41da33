// Molecular dynamics in the shape of Charm++'s leanmd: objects for cells, and objects for pairs of cells that interact.
// In each step a cell sends its positions to its 27 pairs; a pair that has those of both cells sends forces to both.
// Every 20 steps cells hand particles that have left them to their neighbours. `lean_md --help` has the arguments.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ported/main_program.hpp"
#include "ported/particles.hpp"
#include "ported/serial_cells.hpp"
#include "trireme/balance.hpp"
#include "trireme/objects.hpp"

namespace {

using namespace ported;

class cell;
class pair;

struct world {
  cell_grid grid;
  filling with;
  tri::array<cell> cells;
  tri::array<pair> pairs;
};
tri::read_only<world> the_world;

tri::index<3> index_of(const cell_index& at) { return {at[0], at[1], at[2]}; }

/// Has the particles of a cell.
class cell : public tri::array_element<cell, tri::index<3>> {
 public:
  /// Steps `first` to `last`; returns what is there then.
  tri::task<cell_totals> run(int first, int last);
  void fill() { particles_ = fill_cell(the_world->grid, the_world->with, place()); }

  // Awaited by run.
  /// Forces in `step` by the pair that adds contribution number `contribution`.
  void forces(int step, int contribution, tri::buffer<vec3> forces) {
    static_cast<void>(step);
    contributions_[static_cast<std::size_t>(contribution)] = std::move(forces);
  }
  void arrive(int step, int neighbour, std::vector<particle> particles) {
    static_cast<void>(step);
    arrived_[static_cast<std::size_t>(neighbour)] = std::move(particles);
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(particles_);
  }

 private:
  cell_index place() const { return {this_index()[0], this_index()[1], this_index()[2]}; }
  void send_positions(int step);
  void add_forces();
  void send_leavers(int step);

  std::vector<particle> particles_;
  std::array<tri::buffer<vec3>, contributions_of_cell> contributions_;
  std::array<std::vector<particle>, 27> arrived_;
};

/// Computes the forces between two cells, or within one. Its index is that of the first cell, and the kind.
class pair : public tri::array_element<pair, tri::index<4>> {
 public:
  tri::task<> run(int first, int last) {
    for (int step = first; step <= last; ++step) {
      co_await when_n<&pair::positions>(kind() == 0 ? 1 : 2, step);
      send_forces(step);
    }
  }
  // Awaited by run.
  void positions(int step, int side, tri::shared_buffer<vec3> positions) {
    static_cast<void>(step);
    positions_[static_cast<std::size_t>(side)] = std::move(positions);
  }

  template <class Archive>
  void serialize(Archive&) {}

 private:
  int kind() const { return this_index()[3]; }
  void send_forces(int step);

  std::array<tri::shared_buffer<vec3>, 2> positions_;
};

tri::task<cell_totals> cell::run(int first, int last) {
  for (int step = first; step <= last; ++step) {
    send_positions(step);
    co_await when_n<&cell::forces>(contributions_of_cell, step);
    add_forces();
    if (step % steps_between_leaving != 0) continue;
    send_leavers(step);
    co_await when_n<&cell::arrive>(26, step);
    for (auto& come : arrived_) {
      particles_.insert(particles_.end(), come.begin(), come.end());
      come.clear();
    }
  }
  co_return totals_of(particles_);
}

void cell::send_positions(int step) {
  tri::buffer<vec3> own(particles_.size());
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = particles_[i].position;
  const tri::shared_buffer<vec3> positions(std::move(own));
  const cell_index at = place();
  for (int kind = 0; kind < pair_kinds; ++kind)
    the_world->pairs(at[0], at[1], at[2], kind).send<&pair::positions>(step, 0, positions);
  for (int kind = 1; kind < pair_kinds; ++kind) {
    const cell_index first = the_world->grid.beside(at, opposite(offset_of_kind(kind)));
    the_world->pairs(first[0], first[1], first[2], kind).send<&pair::positions>(step, 1, positions);
  }
}

void pair::send_forces(int step) {
  const cell_index first = {this_index()[0], this_index()[1], this_index()[2]};
  const cell_index offset = offset_of_kind(kind());
  tri::buffer<vec3> on_first(positions_[0].size(), vec3{});
  if (kind() == 0) {
    add_forces_within(positions_[0], on_first);
  } else {
    tri::buffer<vec3> on_second(positions_[1].size(), vec3{});
    add_forces_between(positions_[0], the_world->grid.shift(first, offset), positions_[1], on_first, on_second);
    the_world->cells[index_of(the_world->grid.beside(first, offset))].send<&cell::forces>(step, pair_kinds + kind() - 1,
                                                                                          std::move(on_second));
  }
  the_world->cells[index_of(first)].send<&cell::forces>(step, kind(), std::move(on_first));
  positions_ = {};
}

// In the order of the pairs, whichever came first, so that results are the same in every run.
void cell::add_forces() {
  std::vector<vec3> sum(particles_.size());
  for (tri::buffer<vec3>& each : contributions_) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += each[i];
    each = {};
  }
  move_by(particles_, sum);
}

void cell::send_leavers(int step) {
  std::vector<std::vector<particle>> leavers = take_leavers(the_world->grid, place(), particles_);
  for (int neighbour = 0; neighbour < 27; ++neighbour) {
    if (neighbour == 13) continue;
    const cell_index to = the_world->grid.beside(place(), offset_of(neighbour));
    this_array()[index_of(to)].send<&cell::arrive>(step, 26 - neighbour,
                                                   std::move(leavers[static_cast<std::size_t>(neighbour)]));
  }
}

struct settings {
  cell_grid grid;
  filling with;
  int steps = 40;
  int steps_between_balancings = 0;  // 0: none
};
settings settings_of(ported::arguments& given) {
  settings made;
  constexpr const char* names[] = {"cells in x", "cells in y", "cells in z"};
  for (std::size_t d = 0; d < 3; ++d) made.grid.size[d] = given.next(names[d], 3, 3, 100);
  made.steps = given.next("steps", made.steps, 1, 1'000'000);
  made.with.first = given.next("particles in the first cell", made.with.first, 0, 100'000);
  made.with.last = given.next("particles in the last cell", made.with.first, 0, 100'000);
  made.steps_between_balancings = given.next("steps between balancings", 0, 0, 1'000'000);
  return made;
}

void compare(const std::vector<cell_totals>& found, const std::vector<cell_totals>& right, const cell_grid& grid) {
  // Results of an array are in the order of its indices: the last one fastest.
  std::size_t next = 0;
  for (std::int32_t x = 0; x < grid.size[0]; ++x)
    for (std::int32_t y = 0; y < grid.size[1]; ++y)
      for (std::int32_t z = 0; z < grid.size[2]; ++z, ++next)
        if (found[next] != right[static_cast<std::size_t>(grid.number_of({x, y, z}))])
          throw std::runtime_error(fmt::format("cell ({}, {}, {}) differs from the loops", x, y, z));
}

void run(const settings& with, bool verify) {
  const auto [x, y, z] = with.grid.size;
  world made{with.grid, with.with, tri::make_array<cell>({x, y, z}), tri::make_array<pair>({x, y, z, pair_kinds})};
  the_world.publish(made).get();
  made.cells.broadcast<&cell::fill>();
  tri::quiescence().get();
  const auto before = std::chrono::steady_clock::now();
  const int at_once = with.steps_between_balancings > 0 ? with.steps_between_balancings : with.steps;
  std::int64_t moved = 0;
  std::vector<cell_totals> found;
  for (int done = 0; done < with.steps; done += at_once) {
    if (done > 0) moved += tri::balance().get().moved;
    const int last = std::min(done + at_once, with.steps);
    made.pairs.broadcast<&pair::run>(done + 1, last);
    found = made.cells.reduce<&cell::run>(tri::gather, done + 1, last).get();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  cell_totals all;
  for (const cell_totals& each : found) {
    all.particles += each.particles;
    all.squared_velocities += each.squared_velocities;
    all.coordinates += each.coordinates;
  }
  if (verify) compare(found, run_serially(with.grid, with.with, with.steps), with.grid);
  fmt::print("{} particles, {} steps: squared velocities {:.12g}, coordinates {:.12g}{}\n", all.particles, with.steps,
             all.squared_velocities, all.coordinates, verify ? ", verified" : "");
  fmt::print("{} objects moved; {:.3f} ms per step\n", moved, seconds * 1e3 / with.steps);
}

}  // namespace

int main(int argc, char** argv) {
  return ported::main_program(
      argc, argv,
      {.name = "lean_md",
       .computes = "Molecular dynamics of particles in periodic cells: objects for cells, and objects for pairs of\n"
                   "cells that interact. Cells between the first and the last one begin with numbers of particles\n"
                   "between theirs: where these differ, so do loads. With a number of steps between balancings\n"
                   "objects migrate, by the strategy that --tri-balance names. Prints sums over all particles, and\n"
                   "the time of a step.",
       .example = "3 3 3 200 100 500 20 verify --tri-balance greedy"},
      settings_of, run);
}
