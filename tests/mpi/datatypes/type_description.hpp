// A datatype as a program writes it down: constructors and numbers, nothing derived. The tests make everything else of
// it: our datatype, its type map entry by entry, and the real library's MPI_Datatype.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/datatypes/layout/datatype.hpp"

namespace tri::mpi::test_types {

enum class constructor {
  basic,
  contiguous,
  vector,
  hvector,
  indexed,
  hindexed,
  indexed_block,
  hindexed_block,
  structure,
  subarray,
  darray,
  resized,
  dup,
};

struct type_description {
  constructor made_by = constructor::basic;
  element_kind kind = element_kind::byte;
  std::int64_t count = 0;
  std::int64_t block_length = 0;
  std::int64_t stride = 0;
  std::vector<std::int64_t> lengths = {};
  std::vector<std::int64_t> displacements = {};
  // arrays
  std::vector<std::int64_t> sizes = {};
  std::vector<std::int64_t> subsizes = {};
  std::vector<std::int64_t> starts = {};
  array_order order = array_order::c;
  std::int64_t processes = 1;
  std::int64_t rank = 0;
  std::vector<distribution> distributions = {};
  std::vector<std::int64_t> arguments = {};
  std::vector<std::int64_t> grid = {};
  // resized
  std::int64_t lower_bound = 0;
  std::int64_t extent = 0;
  std::vector<type_description> old = {};
};

inline datatype build(const type_description& from) {
  const auto old = [&] { return build(from.old.at(0)); };
  switch (from.made_by) {
    case constructor::basic:
      return datatype::basic(from.kind);
    case constructor::contiguous:
      return datatype::contiguous(from.count, old());
    case constructor::vector:
      return datatype::vector(from.count, from.block_length, from.stride, old());
    case constructor::hvector:
      return datatype::hvector(from.count, from.block_length, from.stride, old());
    case constructor::indexed:
      return datatype::indexed(from.lengths, from.displacements, old());
    case constructor::hindexed:
      return datatype::hindexed(from.lengths, from.displacements, old());
    case constructor::indexed_block:
      return datatype::indexed_block(from.block_length, from.displacements, old());
    case constructor::hindexed_block:
      return datatype::hindexed_block(from.block_length, from.displacements, old());
    case constructor::structure: {
      std::vector<datatype> types;
      for (const type_description& part : from.old) types.push_back(build(part));
      return datatype::structure(from.lengths, from.displacements, types);
    }
    case constructor::subarray:
      return datatype::subarray(from.sizes, from.subsizes, from.starts, from.order, old());
    case constructor::darray:
      return datatype::darray(from.processes, from.rank, from.sizes, from.distributions, from.arguments, from.grid,
                              from.order, old());
    case constructor::resized:
      return datatype::resized(old(), from.lower_bound, from.extent);
    case constructor::dup:
      return old();
  }
  return datatype::basic(element_kind::byte);
}

/// As a line of text, for the message of a test that fails.
inline std::string to_text(const type_description& what) {
  const auto numbers = [](const std::vector<std::int64_t>& values) {
    return fmt::format("{{{}}}", fmt::join(values, ","));
  };
  const auto of = [&] {
    std::string text;
    for (const type_description& part : what.old) text += (text.empty() ? "" : ", ") + to_text(part);
    return text;
  };
  const std::string sizes =
      std::to_string(what.count) + "x" + std::to_string(what.block_length) + " by " + std::to_string(what.stride);
  const std::string places = numbers(what.lengths) + " at " + numbers(what.displacements);
  switch (what.made_by) {
    case constructor::basic:
      return std::string(facts_of(what.kind).name);
    case constructor::contiguous:
      return "contiguous(" + std::to_string(what.count) + " of " + of() + ")";
    case constructor::vector:
      return "vector(" + sizes + " of " + of() + ")";
    case constructor::hvector:
      return "hvector(" + sizes + " of " + of() + ")";
    case constructor::indexed:
      return "indexed(" + places + " of " + of() + ")";
    case constructor::hindexed:
      return "hindexed(" + places + " of " + of() + ")";
    case constructor::indexed_block:
    case constructor::hindexed_block:
      return std::string(what.made_by == constructor::indexed_block ? "" : "h") + "indexed_block(" +
             std::to_string(what.block_length) + " at " + numbers(what.displacements) + " of " + of() + ")";
    case constructor::structure:
      return "struct(" + places + " of " + of() + ")";
    case constructor::subarray:
      return std::string(what.order == array_order::c ? "c" : "fortran") + "_subarray(" + numbers(what.subsizes) +
             " from " + numbers(what.starts) + " of " + numbers(what.sizes) + " of " + of() + ")";
    case constructor::darray: {
      std::string how;
      for (const distribution one : what.distributions)
        how += one == distribution::none ? 'n' : one == distribution::block ? 'b' : 'c';
      return std::string(what.order == array_order::c ? "c" : "fortran") + "_darray(" + std::to_string(what.rank) +
             " in " + numbers(what.grid) + " " + how + " " + numbers(what.arguments) + " of " + numbers(what.sizes) +
             " of " + of() + ")";
    }
    case constructor::resized:
      return "resized(" + std::to_string(what.lower_bound) + ", " + std::to_string(what.extent) + " of " + of() + ")";
    case constructor::dup:
      return "dup(" + of() + ")";
  }
  return "?";
}

}  // namespace tri::mpi::test_types
