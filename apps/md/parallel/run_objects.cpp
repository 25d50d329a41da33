// See run_objects.hpp. Apart from simulation.cpp, because the templates of each take seconds to compile.
#include "md/parallel/run_objects.hpp"

namespace md {

run_objects make_objects(const std::vector<patch_load>& loads, const output_files& files) {
  const world& w = *the_world;
  const auto output = tri::make_object_on<recorder>(tri::this_pe(), files);
  const auto proxies = tri::make_group<md::proxies>();
  const auto pairs = tri::make_array<pair_compute>(
      {w.grid().size(), pair_kinds},
      tri::placed_by<tri::index<2>>([](const tri::index<2>& at, int) { return the_world->pair_pe(at[0], at[1]); }),
      proxies, output);
  tri::array<pme_slab> slabs;
  tri::array<pme_rows> rows;
  if (w.has_long_range()) {
    slabs = tri::make_array<pme_slab>({w.long_range().slab_objects()}, tri::round_robin(), proxies);
    rows = tri::make_array<pme_rows>({w.long_range().row_objects()}, tri::round_robin(), proxies, slabs, output);
    slabs.reduce<&pme_slab::connect>(tri::sum, rows).get();
  }
  const int3 counts = w.grid().counts();
  const auto patches = tri::make_array<patch_object>(
      {counts[2], counts[1], counts[0]}, tri::placed_by<tri::index<3>>([](const tri::index<3>& at, int) {
        return the_world->patch_pe(the_world->grid().index({at[2], at[1], at[0]}));
      }),
      proxies, slabs, output);
  for (int p = 0; p < w.grid().size(); ++p) {
    const patch_load& load = loads[static_cast<std::size_t>(p)];
    patches[w.patch_index(p)].send<&patch_object::fill>(tri::buffer<atom_record>::copy_of(load.atoms),
                                                        tri::buffer<vec3>::copy_of(load.present));
  }
  return {output, proxies, pairs, patches, slabs, rows};
}

void run_objects::start() const { patches.reduce<&patch_object::start>(tri::sum).get(); }
std::int64_t run_objects::run() const { return patches.reduce<&patch_object::run>(tri::maximum).get(); }
std::int64_t run_objects::list_builds() const { return patches.reduce<&patch_object::list_builds>(tri::maximum).get(); }

void run_objects::allow_moves(bool may_move) const {
  pairs.reduce<&pair_compute::allow_moves>(tri::sum, may_move).get();
  patches.reduce<&patch_object::allow_moves>(tri::sum, may_move).get();
  if (!the_world->has_long_range()) return;
  slabs.reduce<&pme_slab::allow_moves>(tri::sum, may_move).get();
  rows.reduce<&pme_rows::allow_moves>(tri::sum, may_move).get();
}

void run_objects::reconnect() const {
  std::vector<std::int32_t> places(static_cast<std::size_t>(the_world->grid().size() * pair_kinds));
  for (const place_of_pair& each : pairs.reduce<&pair_compute::where>(tri::gather).get())
    places[static_cast<std::size_t>(each.pair)] = each.pe;
  proxies.reduce<&md::proxies::place>(tri::sum, places).get();
  pairs.reduce<&pair_compute::enroll>(tri::sum).get();
  patches.reduce<&patch_object::connect>(tri::sum).get();
}

std::vector<pe_report> run_objects::reports() const { return proxies.reduce<&md::proxies::report>(tri::gather).get(); }
std::int64_t run_objects::listed_pairs() const { return pairs.reduce<&pair_compute::listed_pairs>(tri::sum).get(); }

}  // namespace md
