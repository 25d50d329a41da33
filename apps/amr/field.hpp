// The cells of one block, with one layer of cells around them, and what the scheme does to them.
//
// Advection with constant velocity, first-order upwind in flux form. A layer's cell beside a finer block is the mean of
// the two finer cells; beside a coarser block, the coarser cell. The flux through each edge is then the same from both
// sides, so the sum of all cells is conserved across levels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "amr/mesh.hpp"

namespace amr {

/// What decides the numbers of a run.
struct problem {
  std::int32_t roots = 4;        ///< blocks along an edge at level 0
  std::int32_t most_levels = 3;  ///< levels of refinement
  std::int32_t cells = 16;       ///< along an edge of a block; even
  double velocity_x = 1.0;
  double velocity_y = 0.5;
  double courant = 0.8;               ///< of the finest cells
  double refine = 0.02;               ///< a block with larger differences of neighbouring cells is cut
  double coarsen = 0.005;             ///< with only smaller ones it may become one with its siblings
  std::int32_t disc = 0;              ///< the start: a disc with a sharp edge, or a smooth hill
  std::int32_t blocks_are_equal = 0;  ///< for balancing: in place of measured time

  double finest_cell() const { return cell_width(most_levels); }
  double cell_width(std::int32_t level) const { return 1.0 / (static_cast<double>(roots) * cells * (1 << level)); }
  /// The same for all levels.
  double time_step() const;
  /// The solution. Coordinates are in the unit square.
  double exact(double x, double y, double time) const;
};

/// Sums over cells, weighted with their area.
struct field_sums {
  double mass = 0.0;
  double error = 0.0;  ///< sum of distances from the solution
  std::int64_t cells = 0;
  friend field_sums operator+(const field_sums& a, const field_sums& b) {
    return {a.mass + b.mass, a.error + b.error, a.cells + b.cells};
  }
};

class field {
 public:
  field() = default;
  /// Zeros.
  explicit field(std::int32_t cells);

  void set_exact(const problem& of, const block_place& at, double time);
  /// One step; the layer must be set.
  void advance(const problem& of, std::int32_t level);
  field_sums sums(const problem& of, const block_place& at, double time) const;
  /// 1, 0 or -1; see mesh::adapted.
  std::int32_t wish(const problem& of) const;

  /// The cells along a side, as a block of the same, the next coarser (`level_difference` -1) or the next finer level
  /// (1) beside it needs them. To a finer one goes half of them: `half` 0 or 1.
  std::vector<double> border(side of, int level_difference, int half) const;
  /// The layer at a side: all of it, or with `half` 0 or 1 a half.
  void set_layer(side of, int half, std::span<const double> values);
  static constexpr int whole = -1;

  /// Of a child; each cell becomes four.
  field quarter(int which) const;
  /// Takes over the means of a child's cells.
  void set_quarter(int which, const field& child);

  /// Row y, column x of the cells.
  double operator()(std::int32_t y, std::int32_t x) const { return values_[place(y, x)]; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cells_, values_, next_);
  }

 private:
  std::size_t place(std::int32_t y, std::int32_t x) const {
    return static_cast<std::size_t>((y + 1) * (cells_ + 2) + x + 1);
  }
  /// The place of the i-th cell along a side; with `outside` that of the layer.
  std::size_t along(side of, std::int32_t i, bool outside) const;

  std::int32_t cells_ = 0;
  std::vector<double> values_;  ///< with the layer
  std::vector<double> next_;
};

/// The mesh for the start: refined until the wishes of the exact solution are fulfilled.
mesh first_mesh(const problem& of);

}  // namespace amr
