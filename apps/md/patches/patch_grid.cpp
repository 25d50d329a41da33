// See patch_grid.hpp.
#include "md/patches/patch_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace md {
namespace {

constexpr std::array<char, 3> axis_name = {'x', 'y', 'z'};
// Room for the rounding of an atom's patch index at a face: widths closer to the reach than this do not count.
constexpr double width_slack = 1.0 + 1e-12;

constexpr int most_patches = 1 << 30;

}  // namespace

patch_grid::patch_grid(const md::box& box, const int3& counts, double reach) : box_(box), counts_(counts), width_{} {
  if (static_cast<double>(counts[0]) * counts[1] * counts[2] > most_patches) {
    throw std::invalid_argument(fmt::format("{} patches: at most {} can be numbered; use larger ones (--patch-size)",
                                            fmt::join(counts, " x "), most_patches));
  }
  for (std::size_t d = 0; d < 3; ++d) {
    if (counts[d] < 1) {
      throw std::invalid_argument(
          fmt::format("{} patches in {}: at least one is needed in each direction", counts[d], axis_name[d]));
    }
    width_[d] = box.length(d) / counts[d];
    if (width_[d] < reach) {
      const int most = static_cast<int>(std::min(box.length(d) / (reach * width_slack), double{most_patches}));
      if (most < 1) {
        throw std::invalid_argument(
            fmt::format("the box is {:.6g} long in {} but cutoff + skin is {:.6g}: it must not be longer than the box; "
                        "use a larger "
                        "box (--replicate) or a shorter cutoff",
                        box.length(d), axis_name[d], reach));
      }
      throw std::invalid_argument(
          fmt::format("{} patches in {} are {:.6g} wide each, less than cutoff + skin = {:.6g}: at most {} fit",
                      counts[d], axis_name[d], width_[d], reach, most));
    }
  }
}

int3 patch_grid::counts_for(const md::box& box, double patch_size) {
  int3 counts{};
  for (std::size_t d = 0; d < 3; ++d) {
    counts[d] = static_cast<int>(std::clamp(box.length(d) / (patch_size * width_slack), 1.0, double{most_patches}));
  }
  return counts;
}

int3 patch_grid::coordinates(int patch) const {
  return {patch % counts_[0], patch / counts_[0] % counts_[1], patch / (counts_[0] * counts_[1])};
}

int patch_grid::owner(const vec3& position) const {
  int3 at{};
  for (std::size_t d = 0; d < 3; ++d) {
    at[d] = std::clamp(static_cast<int>((position[d] - box_.low[d]) / width_[d]), 0, counts_[d] - 1);
  }
  return index(at);
}

vec3 patch_grid::low_corner(int patch) const {
  const int3 at = coordinates(patch);
  return {box_.low[0] + at[0] * width_[0], box_.low[1] + at[1] * width_[1], box_.low[2] + at[2] * width_[2]};
}

vec3 patch_grid::middle(int patch) const {
  vec3 at = low_corner(patch);
  for (std::size_t d = 0; d < 3; ++d) at[d] += 0.5 * width_[d];
  return at;
}

int patch_grid::wrapped_index(const int3& at) const {
  int3 inside{};
  for (std::size_t d = 0; d < 3; ++d) inside[d] = (at[d] + counts_[d]) % counts_[d];
  return index(inside);
}

patch_pair patch_grid::pair(int patch, int kind) const {
  const int3& direction = half_shell.at(static_cast<std::size_t>(kind));
  int3 at = coordinates(patch);
  patch_pair result{0, {}};
  for (std::size_t d = 0; d < 3; ++d) {
    at[d] += direction[d];
    if (at[d] < 0) result.shift[d] = -box_.length(d);
    if (at[d] >= counts_[d]) result.shift[d] = box_.length(d);
  }
  result.other = wrapped_index(at);
  return result;
}

std::array<contribution_source, contributions_per_patch> patch_grid::contributions(int patch) const {
  std::array<contribution_source, contributions_per_patch> sources{};
  std::size_t next = 0;
  for (int kind = 0; kind < pair_kinds; ++kind) sources[next++] = {patch, kind, 0};
  const int3 at = coordinates(patch);
  for (int kind = 1; kind < pair_kinds; ++kind) {
    const int3& direction = half_shell[static_cast<std::size_t>(kind)];
    sources[next++] = {wrapped_index({at[0] - direction[0], at[1] - direction[1], at[2] - direction[2]}), kind, 1};
  }
  return sources;
}

bool patch_grid::adjacent(int patch, int other) const {
  const int3 a = coordinates(patch);
  const int3 b = coordinates(other);
  for (std::size_t d = 0; d < 3; ++d) {
    const int apart = std::abs(a[d] - b[d]);
    if (std::min(apart, counts_[d] - apart) > 1) return false;
  }
  return true;
}

std::vector<int> patch_grid::neighbours(int patch) const {
  const int3 at = coordinates(patch);
  std::vector<int> around;
  for (const int3& direction : half_shell) {
    for (const int sign : {1, -1}) {
      const int other =
          wrapped_index({at[0] + sign * direction[0], at[1] + sign * direction[1], at[2] + sign * direction[2]});
      if (other != patch) around.push_back(other);
    }
  }
  std::sort(around.begin(), around.end());
  around.erase(std::unique(around.begin(), around.end()), around.end());
  return around;
}

}  // namespace md
