// See ewald_parameters.hpp.
#include "md/electrostatics/ewald_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "md/electrostatics/b_spline.hpp"
#include "md/electrostatics/charge_mesh.hpp"

namespace md {
namespace {

constexpr double pi = std::numbers::pi;

// Ions are not at random places: in crystals and melts the errors were found up to 2.3 times the estimates.
constexpr double correlations = 2.5;

// The least number of points from `least` on that has no other prime factors than 2, 3, 5 and 7: transforms are fast.
int good_size(int least) {
  for (int size = least;; ++size) {
    int rest = size;
    for (const int factor : {2, 3, 5, 7}) {
      while (rest % factor == 0) rest /= factor;
    }
    if (rest == 1) return size;
  }
}

/// One direction of the error of a mode: splines of the order stand for its wave with other waves mixed in, those that
/// are the same at the points of the mesh.
struct mode_factors {
  double own;     ///< square of the part of the wave itself
  double all;     ///< squares of all the waves
  double slopes;  ///< squares of their derivatives
  double k2;      ///< square of the wave number
};

mode_factors factors_of(int mode, int points, double length, int order) {
  constexpr int furthest = 4;
  double sum = 0.0;
  mode_factors result{};
  for (int alias = -furthest; alias <= furthest; ++alias) {
    const double waves = mode + alias * points;
    const double part = mode == 0 ? (alias == 0 ? 1.0 : 0.0) : std::pow(mode / waves, order);
    const double k = 2.0 * pi * waves / length;
    sum += part;
    result.all += part * part;
    result.slopes += part * part * k * k;
  }
  const double norm = 1.0 / (sum * sum);
  const double k = 2.0 * pi * mode / length;
  return {norm, result.all * norm, result.slopes * norm, k * k};
}

// Modes beyond the mesh are left out (Kolafa and Perram).
double missing_modes_error_squared(const box& box, const charge_totals& charges,
                                   const electrostatics_settings& settings) {
  double sum = 0.0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double most = 0.5 * settings.mesh[d];
    const double exponent = pi * most / (settings.alpha * box.length(d));
    const double error = charges.sum_of_squares * settings.alpha / (box.length(d) * box.length(d) * pi) *
                         std::sqrt(8.0 / (most * static_cast<double>(charges.atoms))) * std::exp(-exponent * exponent);
    sum += error * error;
  }
  return sum;
}

}  // namespace

charge_totals totals_of(const atom_system& system) {
  std::vector<std::size_t> atoms(system.types.size());
  for (const atom_record& atom : system.atoms) ++atoms[static_cast<std::size_t>(atom.type)];
  charge_totals totals;
  totals.atoms = system.atoms.size();
  for (std::size_t t = 0; t < atoms.size(); ++t) {
    const double charge = system.types[t].charge;
    totals.sum += static_cast<double>(atoms[t]) * charge;
    totals.sum_of_squares += static_cast<double>(atoms[t]) * charge * charge;
  }
  return totals;
}

double real_space_error(const box& box, const charge_totals& charges, double cutoff, double alpha) {
  return 2.0 * charges.sum_of_squares / std::sqrt(static_cast<double>(charges.atoms) * cutoff * box.volume()) *
         std::exp(-alpha * alpha * cutoff * cutoff);
}

