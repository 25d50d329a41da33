// The loops of pair_kernel.hpp, written once over a vector type `lanes`; included only by the pair_kernel_*.cpp files.
//
// Why this shape. Atoms are stored as (x, y, z, type), so the four or eight neighbours of a vector are fetched with
// plain loads and a register transpose, which costs far less than gather instructions, and their forces go back by the
// inverse transpose. The force on i stays in registers over its whole run. Padding and pairs beyond the cutoff (inside
// the skin) are switched off by zeroing 1/r^2, from which every result is a product: no branch, no mask to carry.
#pragma once

#include "md/forces/pair_kernel.hpp"

namespace md::kernel {

/// The polynomial at u, its coefficients from the highest power on.
template <class lanes>
typename lanes::vector polynomial(const double* coefficients, std::uint32_t terms, typename lanes::vector u) {
  typename lanes::vector value = lanes::broadcast(coefficients[0]);
  for (std::uint32_t k = 1; k < terms; ++k) {
    value = lanes::multiply_add(value, u, lanes::broadcast(coefficients[k]));
  }
  return value;
}

template <class lanes, bool with_sums, bool with_charges>
pair_sums pair_loop(const pair_job& job) {
  using vector = typename lanes::vector;
  vector energy = lanes::zero();
  vector virial = lanes::zero();

  for (const neighbour_run *run = job.runs, *end = job.runs + job.run_count; run != end; ++run) {
    const double* const i = job.a_positions + 4 * run->atom;
    const vector xi = lanes::broadcast(i[0] - job.shift[0]);
    const vector yi = lanes::broadcast(i[1] - job.shift[1]);
    const vector zi = lanes::broadcast(i[2] - job.shift[2]);
    const pair_coefficient& coefficient = job.coefficients[run->coefficients];
    const vector cutoff_squared = lanes::broadcast(coefficient.cutoff_squared);
    const vector force12 = lanes::broadcast(coefficient.force12);
    const vector force6 = lanes::broadcast(coefficient.force6);
    vector fxi = lanes::zero();
    vector fyi = lanes::zero();
    vector fzi = lanes::zero();

    const std::uint32_t* j = job.neighbours + run->first;
    for (const std::uint32_t* const last = j + run->count; j != last; j += lanes::count) {
      vector xj, yj, zj;
      lanes::load_transposed(job.b_positions, j, xj, yj, zj);
      const vector dx = lanes::sub(xi, xj);
      const vector dy = lanes::sub(yi, yj);
      const vector dz = lanes::sub(zi, zj);
      const vector r2 = lanes::multiply_add(dx, dx, lanes::multiply_add(dy, dy, lanes::mul(dz, dz)));
      const vector inverse_r2 = lanes::reciprocal_where_less(r2, cutoff_squared);
      const vector inverse_r6 = lanes::mul(lanes::mul(inverse_r2, inverse_r2), inverse_r2);
      vector r_times_force = lanes::mul(inverse_r6, lanes::multiply_sub(force12, inverse_r6, force6));
      vector force_over_r = lanes::mul(r_times_force, inverse_r2);
      if constexpr (with_charges) {
        const screened_coulomb& coulomb = *job.coulomb;
        const vector inverse_r = lanes::square_root(inverse_r2);
        const vector charges_over_r = lanes::mul(lanes::broadcast(coefficient.charges), inverse_r);
        // 0 where 1/r^2 is, so that the polynomials stay small there and their values count for nothing.
        const vector r = lanes::mul(r2, inverse_r);
        const vector inside_r2 = lanes::mul(r, r);
        const vector u = lanes::multiply_sub(lanes::broadcast(coulomb.scale), inside_r2, lanes::broadcast(1.0));
        const vector force = polynomial<lanes>(coulomb.force, coulomb.terms, u);
        const vector screened = lanes::multiply_add(r, force, inverse_r2);
        force_over_r = lanes::multiply_add(charges_over_r, screened, force_over_r);
        if constexpr (with_sums) {
          const vector smooth = polynomial<lanes>(coulomb.energy, coulomb.terms, u);
          r_times_force = lanes::multiply_add(lanes::mul(charges_over_r, screened), inside_r2, r_times_force);
          energy = lanes::multiply_add(charges_over_r, lanes::multiply_add(r, smooth, lanes::broadcast(1.0)), energy);
        }
      }
      const vector fx = lanes::mul(dx, force_over_r);
      const vector fy = lanes::mul(dy, force_over_r);
      const vector fz = lanes::mul(dz, force_over_r);
      fxi = lanes::add(fxi, fx);
      fyi = lanes::add(fyi, fy);
      fzi = lanes::add(fzi, fz);
      lanes::subtract_transposed(job.b_forces, j, fx, fy, fz);
      if constexpr (with_sums) {
        const vector energy12 = lanes::broadcast(coefficient.energy12);
        const vector energy6 = lanes::broadcast(coefficient.energy6);
        energy = lanes::add(energy, lanes::mul(inverse_r6, lanes::multiply_sub(energy12, inverse_r6, energy6)));
        virial = lanes::add(virial, r_times_force);
      }
    }
    lanes::add_horizontal(job.a_forces + 4 * run->atom, fxi, fyi, fzi);
  }
  return {lanes::horizontal_sum(energy), lanes::horizontal_sum(virial)};
}

template <class lanes>
void forces(const pair_job& job) {
  if (job.coulomb == nullptr) {
    pair_loop<lanes, false, false>(job);
  } else {
    pair_loop<lanes, false, true>(job);
  }
}

template <class lanes>
pair_sums forces_and_sums(const pair_job& job) {
  return job.coulomb == nullptr ? pair_loop<lanes, true, false>(job) : pair_loop<lanes, true, true>(job);
}

template <class lanes>
std::uint32_t find(const double* position, const cluster_view& atoms, const std::uint32_t* clusters,
                   std::size_t cluster_count, std::uint32_t first, double reach_squared, std::uint32_t* found) {
  using vector = typename lanes::vector;
  const vector xi = lanes::broadcast(position[0]);
  const vector yi = lanes::broadcast(position[1]);
  const vector zi = lanes::broadcast(position[2]);
  const vector reach2 = lanes::broadcast(reach_squared);
  std::uint32_t* next = found;
  for (std::size_t c = 0; c < cluster_count; ++c) {
    const std::uint32_t begin = clusters[c] * cluster_atoms;
    for (std::uint32_t j = begin; j < begin + cluster_atoms; j += lanes::count) {
      const vector dx = lanes::sub(xi, lanes::load(atoms.x + j));
      const vector dy = lanes::sub(yi, lanes::load(atoms.y + j));
      const vector dz = lanes::sub(zi, lanes::load(atoms.z + j));
      const vector r2 = lanes::multiply_add(dx, dx, lanes::multiply_add(dy, dy, lanes::mul(dz, dz)));
      next += lanes::compress_offsets(r2, reach2, j, first, next);
    }
  }
  return static_cast<std::uint32_t>(next - found);
}

template <class lanes>
void add(const force_contribution* contributions, std::size_t contribution_count, vec4* sum, std::size_t atoms) {
  for (std::size_t i = 0; i < atoms; ++i) lanes::quad_store(&sum[i].x, lanes::quad_zero());
  for (std::size_t c = 0; c < contribution_count; ++c) {
    const force_contribution& contribution = contributions[c];
    for (const atom_span *span = contribution.spans, *last = span + contribution.span_count; span != last; ++span) {
      for (std::size_t i = span->begin; i < span->end; ++i) {
        lanes::quad_store(&sum[i].x, lanes::quad_add(&sum[i].x, &contribution.forces[i].x));
      }
    }
  }
}

template <class lanes>
constexpr kernel_set make_set(std::string_view name) {
  return {name, lanes::count, &forces<lanes>, &forces_and_sums<lanes>, &find<lanes>, &add<lanes>};
}

}  // namespace md::kernel
