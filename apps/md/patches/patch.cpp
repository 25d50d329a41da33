// See patch.hpp.
#include "md/patches/patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

namespace md {

void patch::pad() {
  positions_.resize(size());
  positions_.insert(positions_.end(), padding_atoms, vec4{far_away, far_away, far_away, 0.0});
}

atom_record patch::record(std::size_t i) const {
  const vec4& x = positions_[i];
  const vec4& v = velocities_[i];
  return {{x.x, x.y, x.z}, {v.x, v.y, v.z}, ids_[i], static_cast<std::int32_t>(x.w), images_[i]};
}

std::vector<atom_record> patch::records() const {
  std::vector<atom_record> all;
  all.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) all.push_back(record(i));
  return all;
}

std::vector<departure> patch::leave(const box& box, const patch_grid& grid, int own_index) {
  std::vector<departure> gone;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    vec3 at = {positions_[i].x, positions_[i].y, positions_[i].z};
    if (!std::isfinite(at[0] + at[1] + at[2])) {
      throw std::runtime_error(fmt::format(
          "atom {} is at ({}, {}, {}): the simulation has blown up; use a smaller time step (--dt) or check "
          "the input for atoms that overlap",
          ids_[i], at[0], at[1], at[2]));
    }
    box.wrap(at, images_[i]);
    positions_[i] = {at[0], at[1], at[2], positions_[i].w};
    const int owner = grid.owner(at);
    if (owner != own_index) {
      if (!grid.adjacent(own_index, owner)) {
        throw std::runtime_error(fmt::format(
            "atom {} moved from patch {} past its neighbours to patch {} between two list builds, so pairs were "
            "missed; use a smaller time step (--dt) or build lists more often (--reneighbor-every, --check)",
            ids_[i], own_index, owner));
      }
      gone.push_back({owner, record(i)});
      continue;
    }
    positions_[kept] = positions_[i];
    velocities_[kept] = velocities_[i];
    ids_[kept] = ids_[i];
    images_[kept] = images_[i];
    ++kept;
  }
  velocities_.resize(kept);
  ids_.resize(kept);
  images_.resize(kept);
  positions_.resize(kept);
  pad();
  return gone;
}

void patch::arrive(const atom_record& atom) {
  const auto& [x, v, id, type, image] = atom;
  positions_[size()] = {x[0], x[1], x[2], static_cast<double>(type)};  // the first of the padding
  positions_.push_back({far_away, far_away, far_away, 0.0});
  velocities_.push_back({v[0], v[1], v[2], 0.0});
  ids_.push_back(id);
  images_.push_back(image);
}

void patch::settle(const vec3& low_corner, const vec3& width) {
  // Columns along z with a square cross-section, so wide that eight consecutive atoms of a column fill about a cube.
  // The z direction alternates, which keeps the eight together where one column ends and the next begins.
  const double volume_of_cluster =
      width[0] * width[1] * width[2] * cluster_atoms / std::max<double>(1.0, static_cast<double>(size()));
  const double side = std::cbrt(volume_of_cluster);
  const int columns_x = std::max(1, static_cast<int>(std::lround(width[0] / side)));
  const int columns_y = std::max(1, static_cast<int>(std::lround(width[1] / side)));

  struct key {
    int column;
    double along;
    std::int64_t id;
    std::size_t from;
    auto order() const { return std::tie(column, along, id); }
  };
  std::vector<key> keys(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const vec4& at = positions_[i];
    const int cx = std::clamp(static_cast<int>((at.x - low_corner[0]) / width[0] * columns_x), 0, columns_x - 1);
    const int row = std::clamp(static_cast<int>((at.y - low_corner[1]) / width[1] * columns_y), 0, columns_y - 1);
    const int column = row * columns_x + (row % 2 == 0 ? cx : columns_x - 1 - cx);
    keys[i] = {column, column % 2 == 0 ? at.z : -at.z, ids_[i], i};
  }
  std::sort(keys.begin(), keys.end(), [](const key& a, const key& b) { return a.order() < b.order(); });

  const auto apply = [&](auto& values) {
    auto old = values;
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = old[keys[i].from];
  };
  apply(positions_);
  apply(velocities_);
  apply(ids_);
  apply(images_);
  forces_.assign(size(), vec4{});
  held_.assign(positions_.begin(), positions_.begin() + static_cast<std::ptrdiff_t>(size()));
}

void patch::kick(double half_dt, std::span<const double> masses) {
  for (std::size_t i = 0; i < size(); ++i) {
    const double factor = half_dt / masses[type(i)];
    vec4& v = velocities_[i];
    const vec4& f = forces_[i];
    v = {v.x + factor * f.x, v.y + factor * f.y, v.z + factor * f.z, 0.0};
  }
}

void patch::first_half_step(double dt, std::span<const double> masses) {
  kick(0.5 * dt, masses);
  for (std::size_t i = 0; i < size(); ++i) {
    vec4& x = positions_[i];
    const vec4& v = velocities_[i];
    x = {x.x + dt * v.x, x.y + dt * v.y, x.z + dt * v.z, x.w};
  }
}

void patch::sum_forces(const kernel_set& kernels, std::span<const force_contribution> contributions) {
  kernels.add(contributions.data(), contributions.size(), forces_.data(), size());
}

void patch::second_half_step(double dt, std::span<const double> masses) { kick(0.5 * dt, masses); }

double patch::mass_velocity_squared(std::span<const double> masses) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < size(); ++i) {
    const vec4& v = velocities_[i];
    sum += masses[type(i)] * (v.x * v.x + v.y * v.y + v.z * v.z);
  }
  return sum;
}

double patch::displacement_squared() const {
  double largest = 0.0;
  for (std::size_t i = 0; i < size(); ++i) {
    const double dx = positions_[i].x - held_[i].x;
    const double dy = positions_[i].y - held_[i].y;
    const double dz = positions_[i].z - held_[i].z;
    largest = std::max(largest, dx * dx + dy * dy + dz * dz);
  }
  return largest;
}

void patch::move(std::size_t i, const vec3& position) {
  positions_[i] = {position[0], position[1], position[2], positions_[i].w};
}

}  // namespace md
