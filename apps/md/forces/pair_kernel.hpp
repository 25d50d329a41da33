// The hot loops, once per instruction set: Lennard-Jones and Coulomb forces over a neighbour list, the distance test
// that builds the list, and the sum of a patch's contributions.
//
// The variants (generic, avx2, avx512) are separate translation units chosen at run time. They add in different orders,
// so results differ between variants by rounding; for one variant they depend only on the input, which makes a
// simulation bit-identical on any number of PEs. The translation units are compiled for their instruction set and
// therefore use no inline library function: the linker might use that copy everywhere.
//
// All functions are pure functions of their arguments and safe to call from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "md/forces/coefficients.hpp"
#include "md/forces/screened_coulomb.hpp"

namespace md {

/// Neighbours j of one atom i, all with the same coefficients. `count` is a multiple of the variant's lanes.
struct neighbour_run {
  std::uint32_t atom;
  std::uint32_t first;  ///< into the list's `neighbours`
  std::uint32_t count;
  std::uint32_t coefficients;  ///< row of the coefficient table
};

/// Atoms that every position and force array has beyond its own: runs are filled up with neighbours that sit so far
/// away that they give no force. One for each lane, lest the stores to them wait for each other.
inline constexpr std::size_t padding_atoms = 8;
inline constexpr double far_away = 1e10;

/// One pair of patches. Positions and forces are arrays of vec4 seen as doubles; a and b, and their forces, are the
/// same arrays for the pair of a patch with itself. Forces are added to the arrays.
struct pair_job {
  const double* a_positions;
  const double* b_positions;
  double* a_forces;
  double* b_forces;
  const neighbour_run* runs;
  std::size_t run_count;
  const std::uint32_t* neighbours;  ///< 4 * index of the atom in b, that is its offset in doubles
  const pair_coefficient* coefficients;
  double shift[3];                  ///< added to b's positions
  const screened_coulomb* coulomb;  ///< null if there are no charges
};

/// The positions of patch b in clusters of eight consecutive atoms, coordinates apart; filled up with far-away atoms.
struct cluster_view {
  const double* x;
  const double* y;
  const double* z;
};
inline constexpr std::uint32_t cluster_atoms = 8;

struct kernel_set {
  std::string_view name;
  std::uint32_t lanes;  ///< runs are filled up to a multiple of this

  /// Forces, and with the second one energy and virial as well.
  void (*forces)(const pair_job& job);
  pair_sums (*forces_and_sums)(const pair_job& job);

  /// Writes to `found` the offsets (4 * index) of the atoms in the given clusters that are closer than the reach to
  /// `position` and have an index of at least `first`. Returns how many. `found` needs room for 8 more than that.
  std::uint32_t (*find)(const double* position, const cluster_view& atoms, const std::uint32_t* clusters,
                        std::size_t cluster_count, std::uint32_t first, double reach_squared, std::uint32_t* found);

  /// sum = 0, then the contributions are added one after the other, in this order, where they have values.
  void (*add)(const force_contribution* contributions, std::size_t contribution_count, vec4* sum, std::size_t atoms);
};

/// The variant by name: "generic", "avx2", "avx512", or "auto" for the fastest that this machine runs.
/// Throws std::invalid_argument for an unknown name or a variant that this machine lacks.
const kernel_set& choose_kernels(std::string_view name);

}  // namespace md
