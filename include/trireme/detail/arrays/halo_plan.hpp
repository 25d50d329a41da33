// Which elements go into which ghost cells: a pure function of a layout, so that both ends of an exchange know without
// a message what is sent, and in which order. Farreras 2008, 5.3, has no ghost cells; Global Arrays (GA_Update_ghosts)
// and PETSc (DMDA) have.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/detail/arrays/layout.hpp"
#include "trireme/detail/arrays/position.hpp"

#pragma GCC visibility push(default)

namespace tri::arrays {

/// A box of ghost cells of one tile that shows elements of one tile.
template <int N>
struct ghost_box {
  position<N> first;    ///< the element in its first cell
  position<N> extents;  ///< of the box
  std::int32_t owner;   ///< the PE that has the elements
  std::int64_t offset;  ///< of the first element in the piece of its owner
  std::int64_t cell;    ///< of the first ghost cell, in the piece of the PE that has the ghost cells
};

/// A part of a tile with its halo along one dimension: `shift` leads from a ghost cell's position to its element's.
struct halo_segment {
  std::int64_t first;
  std::int64_t last;
  std::int64_t shift;
  bool is_ghost;
};
/// Of the elements first..last along a dimension. A halo is at most as wide as the array, so a ring is closed once.
inline std::vector<halo_segment> halo_segments(std::int64_t first, std::int64_t last, std::int64_t width,
                                               std::int64_t extent, bool is_ring) {
  std::vector<halo_segment> all;
  const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t shift, bool is_ghost) {
    if (from < to) all.push_back({from, to, shift, is_ghost});
  };
  if (is_ring) add(first - width, std::min<std::int64_t>(first, 0), extent, true);
  add(std::max<std::int64_t>(first - width, 0), first, 0, true);
  add(first, last, 0, false);
  add(last, std::min(last + width, extent), 0, true);
  if (is_ring) add(std::max(last, extent), last + width, -extent, true);
  return all;
}

/// Calls f(ghost_box) for all ghost cells of a tile that show elements, in an order that depends on the layout alone.
template <int N, class F>
void for_each_ghost_box(const layout<N>& where, const position<N>& tile, const position<N>& widths, F&& f) {
  const region<N> own = where.elements_of(tile);
  std::array<std::vector<halo_segment>, N> segments;
  position<N> counts;
  for (int d = 0; d < N; ++d) {
    auto& along = segments[static_cast<std::size_t>(d)];
    along = halo_segments(own.first[d], own.last[d], widths[d], where.extents()[d], where.is_ring(d));
    counts[d] = std::ssize(along);
  }
  if (counts.volume() == 0) return;
  const std::int64_t first_of_tile = where.place_of_tile(tile).offset;
  position<N> at;
  do {
    region<N> elements;
    position<N> before;  // from the tile's first element to the first cell
    bool is_ghost = false;
    for (int d = 0; d < N; ++d) {
      const halo_segment& one = segments[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[d])];
      elements.first[d] = one.first + one.shift;
      elements.last[d] = one.last + one.shift;
      before[d] = one.first - own.first[d];
      is_ghost = is_ghost || one.is_ghost;
    }
    if (!is_ghost) continue;
    const std::int64_t first_cell = first_of_tile + dot(before, where.strides_in_tile());
    where.for_each_piece(elements, [&](const tile_piece<N>& piece) {
      const position<N> in_box = position_of(piece.region_offset, elements.extents());
      ghost_box<N> box{elements.first, piece.extents, piece.pe, piece.offset,
                       first_cell + dot(in_box, where.strides_in_tile())};
      for (int d = 0; d < N; ++d) box.first[d] += in_box[d];
      f(box);
    });
  } while (next_position(at, counts, N));
}

/// A box of elements, or of ghost cells, in the pieces of two PEs.
template <int N>
struct halo_part {
  std::int64_t offset;  ///< in the piece of this PE: of elements to send, or of ghost cells
  std::int64_t there;   ///< in the piece of the neighbour
  position<N> extents;
};

/// What one PE exchanges with its neighbours. Both ends list the parts of a message in the same order: by tile of the
/// ghost cells, and in it as for_each_ghost_box goes.
template <int N>
struct halo_plan {
  using part = halo_part<N>;
  struct neighbour {
    std::int32_t pe;
    std::vector<part> sent;
    std::vector<part> received;
    std::int64_t elements_sent = 0;
    std::int64_t elements_received = 0;
  };
  position<N> widths;
  std::vector<neighbour> neighbours;
  std::vector<part> own;  ///< between tiles of this PE: `offset` of ghost cells, `there` of elements

  halo_plan(const layout<N>& where, std::int32_t pe, const position<N>& wide) : widths(wide) {
    for (const position<N>& tile : tiles_around(where, pe)) {
      const std::int32_t owner = where.owner_of_tile(tile);
      for_each_ghost_box(where, tile, widths, [&](const ghost_box<N>& box) {
        if (owner == pe && box.owner == pe)
          own.push_back({box.cell, box.offset, box.extents});
        else if (owner == pe)
          receive(box);
        else if (box.owner == pe)
          send(box, owner);
      });
    }
  }

 private:
  /// Its own tiles, and those whose ghost cells may show elements of them: that is mutual. In row-major order.
  std::vector<position<N>> tiles_around(const layout<N>& where, std::int32_t pe) const {
    std::vector<position<N>> tiles;
    for (std::int64_t slot = 0; slot < where.slots_of(pe); ++slot) {
      const auto tile = where.tile_in(pe, slot);
      if (!tile) continue;
      tiles.push_back(*tile);
      for_each_ghost_box(where, *tile, widths,
                         [&](const ghost_box<N>& box) { tiles.push_back(where.tile_with(box.first)); });
    }
    std::ranges::sort(tiles);
    const auto repeated = std::ranges::unique(tiles);
    tiles.erase(repeated.begin(), repeated.end());
    return tiles;
  }
  neighbour& with(std::int32_t pe) {
    const auto found = std::ranges::find(neighbours, pe, &neighbour::pe);
    if (found != neighbours.end()) return *found;
    neighbours.push_back({pe, {}, {}});
    return neighbours.back();
  }
  void receive(const ghost_box<N>& box) {
    neighbour& from = with(box.owner);
    from.received.push_back({box.cell, box.offset, box.extents});
    from.elements_received += box.extents.volume();
  }
  void send(const ghost_box<N>& box, std::int32_t to_pe) {
    neighbour& to = with(to_pe);
    to.sent.push_back({box.offset, box.cell, box.extents});
    to.elements_sent += box.extents.volume();
  }
};

}  // namespace tri::arrays

#pragma GCC visibility pop
