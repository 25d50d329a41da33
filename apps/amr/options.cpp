// See options.hpp.
#include "amr/options.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "option_range.hpp"

namespace amr {
namespace {

using apps::from_to;

constexpr std::int64_t most_steps = std::int64_t{1} << 40;

}  // namespace

void add_options(CLI::App& app, options& values) {
  problem& of = values.of;
  const auto add = [&app](const char* name, auto& value, const char* type, const char* help) {
    return app.add_option(name, value, help)->type_name(type)->capture_default_str();
  };
  add("--start", values.start, "NAME", "a smooth hill, or a disc with a sharp edge")
      ->check(CLI::IsMember({"hill", "disc"}));
  add("--roots", of.roots, "N", "blocks along an edge of the square at level 0")->check(from_to(1, 1 << 10));
  add("--levels", of.most_levels, "N", "levels of refinement; each halves the cells")->check(from_to(0, 10));
  add("--cells", of.cells, "N", "cells along an edge of a block; even")->check(from_to(2, 1 << 10));
  add("--velocity-x", of.velocity_x, "V", "of the field, which moves around the square")->check(from_to(-1e6, 1e6));
  add("--velocity-y", of.velocity_y, "V", "")->check(from_to(-1e6, 1e6));
  add("--courant", of.courant, "C", "length of steps: how far the field moves in one, in the finest cells")
      ->check(from_to(1e-6, 1.0));
  add("--refine", of.refine, "D", "cut blocks in which neighbouring cells differ by at least that")
      ->check(from_to(0.0, 1e6));
  add("--coarsen", of.coarsen, "D", "blocks with differences below that may become one with their siblings")
      ->check(from_to(0.0, 1e6));
  add("--steps", values.steps, "N", "steps in time")->check(from_to<std::int64_t>(0, most_steps));
  add("--adapt-every", values.adapt_every, "N", "steps between changes of the mesh; 0: it stays")
      ->check(from_to<std::int64_t>(0, most_steps));
  add("--print-every", values.print_every, "N", "steps between lines of the table; 0: first and last only")
      ->check(from_to<std::int64_t>(0, most_steps));
  app.add_option("--balance", values.balance,
                 "after each change of the mesh let blocks migrate as this strategy decides (`trireme balance --list`)")
      ->type_name("NAME");
  add("--load", values.load, "NAME", "of a block for balancing: the measured time, or that all blocks are equal")
      ->check(CLI::IsMember({"measured", "equal"}));
  app.add_option("--picture", values.picture, "SVG file of the last mesh and field")->type_name("FILE");
}

void complete(options& values) {
  problem& of = values.of;
  if (of.cells % 2 != 0) throw std::invalid_argument(fmt::format("--cells {}: must be even", of.cells));
  if (of.coarsen > of.refine)
    throw std::invalid_argument(
        fmt::format("--coarsen {}: must not be above --refine, which is {}: blocks would be cut "
                    "and become one in turn",
                    of.coarsen, of.refine));
  constexpr std::int64_t most_cells = 1 << 12;
  if (const std::int64_t along = (std::int64_t{of.roots} * of.cells) << of.most_levels; along > most_cells)
    throw std::invalid_argument(
        fmt::format("{} cells along an edge at the finest level (--roots x --cells x 2^levels): "
                    "at most {} are possible",
                    along, most_cells));
  if (values.load != "measured" && values.balance.empty())
    throw std::invalid_argument("--load needs --balance NAME, the strategy");
  of.disc = values.start == "disc" ? 1 : 0;
  of.blocks_are_equal = values.load == "equal" ? 1 : 0;
}

}  // namespace amr
