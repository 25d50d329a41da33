// A block of cells as an object: an element of a sparse array whose index is (level, y, x). Blocks are created and
// deleted while the program runs: one that is cut inserts its four children, four siblings insert their parent.
//
// Between two changes of the mesh a block advances without a barrier: it goes on when the layers of its neighbours have
// arrived. The mesh is on every PE, in `mesh_keeper`; a block looks up there whom to send to.
#pragma once

#include <vector>

#include "amr/field.hpp"
#include "trireme/objects.hpp"

namespace amr {

extern tri::read_only<problem> the_problem;

class block;

/// One copy of the mesh for each PE.
class mesh_keeper : public tri::group_member<mesh_keeper> {
 public:
  int install(mesh now) {
    now_ = std::move(now);
    return 1;
  }
  const mesh& now() const { return now_; }
  /// How many blocks this PE has.
  std::int64_t blocks_here(const tri::array<block>& blocks) const;

 private:
  mesh now_;
};

/// The PE of a new block: equal runs of the curve.
int pe_of(const mesh& of, const block_place& place);

inline tri::index<3> index_of(const block_place& place) { return {place.level, place.y, place.x}; }

/// A block as it goes to the main program.
struct block_state {
  block_place place;
  field cells;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(place, cells);
  }
};
struct block_wish {
  block_place place;
  std::int32_t wish = 0;
};

class block : public tri::array_element<block, tri::index<3>> {
 public:
  /// At the start.
  explicit block(const tri::group<mesh_keeper>& meshes);
  /// With these cells.
  block(const tri::group<mesh_keeper>& meshes, field cells);
  block() = default;  ///< for one that migrates

  // Entry methods, called for all blocks.
  /// Advances from step `first` on. Returns the sums behind the last step.
  tri::task<field_sums> advance(std::int64_t first, std::int64_t steps);
  block_wish wish() const { return {place(), cells_.wish(*the_problem)}; }
  /// A new mesh is installed. Inserts the blocks that come in place of this one, if it is not in it. Returns how many.
  int create_successors();
  /// Then, with all blocks there: hands its cells to its parent, which a sibling has inserted, and is deleted, if it is
  /// not in the mesh. Returns whether it was deleted.
  int leave();
  block_state state() const { return {place(), cells_}; }

  // Entry methods for others.
  /// The layer at a side, or half of it; see field::set_layer.
  void layer(std::int64_t step, side at, std::int32_t half, const std::vector<double>& values);
  /// A child leaves.
  void take_quarter(std::int32_t which, const field& child) { cells_.set_quarter(which, child); }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(meshes_, cells_);
  }
  /// For balancing.
  void describe_load(tri::load_description& load) const;

 private:
  block_place place() const { return {this_index()[0], this_index()[1], this_index()[2]}; }
  /// Returns how many layers will come.
  std::size_t send_layers(std::int64_t step);

  tri::group<mesh_keeper> meshes_;
  field cells_;
};

}  // namespace amr
