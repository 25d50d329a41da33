#include "trireme/detail/arrays/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

namespace tri::arrays {
namespace {

std::string list(const std::int64_t* values, int count) {
  return fmt::format("({})", fmt::join(std::span(values, static_cast<std::size_t>(count)), ", "));
}

[[noreturn]] void refuse(const std::string& text) { throw std::invalid_argument("global array: " + text); }

// The surface of a block; each extent is divided by its part of the grid.
double edges_of_block(const std::int64_t* extents, const std::int64_t* grid, int dimensions) {
  std::array<double, most_array_dimensions> edge{};
  double volume = 1;
  for (int d = 0; d < dimensions; ++d) {
    const std::int64_t rounded_up = std::max<std::int64_t>((extents[d] + grid[d] - 1) / grid[d], 1);
    edge[static_cast<std::size_t>(d)] = static_cast<double>(rounded_up);
    volume *= static_cast<double>(rounded_up);
  }
  double surface = 0;
  for (int d = 0; d < dimensions; ++d) surface += volume / edge[static_cast<std::size_t>(d)];
  return surface;
}

void try_grids(const std::int64_t* extents, int dimensions, int d, std::int64_t left, std::int64_t* tried,
               double& best_edges, std::int64_t* best) {
  if (d + 1 == dimensions) {
    tried[d] = left;
    const double edges = edges_of_block(extents, tried, dimensions);
    if (edges < best_edges) {
      best_edges = edges;
      std::copy_n(tried, dimensions, best);
    }
    return;
  }
  for (std::int64_t part = left; part >= 1; --part) {  // the first dimension gets most: rows stay long
    if (left % part != 0) continue;
    tried[d] = part;
    try_grids(extents, dimensions, d + 1, left / part, tried, best_edges, best);
  }
}

}  // namespace

void check_extents(const std::int64_t* extents, int dimensions, std::size_t bytes_of_element) {
  std::int64_t elements = 1;
  for (int d = 0; d < dimensions; ++d) {
    if (extents[d] < 0) refuse(fmt::format("its extents are {}; none may be negative", list(extents, dimensions)));
    // Paddings may double each dimension, and bytes must fit into 63 bits.
    if (__builtin_mul_overflow(elements, extents[d], &elements) ||
        elements > std::numeric_limits<std::int64_t>::max() / 128 / static_cast<std::int64_t>(bytes_of_element))
      refuse(fmt::format("its extents are {}, with elements of {} bytes: more than can be addressed",
                         list(extents, dimensions), bytes_of_element));
  }
}

void report_missing_tile() { refuse("it is given tiles of hosts, which need tiles inside them (tri::tiles)"); }

void check_tile(const std::int64_t* tile, int dimensions) {
  for (int d = 0; d < dimensions; ++d)
    if (tile[d] < 1) refuse(fmt::format("its tiles are {}; each extent must be at least 1", list(tile, dimensions)));
}

void check_grid(const std::int64_t* grid, int dimensions, std::int32_t pes) {
  if (grid == nullptr) refuse("it is given tiles of hosts and a grid of PEs; only one of both may be given");
  std::int64_t volume = 1;
  for (int d = 0; d < dimensions; ++d) {
    if (grid[d] < 1 || grid[d] > pes || volume > pes)
      refuse(fmt::format("its grid is {}; each number must be at least 1, and the product at most {}, the PEs",
                         list(grid, dimensions), pes));
    volume *= grid[d];
  }
  if (volume > pes) refuse(fmt::format("its grid is {}, {} PEs; there are {}", list(grid, dimensions), volume, pes));
}

void check_first_pe(std::int32_t first_pe, std::int32_t pes) {
  if (first_pe < 0 || first_pe >= pes)
    refuse(fmt::format("its first tile is given to PE {}; there are PEs 0 to {}", first_pe, pes - 1));
}

void check_host_tile(const std::int64_t* extents, const std::int64_t* tile, const std::int64_t* host_tile,
                     int dimensions, const machine_shape& machine) {
  if (machine.hosts == 0)
    refuse("it is given tiles of hosts, which need as many PEs on each host; in this job they differ");
  for (int d = 0; d < dimensions; ++d)
    if (host_tile[d] < 1 || host_tile[d] % tile[d] != 0 ||
        host_tile[d] - tile[d] >= std::max<std::int64_t>(extents[d], 1))
      refuse(
          fmt::format("its tiles of hosts are {}; each extent must be a multiple of that of its tiles, {}, "
                      "and no larger than the array, {}",
                      list(host_tile, dimensions), list(tile, dimensions), list(extents, dimensions)));
}

void check_halo(const std::int64_t* halo, const std::int64_t* extents, const std::int64_t* tile,
                const std::int64_t* tiles, int dimensions, std::size_t bytes_of_element) {
  if (std::all_of(halo, halo + dimensions, [](std::int64_t width) { return width == 0; })) return;
  auto left = std::numeric_limits<std::int64_t>::max() / 128 / static_cast<std::int64_t>(bytes_of_element);
  for (int d = 0; d < dimensions; ++d) {
    const std::int64_t most = std::max<std::int64_t>(extents[d], 1);
    if (halo[d] < 0 || halo[d] > most)
      refuse(fmt::format("its halo is {}; each width must be at least 0 and at most the extent, {}",
                         list(halo, dimensions), list(extents, dimensions)));
    std::int64_t along = 0;  // elements and ghost cells
    if (__builtin_mul_overflow(tiles[d], tile[d] + 2 * halo[d], &along) || along > left)
      refuse(fmt::format("its halo of {} around {} tiles of {} takes more memory than can be addressed",
                         list(halo, dimensions), list(tiles, dimensions), list(tile, dimensions)));
    left /= std::max<std::int64_t>(along, 1);
  }
}

void choose_grid(const std::int64_t* extents, int dimensions, std::int32_t pes, std::int64_t* grid) {
  std::array<std::int64_t, most_array_dimensions> tried{};
  double edges = std::numeric_limits<double>::infinity();
  try_grids(extents, dimensions, 0, pes, tried.data(), edges, grid);
  for (int d = 0; d < dimensions; ++d)
    grid[d] = std::min(grid[d], std::max<std::int64_t>(extents[d], 1));  // no PE along an edge of none
}

void report_outside(const std::int64_t* at, const std::int64_t* extents, int dimensions) {
  throw std::out_of_range(fmt::format("global array: there is no element {}; the extents are {}", list(at, dimensions),
                                      list(extents, dimensions)));
}

void report_width(int width, const std::int64_t* halo, int dimensions) {
  throw std::out_of_range(
      fmt::format("global array: a halo of width {} was asked for; it has one of {}", width, list(halo, dimensions)));
}

void report_region(const std::int64_t* first, const std::int64_t* last, const std::int64_t* extents, int dimensions) {
  throw std::out_of_range(fmt::format("global array: the region from {} to {} does not lie in the extents {}",
                                      list(first, dimensions), list(last, dimensions), list(extents, dimensions)));
}

}  // namespace tri::arrays
