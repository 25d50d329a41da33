// The objects of a parallel run, on all PEs, and what is asked of all of a kind. Made and called on PE 0, after the
// world is published.
#pragma once

#include <vector>

#include "md/output/recorder.hpp"
#include "md/parallel/pair_compute.hpp"
#include "md/parallel/patch_object.hpp"
#include "md/parallel/pme_rows.hpp"
#include "md/parallel/pme_slab.hpp"

namespace md {

/// The atoms of one patch as they travel to it.
struct patch_load {
  std::vector<atom_record> atoms;
  std::vector<vec3> present;  ///< of a restart: where they are; the records have where they were at the last list build
};

struct run_objects {
  tri::element_ref<recorder> output;
  tri::group<md::proxies> proxies;
  tri::array<pair_compute> pairs;
  tri::array<patch_object> patches;
  // Of the charge mesh; without elements if there is none.
  tri::array<pme_slab> slabs;
  tri::array<pme_rows> rows;

  /// The first forces.
  void start() const;
  /// To the last step, or to the next balancing: patch_object::ended, or the step in which all patches wait for it.
  std::int64_t run() const;
  /// How often lists were built.
  std::int64_t list_builds() const;
  /// Whether elements may migrate; waits for all of them.
  void allow_moves(bool may_move) const;
  /// After migrations: patches and pairs learn where the others are.
  void reconnect() const;
  /// Of the time since the last one.
  std::vector<pe_report> reports() const;
  std::int64_t listed_pairs() const;
};

/// `loads`: one per patch, in the order of the grid.
run_objects make_objects(const std::vector<patch_load>& loads, const output_files& files);

}  // namespace md
