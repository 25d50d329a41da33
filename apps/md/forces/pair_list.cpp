// See pair_list.hpp. The list is found in two steps: bounding boxes of clusters of eight consecutive atoms (the patch
// keeps its atoms in an order that makes them compact) rule out most pairs of clusters, and the distance test of the
// kernel goes through the rest, one atom against whole clusters.
#include "md/forces/pair_list.hpp"

#include <algorithm>
#include <limits>

namespace md {
namespace {

using bounds = list_scratch::bounds;

// Bounding boxes of clusters of eight consecutive atoms, moved by the shift.
void find_bounds(const patch_view& patch, const vec3& shift, std::vector<bounds>& clusters) {
  clusters.clear();
  for (std::size_t begin = 0; begin < patch.atoms; begin += cluster_atoms) {
    const std::size_t end = std::min<std::size_t>(begin + cluster_atoms, patch.atoms);
    const vec4& first = patch.positions[begin];
    bounds b{{first.x, first.y, first.z}, {first.x, first.y, first.z}};
    for (std::size_t i = begin + 1; i < end; ++i) {
      const vec4& at = patch.positions[i];
      b.low = {std::min(b.low[0], at.x), std::min(b.low[1], at.y), std::min(b.low[2], at.z)};
      b.high = {std::max(b.high[0], at.x), std::max(b.high[1], at.y), std::max(b.high[2], at.z)};
    }
    for (std::size_t d = 0; d < 3; ++d) {
      b.low[d] += shift[d];
      b.high[d] += shift[d];
    }
    clusters.push_back(b);
  }
}

double distance_squared(const bounds& a, const bounds& b) {
  double sum = 0.0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double gap = std::max({0.0, a.low[d] - b.high[d], b.low[d] - a.high[d]});
    sum += gap * gap;
  }
  return sum;
}

bounds enclosing(const std::vector<bounds>& clusters) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bounds all{{infinity, infinity, infinity}, {-infinity, -infinity, -infinity}};
  for (const bounds& b : clusters) {
    for (std::size_t d = 0; d < 3; ++d) {
      all.low[d] = std::min(all.low[d], b.low[d]);
      all.high[d] = std::max(all.high[d], b.high[d]);
    }
  }
  return all;
}

// Numbers of the clusters that come near enough to `other`.
void find_near(const std::vector<bounds>& clusters, const bounds& other, double reach_squared,
               std::vector<std::uint32_t>& near) {
  near.clear();
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    if (distance_squared(clusters[c], other) < reach_squared) near.push_back(static_cast<std::uint32_t>(c));
  }
}

// Coordinates of patch b apart, in whole clusters.
cluster_view split_coordinates(const patch_view& patch, const vec3& shift, list_scratch& scratch) {
  const std::size_t padded = (patch.atoms + cluster_atoms - 1) / cluster_atoms * cluster_atoms;
  scratch.x.resize(std::max(padded, scratch.x.size()));
  scratch.y.resize(scratch.x.size());
  scratch.z.resize(scratch.x.size());
  for (std::size_t i = 0; i < patch.atoms; ++i) {
    scratch.x[i] = patch.positions[i].x + shift[0];
    scratch.y[i] = patch.positions[i].y + shift[1];
    scratch.z[i] = patch.positions[i].z + shift[2];
  }
  for (std::size_t i = patch.atoms; i < padded; ++i) scratch.x[i] = scratch.y[i] = scratch.z[i] = far_away;
  return {scratch.x.data(), scratch.y.data(), scratch.z.data()};
}

// Spans of marked atoms; short gaps are included, because a span costs more than a few atoms.
void collect_spans(std::span<const std::uint8_t> marks, std::vector<atom_span>& spans) {
  constexpr std::uint32_t longest_gap = 3;
  spans.clear();
  for (std::uint32_t i = 0; i < marks.size(); ++i) {
    if (marks[i] == 0) continue;
    if (!spans.empty() && i - spans.back().end <= longest_gap) {
      spans.back().end = i + 1;
    } else {
      spans.push_back({i, i + 1});
    }
  }
}

void clear(vec4* forces, std::span<const atom_span> spans) {
  for (const atom_span& span : spans) std::fill(forces + span.begin, forces + span.end, vec4{});
}

}  // namespace

