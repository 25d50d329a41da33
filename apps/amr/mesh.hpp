// A quadtree of square blocks over the unit square, whose opposite edges are joined: which blocks there are, who is
// beside whom, and how the mesh changes. Plain data; every PE has the whole of it.
//
// Invariant (2:1): blocks that share a part of an edge differ by at most one level.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace amr {

/// A block: at `level` there are roots * 2^level of them along each edge of the square. Row y counts upwards.
struct block_place {
  std::int32_t level = 0;
  std::int32_t y = 0;
  std::int32_t x = 0;
  friend auto operator<=>(const block_place&, const block_place&) = default;

  block_place parent() const { return {level - 1, y / 2, x / 2}; }
  /// Which of its parent's children it is: 0 to 3, with x first.
  int quarter() const { return y % 2 * 2 + x % 2; }
  block_place child(int which) const { return {level + 1, 2 * y + which / 2, 2 * x + which % 2}; }
};

enum class side : std::int32_t { left, right, below, above };
inline constexpr int side_count = 4;
constexpr side opposite(side of) { return static_cast<side>(static_cast<std::int32_t>(of) ^ 1); }

class mesh {
 public:
  mesh() = default;
  /// All blocks of level 0.
  mesh(std::int32_t roots, std::int32_t most_levels);
  /// Of blocks in any order. Throws std::invalid_argument unless they cover the square once and keep the invariant.
  mesh(std::int32_t roots, std::int32_t most_levels, std::vector<block_place> blocks);

  std::int32_t roots() const { return roots_; }
  std::int32_t most_levels() const { return most_levels_; }
  /// In the order of a space-filling curve.
  const std::vector<block_place>& blocks() const { return blocks_; }
  bool has(const block_place& place) const;
  /// The place of one of the blocks in blocks().
  std::size_t number_of(const block_place& place) const;
  /// The one or two blocks beside a block; of two the one with the smaller coordinate first.
  std::vector<block_place> neighbours(const block_place& of, side where) const;

  /// The mesh that comes next: `wishes` has for each block 1 to be cut into four, -1 to become one with its siblings, 0
  /// to stay. A block is cut, too, where the invariant needs that; four siblings become one when all wish it and the
  /// invariant permits.
  mesh adapted(std::span<const std::int32_t> wishes) const;

  friend bool operator==(const mesh&, const mesh&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(roots_, most_levels_, blocks_, positions_);
  }

 private:
  /// Where the curve enters the block.
  std::uint64_t position_on_curve(const block_place& of) const;
  std::vector<std::int32_t> wanted_levels(std::span<const std::int32_t> wishes) const;
  bool raise_beside(std::vector<std::int32_t>& levels) const;
  bool keep_incomplete_siblings(std::vector<std::int32_t>& levels) const;
  void sort();

  std::int32_t roots_ = 1;
  std::int32_t most_levels_ = 0;
  std::vector<block_place> blocks_;
  std::vector<std::uint64_t> positions_;  ///< of the blocks on the curve
};

}  // namespace amr
