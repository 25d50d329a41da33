// See run_objects.hpp. Apart from simulation.cpp, because the templates of each take seconds to compile.
#include "md/parallel/run_objects.hpp"

#include "md/parallel/pme_rows.hpp"
#include "md/parallel/pme_slab.hpp"

namespace md {

namespace {

// The objects of the charge mesh, if there is one.
tri::array<pme_slab> make_mesh(const tri::group<proxies>& proxies, const tri::element_ref<recorder>& output) {
  if (!the_world->has_long_range()) return {};
  const long_range& mesh = the_world->long_range();
  const auto slabs = tri::make_array<pme_slab>({mesh.slab_objects()}, tri::round_robin(), proxies);
  const auto rows = tri::make_array<pme_rows>({mesh.row_objects()}, tri::round_robin(), proxies, slabs, output);
  slabs.reduce<&pme_slab::connect>(tri::sum, rows).get();
  return slabs;
}

}  // namespace

run_objects make_objects(const std::vector<patch_load>& loads, const output_files& files) {
  const world& w = *the_world;
  const auto output = tri::make_object_on<recorder>(tri::this_pe(), files);
  const auto proxies = tri::make_group<md::proxies>();
  const auto pairs = tri::make_array<pair_compute>(
      {w.grid().size(), pair_kinds},
      tri::placed_by<tri::index<2>>([](const tri::index<2>& at, int) { return the_world->pair_pe(at[0], at[1]); }),
      proxies, output);
  const auto slabs = make_mesh(proxies, output);
  const int3 counts = w.grid().counts();
  const auto patches = tri::make_array<patch_object>(
      {counts[2], counts[1], counts[0]}, tri::placed_by<tri::index<3>>([](const tri::index<3>& at, int) {
        return the_world->patch_pe(the_world->grid().index({at[2], at[1], at[0]}));
      }),
      proxies, slabs, output);
  for (int p = 0; p < w.grid().size(); ++p) {
    const patch_load& load = loads[static_cast<std::size_t>(p)];
    patches[w.patch_index(p)].send<&patch_object::load>(tri::buffer<atom_record>::copy_of(load.atoms),
                                                        tri::buffer<vec3>::copy_of(load.present));
  }
  return {output, proxies, pairs, patches};
}

void run_objects::start() const { patches.reduce<&patch_object::start>(tri::sum).get(); }
std::int64_t run_objects::run() const { return patches.reduce<&patch_object::run>(tri::maximum).get(); }
std::vector<pe_report> run_objects::reports() const { return proxies.reduce<&md::proxies::report>(tri::gather).get(); }
std::int64_t run_objects::listed_pairs() const { return pairs.reduce<&pair_compute::listed_pairs>(tri::sum).get(); }

}  // namespace md
