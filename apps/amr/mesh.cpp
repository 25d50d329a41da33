// See mesh.hpp.
#include "amr/mesh.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace amr {
namespace {

/// Puts a zero bit before each of 32 bits.
std::uint64_t spread_bits(std::uint64_t x) {
  x = (x | x << 16) & 0x0000ffff0000ffff;
  x = (x | x << 8) & 0x00ff00ff00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
  x = (x | x << 2) & 0x3333333333333333;
  return (x | x << 1) & 0x5555555555555555;
}

std::string name_of(const block_place& of) {
  return "block (level " + std::to_string(of.level) + ", y " + std::to_string(of.y) + ", x " + std::to_string(of.x) +
         ")";
}

}  // namespace

mesh::mesh(std::int32_t roots, std::int32_t most_levels) : roots_(roots), most_levels_(most_levels) {
  for (std::int32_t y = 0; y < roots; ++y)
    for (std::int32_t x = 0; x < roots; ++x) blocks_.push_back({0, y, x});
  sort();
}

mesh::mesh(std::int32_t roots, std::int32_t most_levels, std::vector<block_place> blocks)
    : roots_(roots), most_levels_(most_levels), blocks_(std::move(blocks)) {
  sort();
  // In units of the smallest blocks; the curve passes through each block without a gap.
  std::uint64_t area = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const block_place& each = blocks_[i];
    if (each.level < 0 || each.level > most_levels_) throw std::invalid_argument("amr: no level of " + name_of(each));
    const std::uint64_t own = std::uint64_t{1} << (2 * (most_levels_ - each.level));
    if (i + 1 < blocks_.size() && position_on_curve(each) + own > position_on_curve(blocks_[i + 1]))
      throw std::invalid_argument("amr: " + name_of(each) + " overlaps " + name_of(blocks_[i + 1]));
    area += own;
  }
  const auto edge = static_cast<std::uint64_t>(roots_) << most_levels_;
  if (area != edge * edge) throw std::invalid_argument("amr: the blocks do not cover the square");
  for (const block_place& each : blocks_)
    for (int s = 0; s < side_count; ++s) neighbours(each, static_cast<side>(s));  // throws
}

std::uint64_t mesh::position_on_curve(const block_place& of) const {
  const int shift = most_levels_ - of.level;
  return spread_bits(static_cast<std::uint64_t>(of.y) << shift) << 1 |
         spread_bits(static_cast<std::uint64_t>(of.x) << shift);
}

void mesh::sort() {
  std::ranges::sort(blocks_, {}, [this](const block_place& each) { return position_on_curve(each); });
  positions_.clear();
  for (const block_place& each : blocks_) positions_.push_back(position_on_curve(each));
}

bool mesh::has(const block_place& place) const {
  if (place.level < 0 || place.level > most_levels_) return false;
  const std::size_t number = number_of(place);
  return number < blocks_.size() && blocks_[number] == place;
}

std::size_t mesh::number_of(const block_place& place) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(positions_, position_on_curve(place)) - positions_.begin());
}

std::vector<block_place> mesh::neighbours(const block_place& of, side where) const {
  const std::int32_t along = roots_ << of.level;
  block_place beside = of;
  std::int32_t& moved = where == side::left || where == side::right ? beside.x : beside.y;
  moved = (moved + (where == side::left || where == side::below ? along - 1 : 1)) % along;
  if (has(beside)) return {beside};
  if (of.level > 0 && has(beside.parent())) return {beside.parent()};
  // The children of `beside` that touch this block.
  const bool horizontal = where == side::left || where == side::right;
  const bool far_half = where == side::left || where == side::below;  // of `beside`
  std::vector<block_place> both;
  for (int half = 0; half < 2; ++half) {
    const int near_edge = far_half ? 1 : 0;
    const block_place child = beside.child(horizontal ? half * 2 + near_edge : near_edge * 2 + half);
    if (!has(child)) throw std::invalid_argument("amr: beside " + name_of(of) + " levels differ by more than one");
    both.push_back(child);
  }
  return both;
}

bool mesh::raise_beside(std::vector<std::int32_t>& levels) const {
  bool changed = false;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (int s = 0; s < side_count; ++s) {
      for (const block_place& beside : neighbours(blocks_[i], static_cast<side>(s))) {
        std::int32_t& other = levels[number_of(beside)];
        if (other >= levels[i] - 1) continue;
        other = levels[i] - 1;
        changed = true;
      }
    }
  }
  return changed;
}

bool mesh::keep_incomplete_siblings(std::vector<std::int32_t>& levels) const {
  bool changed = false;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const block_place& own = blocks_[i];
    if (levels[i] >= own.level) continue;
    bool all = true;
    for (int q = 0; q < 4; ++q) {
      const block_place sibling = own.parent().child(q);
      all = all && has(sibling) && levels[number_of(sibling)] < own.level;
    }
    if (all) continue;
    levels[i] = own.level;
    changed = true;
  }
  return changed;
}

// The smallest levels that fulfil all wishes to be cut and the invariant, with coarser ones only for whole families.
// Levels only grow in the loop, so it ends.
std::vector<std::int32_t> mesh::wanted_levels(std::span<const std::int32_t> wishes) const {
  if (wishes.size() != blocks_.size())
    throw std::invalid_argument("amr: " + std::to_string(wishes.size()) + " wishes for " +
                                std::to_string(blocks_.size()) + " blocks");
  std::vector<std::int32_t> levels;
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    levels.push_back(std::clamp(blocks_[i].level + std::clamp(wishes[i], -1, 1), 0, most_levels_));
  bool changed = true;
  while (changed) {
    changed = keep_incomplete_siblings(levels);
    changed = raise_beside(levels) || changed;
  }
  return levels;
}

mesh mesh::adapted(std::span<const std::int32_t> wishes) const {
  const std::vector<std::int32_t> levels = wanted_levels(wishes);
  std::vector<block_place> made;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const block_place& own = blocks_[i];
    if (levels[i] > own.level)
      for (int q = 0; q < 4; ++q) made.push_back(own.child(q));
    else if (levels[i] == own.level)
      made.push_back(own);
    else if (own.quarter() == 0)
      made.push_back(own.parent());
  }
  return {roots_, most_levels_, std::move(made)};
}

}  // namespace amr