void pair_list::find_touched(std::size_t a_atoms, std::size_t b_atoms, std::vector<std::uint8_t>& marks) {
  marks.assign(a_atoms, 0);
  for (const neighbour_run& run : runs_) marks[run.atom] = 1;
  if (!self_) {
    collect_spans(marks, touched_a_);
    marks.assign(b_atoms, 0);
  }
  marks.resize(b_atoms + padding_atoms);  // padding neighbours mark themselves, beyond the part that is read
  for (const std::uint32_t offset : neighbours_) marks[offset / 4] = 1;
  collect_spans({marks.data(), b_atoms}, self_ ? touched_a_ : touched_b_);
}

void pair_list::build(const kernel_set& kernels, const patch_view& a, const patch_view& b, double reach,
                      const coefficient_table& table, list_scratch& scratch) {
  runs_.clear();
  neighbours_.clear();
  pairs_ = 0;
  // Bounding boxes may be wrong by the rounding of the shift; the exact test follows.
  const double reach_squared = reach * reach;
  const double cluster_reach_squared = reach_squared * (1.0 + 1e-9);
  find_bounds(a, {}, scratch.clusters_a);
  find_bounds(b, shift_, scratch.clusters_b);
  const cluster_view split = split_coordinates(b, shift_, scratch);
  scratch.found.resize(std::max(scratch.found.size(), b.atoms + 2 * cluster_atoms));

  // Most clusters of a patch are far from the whole other patch; only the rest is compared one by one.
  find_near(scratch.clusters_a, enclosing(scratch.clusters_b), cluster_reach_squared, scratch.near_a);
  find_near(scratch.clusters_b, enclosing(scratch.clusters_a), cluster_reach_squared, scratch.near_b);

  for (const std::uint32_t ca : scratch.near_a) {
    scratch.candidates.clear();
    for (const std::uint32_t cb : scratch.near_b) {
      if (self_ && cb < ca) continue;
      if (distance_squared(scratch.clusters_a[ca], scratch.clusters_b[cb]) < cluster_reach_squared) {
        scratch.candidates.push_back(cb);
      }
    }
    if (scratch.candidates.empty()) continue;
    const std::size_t end = std::min<std::size_t>((ca + 1) * cluster_atoms, a.atoms);
    for (std::size_t i = ca * cluster_atoms; i < end; ++i) {
      const auto atom = static_cast<std::uint32_t>(i);
      const std::uint32_t count =
          kernels.find(&a.positions[i].x, split, scratch.candidates.data(), scratch.candidates.size(),
                       self_ ? atom + 1 : 0, reach_squared, scratch.found.data());
      if (count != 0) add_runs(atom, a, b, {scratch.found.data(), count}, table, kernels.lanes);
    }
  }
  find_touched(a.atoms, b.atoms, scratch.marks);
}

void pair_list::add_runs(std::uint32_t i, const patch_view& a, const patch_view& b,
                         std::span<const std::uint32_t> found, const coefficient_table& table, std::uint32_t lanes) {
  pairs_ += found.size();
  const auto type_i = static_cast<std::size_t>(a.positions[i].w);
  for (std::size_t type_j = 0; type_j < table.types(); ++type_j) {
    const auto first = static_cast<std::uint32_t>(neighbours_.size());
    if (table.types() == 1) {
      neighbours_.insert(neighbours_.end(), found.begin(), found.end());
    } else {
      for (const std::uint32_t offset : found) {
        if (static_cast<std::size_t>(b.positions[offset / 4].w) == type_j) neighbours_.push_back(offset);
      }
    }
    std::uint32_t padding = 0;
    while ((neighbours_.size() - first) % lanes != 0) {
      neighbours_.push_back(4 * (static_cast<std::uint32_t>(b.atoms) + padding++));
    }
    const auto count = static_cast<std::uint32_t>(neighbours_.size()) - first;
    if (count != 0) runs_.push_back({i, first, count, static_cast<std::uint32_t>(table.row(type_i, type_j))});
  }
}

pair_sums pair_list::compute(const kernel_set& kernels, const patch_view& a, const patch_view& b,
                             const coefficient_table& table, bool sums_wanted, vec4* a_forces, vec4* b_forces) const {
  clear(a_forces, touched_a_);
  if (!self_) clear(b_forces, touched_b_);
  std::fill(b_forces + b.atoms, b_forces + b.atoms + padding_atoms, vec4{});
  const pair_job job{&a.positions->x,    &b.positions->x, &a_forces->x,
                     &b_forces->x,       runs_.data(),    runs_.size(),
                     neighbours_.data(), table.data(),    {shift_[0], shift_[1], shift_[2]},
                     table.coulomb()};
  if (sums_wanted) return kernels.forces_and_sums(job);
  kernels.forces(job);
  return {};
}

}  // namespace md
