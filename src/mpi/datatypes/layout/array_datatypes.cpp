// The constructors of datatypes for parts of arrays: a box of a local array, and one process's part of an array that is
// distributed over a grid of processes. Both go through the dimensions from the fastest-varying one outwards.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "mpi/datatypes/layout/checked.hpp"
#include "mpi/datatypes/layout/datatype.hpp"

namespace tri::mpi {
namespace {

void expect_dimensions(std::size_t found, std::size_t expected, const char* what) {
  if (found != expected)
    throw std::invalid_argument(fmt::format("there are {} {} for an array of {} dimensions", found, what, expected));
}

// The dimension with the `place`-th smallest stride.
std::size_t dimension_at(std::size_t place, std::size_t dimensions, array_order order) {
  return order == array_order::fortran ? place : dimensions - 1 - place;
}

// One dimension as one process owns it: blocks of `block` elements, every `processes`-th of them, beginning with `own`.
struct dealt_dimension {
  std::int64_t elements = 0;
  std::int64_t block = 0;
  std::int64_t processes = 1;
  std::int64_t own = 0;
};

dealt_dimension dealt(std::size_t dimension, std::int64_t elements, distribution how, std::int64_t argument,
                      std::int64_t processes, std::int64_t own) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("dimension {} of a distributed array: {}", dimension, why));
  };
  if (elements < 1) refuse(fmt::format("it has {} elements; it must have 1 or more", elements));
  if (processes < 1) refuse(fmt::format("it has {} processes; it must have 1 or more", processes));
  if (argument != default_argument && argument < 1)
    refuse(fmt::format("its argument is {}; it must be 1 or more, or MPI_DISTRIBUTE_DFLT_DARG", argument));
  switch (how) {
    case distribution::none:
      if (processes != 1) refuse(fmt::format("it is not distributed, but has {} processes; it must have 1", processes));
      return {elements, elements, 1, 0};
    case distribution::block: {
      const std::int64_t least = (elements - 1) / processes + 1;
      const std::int64_t block = argument == default_argument ? least : argument;
      if (block < least)
        refuse(fmt::format("blocks of {} on {} processes do not hold its {} elements; {} or more would", block,
                           processes, elements, least));
      return {elements, block, processes, own};
    }
    case distribution::cyclic:
      return {elements, argument == default_argument ? 1 : argument, processes, own};
  }
  refuse("its distribution is not one of none, block, cyclic");
  return {};
}

struct owned_elements {
  placed_shape shape = {};
  std::uint64_t count = 0;
};

// The elements of this dimension that the process owns, `extent` bytes from one to the next.
owned_elements owned_part(const dealt_dimension& way, std::int64_t extent, const placed_shape& element) {
  const std::int64_t blocks = (way.elements - 1) / way.block + 1;  // the last one may be smaller
  if (way.own >= blocks) return {};
  const std::int64_t mine = (blocks - 1 - way.own) / way.processes + 1;
  const std::int64_t last_block = way.own + (mine - 1) * way.processes;
  const std::int64_t in_last = std::min(way.block, way.elements - last_block * way.block);
  const std::int64_t block_bytes = checked::multiply(way.block, extent);
  const std::int64_t full = in_last == way.block ? mine : mine - 1;
  const placed_shape whole = repeated(
      static_cast<std::uint64_t>(full), checked::multiply(block_bytes, way.processes),
      moved(repeated(static_cast<std::uint64_t>(way.block), extent, element), checked::multiply(block_bytes, way.own)));
  const placed_shape rest = moved(repeated(static_cast<std::uint64_t>(full == mine ? 0 : in_last), extent, element),
                                  checked::multiply(block_bytes, last_block));
  return {in_sequence({whole, rest}), static_cast<std::uint64_t>((mine - 1) * way.block + in_last)};
}

}  // namespace

datatype datatype::subarray(counts sizes, counts subsizes, counts starts, array_order order, const datatype& old) {
  const std::size_t dimensions = sizes.size();
  expect_dimensions(subsizes.size(), dimensions, "sizes of the part");
  expect_dimensions(starts.size(), dimensions, "starts of the part");
  placed_shape shape = old.shape_;
  std::int64_t distance = old.extent();  // of neighbours in the current dimension
  std::uint64_t instances = 1;
  for (std::size_t place = 0; place < dimensions; ++place) {
    const std::size_t at = dimension_at(place, dimensions, order);
    if (sizes[at] < 1 || subsizes[at] < 1 || subsizes[at] > sizes[at] || starts[at] < 0 ||
        starts[at] > sizes[at] - subsizes[at])
      throw std::invalid_argument(
          fmt::format("dimension {} of a subarray: {} elements from number {} of {}; the part must have 1 or more and "
                      "lie inside",
                      at, subsizes[at], starts[at], sizes[at]));
    shape = moved(repeated(static_cast<std::uint64_t>(subsizes[at]), distance, shape),
                  checked::multiply(starts[at], distance));
    instances = checked::multiply_sizes(instances, static_cast<std::uint64_t>(subsizes[at]));
    distance = checked::multiply(distance, sizes[at]);
  }
  return resized(copies(std::move(shape), instances, 0, 0, old), 0, distance);
}

datatype datatype::darray(std::int64_t processes, std::int64_t rank, counts sizes,
                          std::span<const distribution> distributions, counts arguments, counts process_grid,
                          array_order order, const datatype& old) {
  const std::size_t dimensions = sizes.size();
  expect_dimensions(distributions.size(), dimensions, "distributions");
  expect_dimensions(arguments.size(), dimensions, "distribution arguments");
  expect_dimensions(process_grid.size(), dimensions, "numbers of processes");
  std::int64_t in_grid = 1;
  for (const std::int64_t number : process_grid) in_grid = checked::multiply(in_grid, number);
  if (processes < 1 || in_grid != processes)
    throw std::invalid_argument(
        fmt::format("the process grid of a distributed array has {} processes, not {}", in_grid, processes));
  if (rank < 0 || rank >= processes)
    throw std::invalid_argument(fmt::format("rank {} of a distributed array; it must be 0 to {}", rank, processes - 1));

  std::vector<std::int64_t> own(dimensions);  // this process in the grid; the last dimension changes fastest
  std::int64_t rest = rank;
  for (std::size_t i = dimensions; i-- > 0;) {
    own[i] = rest % process_grid[i];
    rest /= process_grid[i];
  }
  placed_shape shape = old.shape_;
  std::int64_t distance = old.extent();
  std::uint64_t instances = 1;
  for (std::size_t place = 0; place < dimensions; ++place) {
    const std::size_t at = dimension_at(place, dimensions, order);
    const dealt_dimension way = dealt(at, sizes[at], distributions[at], arguments[at], process_grid[at], own[at]);
    owned_elements part = owned_part(way, distance, shape);
    shape = std::move(part.shape);
    instances = checked::multiply_sizes(instances, part.count);
    distance = checked::multiply(distance, sizes[at]);
  }
  return resized(copies(std::move(shape), instances, 0, 0, old), 0, distance);
}

}  // namespace tri::mpi