double mesh_error(const box& box, const charge_totals& charges, const electrostatics_settings& settings) {
  std::array<std::vector<mode_factors>, 3> factors;
  for (std::size_t d = 0; d < 3; ++d) {
    for (int mode = 0; mode <= settings.mesh[d] / 2; ++mode) {
      factors[d].push_back(factors_of(mode, settings.mesh[d], box.length(d), settings.order));
    }
  }
  double sum = 0.0;
  for (std::size_t z = 0; z < factors[2].size(); ++z) {
    for (std::size_t y = 0; y < factors[1].size(); ++y) {
      const double signs_yz = (y == 0 ? 1.0 : 2.0) * (z == 0 ? 1.0 : 2.0);
      for (std::size_t x = 0; x < factors[0].size(); ++x) {
        if (x + y + z == 0) continue;
        const mode_factors& a = factors[0][x];
        const mode_factors& b = factors[1][y];
        const mode_factors& c = factors[2][z];
        const double k2 = a.k2 + b.k2 + c.k2;
        if (k2 > 160.0 * settings.alpha * settings.alpha) break;  // the square of what follows is below e^-80
        const double green = 4.0 * pi / (box.volume() * k2) * std::exp(-k2 / (4.0 * settings.alpha * settings.alpha));
        const double all = a.all * b.all * c.all;
        const double slopes = a.slopes * b.all * c.all + a.all * b.slopes * c.all + a.all * b.all * c.slopes;
        const double error = slopes * all - 2.0 * k2 * a.own * b.own * c.own + k2;
        sum += (x == 0 ? 1.0 : 2.0) * signs_yz * green * green * error;
      }
    }
  }
  const double squares = charges.sum_of_squares;
  const double interpolation = squares * squares / static_cast<double>(charges.atoms) * std::max(0.0, sum);
  return std::sqrt(interpolation + missing_modes_error_squared(box, charges, settings));
}

electrostatics_settings choose_pme(const box& box, const charge_totals& charges, double cutoff, double tolerance,
                                   const electrostatics_settings& given) {
  electrostatics_settings result = given;
  result.method = electrostatics::pme;
  if (result.order == 0) result.order = 6;
  if (!is_spline_order(result.order)) {
    throw std::invalid_argument(fmt::format("--pme-order {}: expected 4, 6 or 8", result.order));
  }
  const double share = tolerance / (correlations * std::numbers::sqrt2);
  if (result.alpha == 0.0) {
    const double without = real_space_error(box, charges, cutoff, 0.0);
    // A splitting this smooth at least: where the error without one is small already, the mesh costs nothing.
    result.alpha = std::sqrt(std::max(1.0, std::log(without / share))) / cutoff;
  }
  if (!(result.alpha * cutoff <= 6.0)) {
    throw std::invalid_argument(
        fmt::format("--pme-tolerance {} with --cutoff {} needs the splitting alpha = {:.6g}; alpha times cutoff is at "
                    "most 6: use a larger tolerance or give --pme-alpha",
                    tolerance, cutoff, result.alpha));
  }
  if (result.mesh != int3{}) return result;
  for (double spacing = 1.5 / result.alpha;; spacing *= 0.93) {
    for (std::size_t d = 0; d < 3; ++d) {
      const double points = std::ceil(box.length(d) / spacing);
      if (points > most_mesh_points) {
        throw std::invalid_argument(
            fmt::format("--pme-tolerance {} needs a mesh of more than {} points in a direction; use a larger one, a "
                        "larger --cutoff, or a higher --pme-order",
                        tolerance, most_mesh_points));
      }
      result.mesh[d] = good_size(std::max(result.order, static_cast<int>(points)));
    }
    if (mesh_error(box, charges, result) <= share) return result;
  }
}

pair_sums constant_sums(const box& box, const charge_totals& charges, const electrostatics_settings& settings) {
  if (settings.method != electrostatics::pme) return {};
  const double own = -settings.alpha / std::sqrt(pi) * charges.sum_of_squares;
  if (charges.neutral()) return {own, 0.0};
  const double background = -pi * charges.sum * charges.sum / (2.0 * box.volume() * settings.alpha * settings.alpha);
  // Its energy goes with 1/volume, so the sum of r.f is three times it.
  return {own + background, 3.0 * background};
}

std::string describe(const box& box, const charge_totals& charges, double cutoff,
                     const electrostatics_settings& settings) {
  std::string text;
  if (settings.method == electrostatics::cutoff) text = "charges: Coulomb forces up to the cutoff";
  if (settings.method == electrostatics::pme) {
    text = fmt::format(
        "charges: particle-mesh Ewald, alpha {:.5g}, mesh {}, order {}; estimated error of forces {:.2g}",
        settings.alpha, fmt::join(settings.mesh, " x "), settings.order,
        std::hypot(real_space_error(box, charges, cutoff, settings.alpha), mesh_error(box, charges, settings)));
    if (!charges.neutral()) {
      text += fmt::format("; the net charge {:.6g} is neutralised by a uniform background", charges.sum);
    }
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace md
