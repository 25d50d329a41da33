// Particle-mesh Ewald against Ewald's sum: forces, energy, virial; the precision that was asked for; its pieces; and
// that the way the mesh is cut into objects changes no bit.
#include "md/electrostatics/pme_solver.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "charged_systems.hpp"
#include "md/electrostatics/b_spline.hpp"
#include "md/electrostatics/long_range.hpp"
#include "md/serial_driver.hpp"

namespace {

using md::int3;
using md::vec3;

#define SKIP_WITHOUT_FFTW() \
  if (!md::have_mesh_transforms()) GTEST_SKIP() << "built without FFTW (scripts/deps.sh build)"

TEST(ewald_sum, gives_the_madelung_constant_of_rock_salt) {
  md::atom_system crystal = md::test::charged_system({4, 4, 4}, 1.0, 1.0, -1.0);
  for (std::size_t i = 0; i < crystal.atoms.size(); ++i) {
    const int3 at = {static_cast<int>(i % 4), static_cast<int>(i / 4 % 4), static_cast<int>(i / 16)};
    for (std::size_t d = 0; d < 3; ++d) crystal.atoms[i].position[d] = at[d];
    crystal.atoms[i].type = (at[0] + at[1] + at[2]) % 2;
  }
  const md::test::ewald_sum sum(crystal);
  EXPECT_NEAR(sum.result().energy / 32.0, -1.747564594633, 1e-11);
  for (const vec3& force : sum.result().forces) EXPECT_NEAR(std::hypot(force[0], force[1], force[2]), 0.0, 1e-11);
}

TEST(splines, have_unit_sum_and_the_slopes_of_their_values) {
  for (const int order : {4, 6, 8}) {
    for (const double fraction : {0.0, 0.1, 0.5, 0.999}) {
      const md::spline_weights at = md::spline_at(fraction, order);
      const md::spline_weights after = md::spline_at(fraction + 1e-6, order);
      double sum = 0.0;
      double slopes = 0.0;
      double mean = 0.0;
      for (int i = 0; i < order; ++i) {
        const auto k = static_cast<std::size_t>(i);
        sum += at.value[k];
        slopes += at.slope[k];
        mean += at.value[k] * (i - order + 1);
        EXPECT_NEAR((after.value[k] - at.value[k]) / 1e-6, at.slope[k], 1e-5);
      }
      EXPECT_NEAR(sum, 1.0, 1e-14);
      EXPECT_NEAR(slopes, 0.0, 1e-14);
      EXPECT_NEAR(mean, fraction - 0.5 * order, 1e-14) << "the centre of the weights follows the atom";
    }
  }
}

TEST(screened_coulomb, is_erfc_to_twelve_digits) {
  for (const double alpha : {0.0, 0.3, 1.0, 1.9}) {
    const double cutoff = 3.0;
    const md::screened_coulomb polynomials = md::make_screened_coulomb(alpha, cutoff);
    const auto value = [&](const double* coefficients, double r) {
      const double u = polynomials.scale * r * r - 1.0;
      double result = coefficients[0];
      for (std::uint32_t k = 1; k < polynomials.terms; ++k) result = result * u + coefficients[k];
      return result;
    };
    const double largest = std::max(1e-300, 2.0 * alpha / std::sqrt(std::numbers::pi));
    for (double r = 0.01; r <= cutoff; r += 0.01) {
      const double energy = 1.0 / r + value(polynomials.energy, r);
      EXPECT_NEAR(energy, std::erfc(alpha * r) / r, 3e-12 * largest + 1e-15 / r) << alpha << ' ' << r;
      const double gauss = largest * std::exp(-alpha * alpha * r * r);
      const double force = 1.0 / (r * r * r) + value(polynomials.force, r);
      EXPECT_NEAR(force, (std::erfc(alpha * r) / r + (alpha == 0.0 ? 0.0 : gauss)) / (r * r),
                  3e-12 * largest * std::max(1.0, alpha * alpha) + 1e-15 / (r * r * r))
          << alpha << ' ' << r;
    }
  }
  EXPECT_THROW(md::make_screened_coulomb(2.1, 3.0), std::invalid_argument);
}

struct pme_case {
  int order;
  double tolerance;
  double second_charge;  ///< the first is 2
  int3 patches;
};

class pme : public testing::TestWithParam<pme_case> {
 protected:
  static md::run_settings settings(const md::atom_system& system, const pme_case& c) {
    md::run_settings result;
    result.cutoff = 3.0;
    result.skin = 0.2;
    result.patches = c.patches;
    md::electrostatics_settings given;
    given.order = c.order;
    result.charges = md::choose_pme(system.box, md::totals_of(system), result.cutoff, c.tolerance, given);
    return result;
  }
};

// The oracle takes seconds under sanitizers, so each system is summed once.
const md::test::ewald_result& exact(double second_charge) {
  static std::map<double, md::test::ewald_result> known;
  if (const auto found = known.find(second_charge); found != known.end()) return found->second;
  const md::atom_system system = md::test::charged_system({6, 4, 7}, 1.1, 2.0, second_charge);
  return known[second_charge] = md::test::ewald_sum(system).result();
}

TEST_P(pme, equals_the_ewald_sum_within_the_tolerance) {
  SKIP_WITHOUT_FFTW();
  const pme_case& c = GetParam();
  const md::atom_system system = md::test::charged_system({6, 4, 7}, 1.1, 2.0, c.second_charge);
  const md::test::ewald_result& expected = exact(c.second_charge);
  const md::serial_driver driver(system, settings(system, c), md::choose_kernels("auto"));
  const double error = md::test::rms_difference(driver.forces(), expected.forces);
  EXPECT_LT(error, c.tolerance);
  EXPECT_GT(error, 0.02 * c.tolerance) << "much finer than asked for: the estimate costs time";
  const double count = static_cast<double>(system.atoms.size());
  const md::thermo_row row = driver.thermo();
  EXPECT_NEAR(row.pair_energy, expected.energy / count, 3.0 * c.tolerance);
  // The energy of charges goes with 1/length, so its sum of r.f is itself.
  const double virial = 3.0 * row.pressure * system.box.volume() - (3.0 * count - 3.0) * row.temperature;
  EXPECT_NEAR(virial / count, expected.energy / count, 10.0 * c.tolerance);
}

INSTANTIATE_TEST_SUITE_P(all, pme,
                         testing::Values(pme_case{4, 1e-3, -2.0, {1, 1, 1}}, pme_case{6, 1e-3, -2.0, {2, 1, 2}},
                                         pme_case{4, 1e-4, -2.0, {2, 1, 2}}, pme_case{6, 1e-5, -2.0, {1, 1, 1}},
                                         pme_case{6, 1e-5, -2.0, {2, 1, 2}}, pme_case{8, 1e-7, -2.0, {2, 1, 2}},
                                         pme_case{6, 1e-4, 1.0, {2, 1, 2}}, pme_case{6, 1e-5, -1.0, {1, 1, 2}}),
                         [](const auto& each) { return "case" + std::to_string(each.index); });

TEST(pme_parameters, any_splitting_gives_the_same_energy) {
  SKIP_WITHOUT_FFTW();
  const md::atom_system system = md::test::charged_system({6, 4, 7}, 1.1, 2.0, 1.0);  // not neutral
  for (const double alpha : {1.2, 1.35, 1.5}) {
    md::run_settings settings;
    settings.cutoff = 4.0;
    settings.skin = 0.2;
    settings.patches = {1, 1, 1};
    settings.charges = {md::electrostatics::pme, 8, {48, 32, 60}, alpha};
    const md::serial_driver driver(system, settings, md::choose_kernels("auto"));
    EXPECT_NEAR(driver.thermo().pair_energy, exact(1.0).energy / static_cast<double>(system.atoms.size()), 2e-6)
        << alpha;
  }
}

// Charges at random places are what the estimates are for.
TEST(pme_parameters, estimates_are_right) {
  SKIP_WITHOUT_FFTW();
  md::atom_system system = md::test::charged_system({6, 6, 6}, 1.1, 1.0, -1.0);
  std::mt19937 random(3);
  for (md::atom_record& atom : system.atoms) {
    for (std::size_t d = 0; d < 3; ++d)
      atom.position[d] = system.box.low[d] + system.box.length(d) * (static_cast<double>(random()) / 4294967296.0);
  }
  const md::charge_totals totals = md::totals_of(system);
  const md::test::ewald_sum expected(system);
  md::run_settings settings;
  settings.cutoff = 3.0;
  settings.patches = {1, 1, 1};
  for (const auto& [order, points, alpha] : {std::tuple{4, 24, 0.9}, {6, 24, 1.2}, {8, 20, 1.1}, {6, 48, 0.8}}) {
    settings.charges = {md::electrostatics::pme, order, {points, points, points}, alpha};
    const double estimate = std::hypot(md::real_space_error(system.box, totals, settings.cutoff, alpha),
                                       md::mesh_error(system.box, totals, settings.charges));
    const md::serial_driver driver(system, settings, md::choose_kernels("auto"));
    const double error = md::test::rms_difference(driver.forces(), expected.result().forces);
    EXPECT_GT(error, 0.6 * estimate) << order << ' ' << points << ' ' << alpha;
    EXPECT_LT(error, 1.6 * estimate) << order << ' ' << points << ' ' << alpha;
  }
}

TEST(pme_parameters, impossible_ones_are_refused) {
  const md::atom_system system = md::test::charged_system({6, 4, 7}, 1.1, 2.0, -2.0);
  const md::charge_totals charges = md::totals_of(system);
  EXPECT_TRUE(charges.neutral());
  EXPECT_EQ(charges.sum_of_squares, 4.0 * 168.0);
  EXPECT_THROW(md::choose_pme(system.box, charges, 3.0, 1e-4, {md::electrostatics::pme, 5, {}, 0.0}),
               std::invalid_argument);
  EXPECT_THROW(md::choose_pme(system.box, charges, 0.02, 1e-12, {}), std::invalid_argument);
}

TEST(pme_forces, are_the_gradient_of_the_energy) {
  SKIP_WITHOUT_FFTW();
  md::atom_system system = md::test::charged_system({4, 4, 4}, 1.1, 2.0, -2.0);
  md::run_settings settings;
  settings.cutoff = 3.0;
  settings.patches = {1, 1, 1};
  settings.charges = {md::electrostatics::pme, 4, {9, 10, 12}, 1.0};  // coarse: forces fit the energy nevertheless
  const auto energy_at = [&](double x) {
    md::atom_system moved = system;
    moved.atoms[5].position[1] += x;
    return md::serial_driver(moved, settings, md::choose_kernels("generic")).thermo().pair_energy *
           static_cast<double>(system.atoms.size());
  };
  const double force = md::serial_driver(system, settings, md::choose_kernels("generic")).forces()[5][1];
  // The real part is cut, not shifted, so a step that changes which pairs count would show; this one does not.
  EXPECT_NEAR(-(energy_at(1e-5) - energy_at(-1e-5)) / 2e-5, force, 1e-5 * std::abs(force));
}

TEST(mesh_parts, however_cut_give_the_same_bits) {
  SKIP_WITHOUT_FFTW();
  const md::atom_system system = md::test::charged_system({6, 6, 6}, 1.1, 2.0, -2.0);
  const md::electrostatics_settings settings = {md::electrostatics::pme, 6, {14, 15, 16}, 1.0};
  std::vector<md::vec4> positions;
  for (const md::atom_record& atom : system.atoms) {
    positions.push_back({atom.position[0], atom.position[1], atom.position[2], static_cast<double>(atom.type)});
  }
  const std::vector<double> charges = md::charges_of(system.types);
  md::pme_solver whole(system.box, settings, charges);
  const md::pair_sums expected = whole.compute({positions}, true);

  const md::charge_mesh mesh(system.box, settings);
  const md::mesh_transforms transforms(settings.mesh);
  const md::mesh_block block = md::touched_block(mesh, positions);
  std::vector<double> values(block.points());
  for (const auto& [slab_count, row_count] : {std::pair{3, 4}, {16, 15}, {1, 2}, {5, 1}}) {
    md::spread_charges(mesh, positions, charges, block, values.data());
    std::vector<md::mesh_slab> slabs;
    std::vector<md::mesh_rows> rows;
    for (int s = 0; s < slab_count; ++s) slabs.emplace_back(transforms, md::even_part(16, s, slab_count));
    for (int r = 0; r < row_count; ++r)
      rows.emplace_back(transforms, system.box, settings, md::even_part(15, r, row_count));
    std::vector<md::complex> modes(transforms.modes_x() * 15 * 16);
    std::vector<double> part(values.size());
    for (md::mesh_slab& slab : slabs) {
      md::copy_out(block, 16, slab.planes(), values.data(), part.data());
      slab.clear();
      slab.add(block, part.data());
      slab.forward();
      for (md::mesh_rows& each : rows) {
        slab.copy_rows(each.rows(), modes.data());
        each.set_planes(slab.planes(), modes.data());
      }
    }
    std::vector<md::pair_sums> sums;
    for (md::mesh_rows& each : rows) {
      const std::vector<md::pair_sums> more = each.convolve(true);
      sums.insert(sums.end(), more.begin(), more.end());
      for (md::mesh_slab& slab : slabs) {
        each.copy_planes(slab.planes(), modes.data());
        slab.set_rows(each.rows(), modes.data());
      }
    }
    for (md::mesh_slab& slab : slabs) {
      slab.backward();
      slab.extract(block, part.data());
      md::copy_in(block, 16, slab.planes(), part.data(), values.data());
    }
    std::vector<md::vec4> forces(positions.size());
    md::interpolate_forces(mesh, positions, charges, block, values.data(), forces.data());
    EXPECT_EQ(md::total_of_rows(sums).energy, expected.energy);
    EXPECT_EQ(md::total_of_rows(sums).virial, expected.virial);
    for (std::size_t i = 0; i < forces.size(); ++i) {
      ASSERT_EQ(forces[i].x, whole.forces(0)[i].x);
      ASSERT_EQ(forces[i].y, whole.forces(0)[i].y);
      ASSERT_EQ(forces[i].z, whole.forces(0)[i].z);
    }
  }
}

TEST(long_range, every_patch_meets_the_slabs_that_its_atoms_can_reach) {
  SKIP_WITHOUT_FFTW();
  const md::box box = {{0, 0, 0}, {10, 10, 60}};
  const md::patch_grid grid(box, {1, 1, 10}, 3.0);
  const md::long_range mesh(box, {md::electrostatics::pme, 4, {16, 16, 120}, 1.0}, grid, 20);
  ASSERT_EQ(mesh.slab_objects(), 20);
  ASSERT_EQ(mesh.row_objects(), 16);
  // Patch 5 is between 30 and 36, the patches around it reach to 24 and 42, slabs are 3 thick; the spline reaches down.
  EXPECT_THAT(mesh.slabs_near(5), testing::ElementsAre(7, 8, 9, 10, 11, 12, 13, 14));
  EXPECT_THAT(mesh.slabs_near(0), testing::ElementsAre(0, 1, 2, 3, 4, 17, 18, 19));
  for (int slab = 0; slab < 20; ++slab) {
    for (const int patch : mesh.patches_near(slab)) EXPECT_THAT(mesh.slabs_near(patch), testing::Contains(slab));
  }
  EXPECT_NO_THROW(mesh.check_near(5, {{0, 0, 60}, {4, 4, 20}}));
  EXPECT_THROW(mesh.check_near(5, {{0, 0, 30}, {4, 4, 50}}), std::runtime_error);
}

TEST(cutoff, is_the_plain_coulomb_sum) {
  const md::atom_system system = md::test::charged_system({6, 4, 7}, 1.1, 2.0, -1.5);
  md::run_settings settings;
  settings.charges.method = md::electrostatics::cutoff;
  settings.patches = {1, 1, 2};
  const md::test::brute_force_result expected = md::test::brute_force(system, settings.cutoff);
  for (const char* kernels : md::test::kernel_names) {
    try {
      const md::serial_driver driver(system, settings, md::choose_kernels(kernels));
      EXPECT_LT(md::test::rms_difference(driver.forces(), expected.forces), 1e-12);
      EXPECT_NEAR(driver.thermo().pair_energy, expected.sums.energy / 168.0, 1e-12);
    } catch (const std::invalid_argument& missing) {
      GTEST_LOG_(INFO) << missing.what();
    }
  }
}

TEST(charged_kernels, give_the_same_forces_with_and_without_sums) {
  const md::atom_system system = md::test::charged_system({6, 4, 7}, 1.1, 2.0, -1.5, false);
  md::run_settings settings;
  settings.dt = 0.001;
  settings.patches = {1, 1, 2};
  for (const char* kernels : md::test::kernel_names) {
    for (const md::electrostatics method : {md::electrostatics::cutoff, md::electrostatics::pme}) {
      settings.charges = {method, 6, {12, 12, 12}, 1.0};
      if (method == md::electrostatics::pme && !md::have_mesh_transforms()) continue;
      try {
        md::serial_driver without(system, settings, md::choose_kernels(kernels));
        md::serial_driver with(system, settings, md::choose_kernels(kernels));
        for (int step = 0; step < 10; ++step) {
          without.advance(false);
          with.advance(true);
        }
        EXPECT_EQ(without.forces(), with.forces()) << kernels;
      } catch (const std::invalid_argument& missing) {
        GTEST_LOG_(INFO) << missing.what();
      }
    }
  }
}

// Without charges all methods are one.
TEST(cutoff, of_charges_zero_is_lennard_jones) {
  SKIP_WITHOUT_FFTW();
  const md::atom_system system = md::test::charged_system({6, 4, 7}, 1.1, 0.0, 0.0, false);
  md::run_settings settings;
  settings.patches = {1, 1, 2};
  const md::serial_driver plain(system, settings, md::choose_kernels("auto"));
  for (const md::electrostatics method : {md::electrostatics::cutoff, md::electrostatics::pme}) {
    settings.charges = {method, 6, {12, 12, 12}, 1.0};
    const md::serial_driver driver(system, settings, md::choose_kernels("auto"));
    EXPECT_EQ(driver.thermo().pair_energy, plain.thermo().pair_energy);
    EXPECT_EQ(driver.forces(), plain.forces());
  }
}

TEST(conservation, of_energy_in_a_salt) {
  SKIP_WITHOUT_FFTW();
  md::atom_system system = md::test::charged_system({6, 6, 6}, 1.1, 2.0, -2.0, false);
  md::run_settings settings;
  settings.cutoff = 3.0;
  settings.dt = 0.001;
  settings.reneighbor_every = 10;
  settings.charges = md::choose_pme(system.box, md::totals_of(system), settings.cutoff, 1e-4, {});
  md::serial_driver driver(system, settings, md::choose_kernels("auto"));
  for (int step = 0; step < 100; ++step) driver.advance(true);  // lets the lattice melt
  const double before = driver.thermo().total_energy;
  double most = 0.0;
  for (int step = 0; step < 400; ++step) {
    driver.advance(true);
    most = std::max(most, std::abs(driver.thermo().total_energy - before));
  }
  EXPECT_LT(most, 5e-3) << "kinetic energy " << 1.5 * driver.thermo().temperature;
}

}  // namespace
