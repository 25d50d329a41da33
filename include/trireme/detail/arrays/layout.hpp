// Where the elements of a global array are. An array is cut into tiles of equal extents; a tile lies contiguous, row by
// row, in the memory of one PE, behind the tiles that this PE has already. Tiles are dealt to the PEs
//   - in turn, in row-major order of the tiles (Farreras 2008, section 5.3, multidimensional blocking), or
//   - over a grid of PEs, each dimension for itself, as ScaLAPACK does (proposed in 5.3.6), or
//   - in two levels: tiles of hosts in turn to the hosts, and the tiles within one in turn to the PEs of its host.
// In dimensions that are no multiple of the tile the last tiles are padded; no position names the padding. Tiles may
// have ghost cells around them, in their memory (halo.hpp), which no position names either.
//
// The formulas 5.5, 5.6 and 5.8 of the thesis divide the number of a tile by its volume once more, and their pair of
// (node, local thread) is not one to one; here PE = L mod P, slot = L div P for tile number L, and hosts are runs of
// PEs.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "trireme/detail/arrays/divisor.hpp"
#include "trireme/detail/arrays/position.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Extents of a tile, as tri::tiles(64, 64) makes them.
template <int N>
struct tile_extents {
  position<N> at;
};
/// Extents of the tile of a host, in elements, as tri::host_tiles(512, 512) makes them.
template <int N>
struct host_tile_extents {
  position<N> at;
};
/// A grid of PEs, as tri::grid(2, 4) makes it: PE number = row-major position in the grid.
template <int N>
struct processor_grid {
  position<N> at;
};
/// Ghost cells around each tile, as tri::halo(1, 1) makes them: as many elements before the first and behind the last
/// along each dimension. One number: along all.
template <int N>
struct halo_widths {
  position<N> at;
};
/// Along which dimensions an array closes into a ring, as tri::periodic(true, false) makes it; no arguments: along all.
struct periodic_dimensions {
  std::uint32_t bits;  ///< bit d: along dimension d
  int count;           ///< dimensions that were named; 0: all
};
template <std::integral... I>
constexpr tile_extents<sizeof...(I)> tiles(I... extents) {
  return {position<sizeof...(I)>(extents...)};
}
template <std::integral... I>
constexpr host_tile_extents<sizeof...(I)> host_tiles(I... extents) {
  return {position<sizeof...(I)>(extents...)};
}
template <std::integral... I>
constexpr processor_grid<sizeof...(I)> grid(I... extents) {
  return {position<sizeof...(I)>(extents...)};
}
template <std::integral... I>
constexpr halo_widths<sizeof...(I)> halo(I... widths) {
  return {position<sizeof...(I)>(widths...)};
}
template <std::same_as<bool>... B>
constexpr periodic_dimensions periodic(B... along) {
  periodic_dimensions made{0, sizeof...(B)};
  int d = 0;
  ((made.bits |= (along ? 1U : 0U) << d++), ...);
  return made;
}

/// How an array is dealt to the PEs. Zeros: not given.
template <int N>
struct distribution {
  position<N> tile{};         ///< elements of a tile; zeros: one tile for each PE of the grid
  position<N> host_tile{};    ///< elements of a tile of a host, multiples of the tile
  position<N> grid{};         ///< PEs along each dimension
  position<N> halo{};         ///< ghost cells on each side of a tile
  std::int32_t first_pe = 0;  ///< which PE has the first tile
  std::uint32_t rings = 0;    ///< bit d: the array is periodic along dimension d
  /// What a layout has chosen because it was not given; a job with other PEs, restarted from a checkpoint, chooses
  /// anew.
  struct chosen_parts {
    bool tile = false;
    bool grid = false;
  } chosen{};

  constexpr distribution() = default;
  template <class... Options>
  constexpr explicit distribution(const Options&... options) {
    (set(options), ...);
  }
  friend constexpr bool operator==(const distribution& a, const distribution& b) {
    return a.tile == b.tile && a.host_tile == b.host_tile && a.grid == b.grid && a.halo == b.halo &&
           a.first_pe == b.first_pe && a.rings == b.rings;
  }
  /// As the program gave it.
  constexpr distribution given() const {
    distribution without = *this;
    if (chosen.tile) without.tile = {};
    if (chosen.grid) without.grid = {};
    without.chosen = {};
    return without;
  }

 private:
  constexpr void set(const tile_extents<N>& given) { tile = at_least_one(given.at, "tri::tiles"); }
  constexpr void set(const host_tile_extents<N>& given) { host_tile = at_least_one(given.at, "tri::host_tiles"); }
  constexpr void set(const processor_grid<N>& given) { grid = at_least_one(given.at, "tri::grid"); }
  // Zeros would count as not given; a program may have computed them.
  static constexpr const position<N>& at_least_one(const position<N>& given, const char* option) {
    if (given == position<N>())
      throw std::invalid_argument(std::string("global array: ") + option +
                                  " is given zeros; each number must be at least 1");
    return given;
  }
  template <int M>
    requires(M == N || M == 1)
  constexpr void set(const halo_widths<M>& given) {
    for (int d = 0; d < N; ++d) halo[d] = given.at[M == 1 ? 0 : d];
  }
  constexpr void set(const periodic_dimensions& given) {
    if (given.count != 0 && given.count != N)
      throw std::invalid_argument("global array: tri::periodic takes as many arguments as it has dimensions, or none");
    rings = given.count == 0 ? (1U << N) - 1 : given.bits;
  }
};

namespace arrays {

/// PEs that an array is dealt to. Hosts are runs of PEs, equally long where tiles are dealt to hosts.
struct machine_shape {
  std::int32_t pes = 1;
  std::int32_t hosts = 1;
};

/// Where an element is: on PE `pe`, `offset` elements behind the beginning of that PE's piece of the array.
struct place {
  std::int32_t pe;
  std::int64_t offset;
  friend constexpr bool operator==(const place&, const place&) = default;
};

/// The part of a region that lies in one tile.
template <int N>
struct tile_piece {
  std::int32_t pe;
  std::int64_t offset;         ///< of its first element in the piece of its PE
  std::int64_t region_offset;  ///< of its first element in a box of the region's extents
  position<N> extents;
};

/// The checks of a layout's construction, which throw std::invalid_argument with the value and what would be right.
void check_extents(const std::int64_t* extents, int dimensions, std::size_t bytes_of_element);
void check_tile(const std::int64_t* tile, int dimensions);
[[noreturn]] void report_missing_tile();
void check_grid(const std::int64_t* grid, int dimensions, std::int32_t pes);
void check_first_pe(std::int32_t first_pe, std::int32_t pes);
void check_host_tile(const std::int64_t* extents, const std::int64_t* tile, const std::int64_t* host_tile,
                     int dimensions, const machine_shape& machine);
/// `tiles`: how many there are along each dimension.
void check_halo(const std::int64_t* halo, const std::int64_t* extents, const std::int64_t* tile,
                const std::int64_t* tiles, int dimensions, std::size_t bytes_of_element);
/// A grid of at most this many PEs whose blocks of an array of these extents have the shortest edges.
void choose_grid(const std::int64_t* extents, int dimensions, std::int32_t pes, std::int64_t* grid);
[[noreturn]] void report_outside(const std::int64_t* at, const std::int64_t* extents, int dimensions);
[[noreturn]] void report_width(int width, const std::int64_t* halo, int dimensions);
[[noreturn]] void report_region(const std::int64_t* first, const std::int64_t* last, const std::int64_t* extents,
                                int dimensions);

/// A pure function of extents, distribution and machine, the same on every PE; no communication. Safe to read from any
/// thread.
template <int N>
class layout {
 public:
  layout() = default;
  layout(const position<N>& extents, const distribution<N>& wanted, const machine_shape& machine,
         std::size_t bytes_of_element)
      : extents_(extents), how_(wanted.given()), machine_(machine) {
    check_extents(extents.at.data(), N, bytes_of_element);
    check_first_pe(how_.first_pe, machine.pes);
    if (how_.host_tile == position<N>()) {
      if (how_.tile == position<N>()) divide_into_blocks();
      if (how_.grid != position<N>()) check_grid(how_.grid.at.data(), N, machine.pes);
    }
    if (how_.tile == position<N>()) report_missing_tile();
    check_tile(how_.tile.at.data(), N);
    for (int d = 0; d < N; ++d) {  // of a larger tile there is one, as large as the array
      const std::int64_t most = std::max<std::int64_t>(extents[d], 1);
      if (how_.tile[d] > most && how_.host_tile != position<N>()) how_.host_tile[d] = std::min(how_.host_tile[d], most);
      how_.tile[d] = std::min(how_.tile[d], most);
    }
    if (how_.host_tile != position<N>()) {
      check_host_tile(extents.at.data(), how_.tile.at.data(), how_.host_tile.at.data(), N, machine);
      if (how_.grid != position<N>()) check_grid(nullptr, N, machine.pes);  // throws: one of both
    }
    for (int d = 0; d < N; ++d) {
      tile_[index(d)] = divisor(how_.tile[d]);
      tiles_[d] = (extents[d] + how_.tile[d] - 1) / how_.tile[d];
    }
    check_halo(how_.halo.at.data(), extents.at.data(), how_.tile.at.data(), tiles_.at.data(), N, bytes_of_element);
    position<N> with_halo = how_.tile;
    for (int d = 0; d < N; ++d) with_halo[d] += 2 * how_.halo[d];
    volume_ = with_halo.volume();
    inner_strides_ = row_major_strides(with_halo);
    origin_ = dot(how_.halo, inner_strides_);
    lay_out_levels();
  }

  const position<N>& extents() const { return extents_; }
  const position<N>& tile() const { return how_.tile; }
  const position<N>& tiles() const { return tiles_; }
  const distribution<N>& how() const { return how_; }
  const machine_shape& machine() const { return machine_; }
  std::int64_t elements() const { return extents_.volume(); }
  /// Memory of a tile, in elements: with padding and ghost cells.
  std::int64_t elements_of_tile() const { return volume_; }
  /// Where the first element of a tile is in its memory; before it there are ghost cells.
  std::int64_t origin_in_tile() const { return origin_; }
  bool is_ring(int d) const { return (how_.rings >> d & 1U) != 0; }
  bool contains(const position<N>& where) const {
    for (int d = 0; d < N; ++d)
      if (static_cast<std::uint64_t>(where[d]) >= static_cast<std::uint64_t>(extents_[d])) return false;
    return true;
  }

  /// `where` must be inside.
  place place_of(const position<N>& where) const { return place_in_tile(where, tile_of(where)); }
  /// The coordinates of the tile of an element.
  position<N> tile_of(const position<N>& where) const {
    position<N> tile;
    for (int d = 0; d < N; ++d) tile[d] = tile_[index(d)].quotient(where[d]);
    return tile;
  }
  /// The same where the tile is known.
  place place_in_tile(const position<N>& where, const position<N>& tile) const {
    std::int64_t phase = origin_;
    for (int d = 0; d < N; ++d) phase += (where[d] - tile[d] * how_.tile[d]) * inner_strides_[d];
    const place slot = slot_of(tile);
    return {slot.pe, slot.offset * volume_ + phase};
  }
  std::int32_t owner_of_tile(const position<N>& tile) const { return slot_of(tile).pe; }
  /// The place of a tile's first element.
  place place_of_tile(const position<N>& tile) const {
    const place slot = slot_of(tile);
    return {slot.pe, slot.offset * volume_ + origin_};
  }
  position<N> tile_with(const position<N>& where) const {
    position<N> tile;
    for (int d = 0; d < N; ++d) tile[d] = tile_[index(d)].quotient(where[d]);
    return tile;
  }

  /// Memory of a PE's piece, in elements, padding and ghost cells included.
  std::int64_t elements_on(std::int32_t pe) const { return slots_of(pe) * volume_; }
  std::int64_t slots_of(std::int32_t pe) const {
    const std::int32_t participant = participant_of(pe);
    switch (level_) {
      case levels::in_turn: {
        const std::int64_t count = tiles_.volume();
        return count / machine_.pes + (participant < count % machine_.pes ? 1 : 0);
      }
      case levels::on_grid:
        return participant < how_.grid.volume() ? outer_.volume() : 0;
      case levels::hosts_then_pes: {
        const std::int64_t count = outer_.volume();
        const std::int32_t host = participant / pes_of_host();
        return (count / machine_.hosts + (host < count % machine_.hosts ? 1 : 0)) * slots_of_host_tile_;
      }
    }
    return 0;
  }

  /// The coordinates of the tile in a slot of a PE; nothing where the slot is padding.
  std::optional<position<N>> tile_in(std::int32_t pe, std::int64_t slot) const {
    const std::int32_t participant = participant_of(pe);
    if (slot < 0 || slot >= slots_of(pe)) return std::nullopt;
    position<N> tile;
    switch (level_) {
      case levels::in_turn:
        tile = position_of(slot * machine_.pes + participant, tiles_);
        break;
      case levels::on_grid: {
        const position<N> in_grid = position_of(participant, how_.grid);
        const position<N> round = position_of(slot, outer_);
        for (int d = 0; d < N; ++d) tile[d] = round[d] * how_.grid[d] + in_grid[d];
        break;
      }
      case levels::hosts_then_pes: {
        const std::int32_t host = participant / pes_of_host();
        const std::int64_t inner = slot % slots_of_host_tile_ * pes_of_host() + participant % pes_of_host();
        if (inner >= group_.volume()) return std::nullopt;
        const position<N> large = position_of(slot / slots_of_host_tile_ * machine_.hosts + host, outer_);
        const position<N> within = position_of(inner, group_);
        for (int d = 0; d < N; ++d) tile[d] = large[d] * group_[d] + within[d];
        break;
      }
    }
    for (int d = 0; d < N; ++d)
      if (tile[d] >= tiles_[d]) return std::nullopt;
    return tile;
  }
  /// The elements of a tile, without padding.
  region<N> elements_of(const position<N>& tile) const {
    region<N> box;
    for (int d = 0; d < N; ++d) {
      box.first[d] = tile[d] * how_.tile[d];
      box.last[d] = std::min(box.first[d] + how_.tile[d], extents_[d]);
    }
    return box;
  }
  /// The inverse of place_of; nothing: padding, a ghost cell, or outside of the PE's piece.
  std::optional<position<N>> element_at(const place& where) const {
    if (where.offset < 0) return std::nullopt;
    const auto tile = tile_in(where.pe, where.offset / volume_);
    if (!tile) return std::nullopt;
    position<N> element;
    std::int64_t rest = where.offset % volume_;
    for (int d = 0; d < N; ++d) {
      element[d] = rest / inner_strides_[d] - how_.halo[d];
      rest %= inner_strides_[d];
      if (element[d] < 0 || element[d] >= how_.tile[d]) return std::nullopt;
      element[d] += (*tile)[d] * how_.tile[d];
    }
    if (!contains(element)) return std::nullopt;
    return element;
  }

  /// Steps between neighbours in the memory of a tile.
  const position<N>& strides_in_tile() const { return inner_strides_; }

  /// Calls f(tile_piece) for the part of the region in each tile, tiles in row-major order. The region must be inside.
  template <class F>
  void for_each_piece(const region<N>& box, F&& f) const {
    if (box.volume() == 0) return;
    const position<N> strides = row_major_strides(box.extents());
    position<N> first;
    position<N> last;
    for (int d = 0; d < N; ++d) {
      first[d] = tile_[index(d)].quotient(box.first[d]);
      last[d] = tile_[index(d)].quotient(box.last[d] - 1);
    }
    position<N> tile = first;
    while (true) {
      tile_piece<N> piece{};
      const place slot = slot_of(tile);
      piece.pe = slot.pe;
      piece.offset = slot.offset * volume_ + origin_;
      for (int d = 0; d < N; ++d) {
        const std::int64_t begin = std::max(box.first[d], tile[d] * how_.tile[d]);
        const std::int64_t end = std::min(box.last[d], (tile[d] + 1) * how_.tile[d]);
        piece.extents[d] = end - begin;
        piece.offset += (begin - tile[d] * how_.tile[d]) * inner_strides_[d];
        piece.region_offset += (begin - box.first[d]) * strides[d];
      }
      f(piece);
      int d = N - 1;
      while (d >= 0 && ++tile[d] > last[d]) {
        tile[d] = first[d];
        --d;
      }
      if (d < 0) return;
    }
  }

  /// Calls f(region, owner) for at most 2^N parts of a tile's elements such that v + displacement of all elements v of
  /// a part lies in one tile, of PE `owner` (Farreras 2008, 5.3.7, locality analysis). Elements with v + displacement
  /// outside of the array are in no part.
  template <class F>
  void for_each_shifted_part(const position<N>& tile, const position<N>& displacement, F&& f) const {
    const region<N> own = elements_of(tile);
    region<N> inside;  // v with v + displacement in the array
    for (int d = 0; d < N; ++d) {
      inside.first[d] = std::max(own.first[d], -displacement[d]);
      inside.last[d] = std::max(inside.first[d], std::min(own.last[d], extents_[d] - displacement[d]));
    }
    if (inside.volume() == 0) return;
    for (unsigned part = 0; part < 1U << N; ++part) {  // bit d: behind the border that the displacement crosses
      region<N> box = inside;
      position<N> target;
      for (int d = 0; d < N; ++d) {
        target[d] = tile_[index(d)].quotient(inside.first[d] + displacement[d]) + (part >> d & 1U);
        box.first[d] = std::max(box.first[d], target[d] * how_.tile[d] - displacement[d]);
        box.last[d] = std::min(box.last[d], (target[d] + 1) * how_.tile[d] - displacement[d]);
      }
      if (box.volume() != 0) f(box, owner_of_tile(target));
    }
  }

 private:
  enum class levels : std::uint8_t { in_turn, on_grid, hosts_then_pes };
  static constexpr std::size_t index(int d) { return static_cast<std::size_t>(d); }
  std::int32_t pes_of_host() const { return machine_.pes / machine_.hosts; }
  std::int32_t participant_of(std::int32_t pe) const {
    const std::int32_t turned = pe - how_.first_pe;
    return turned < 0 ? turned + machine_.pes : turned;
  }
  std::int32_t pe_of(std::int64_t participant) const {
    const std::int64_t turned = participant + how_.first_pe;
    return static_cast<std::int32_t>(turned < machine_.pes ? turned : turned - machine_.pes);
  }

  void divide_into_blocks() {
    how_.chosen = {.tile = true, .grid = how_.grid == position<N>()};
    if (how_.chosen.grid) choose_grid(extents_.at.data(), N, machine_.pes, how_.grid.at.data());
    check_grid(how_.grid.at.data(), N, machine_.pes);
    for (int d = 0; d < N; ++d)
      how_.tile[d] = std::max<std::int64_t>((extents_[d] + how_.grid[d] - 1) / how_.grid[d], 1);
  }
  void lay_out_levels() {
    if (how_.host_tile != position<N>()) {
      level_ = levels::hosts_then_pes;
      for (int d = 0; d < N; ++d) {
        group_[d] = how_.host_tile[d] / how_.tile[d];
        outer_[d] = (tiles_[d] + group_[d] - 1) / group_[d];
      }
      slots_of_host_tile_ = (group_.volume() + pes_of_host() - 1) / pes_of_host();
      participants_ = divisor(machine_.hosts);
      within_ = divisor(pes_of_host());
    } else if (how_.grid != position<N>()) {
      level_ = levels::on_grid;
      group_ = how_.grid;
      for (int d = 0; d < N; ++d) outer_[d] = (tiles_[d] + group_[d] - 1) / group_[d];
    } else {
      level_ = levels::in_turn;
      outer_ = tiles_;
      participants_ = divisor(machine_.pes);
    }
    for (int d = 0; d < N; ++d) group_divisor_[index(d)] = divisor(std::max<std::int64_t>(group_[d], 1));
    outer_strides_ = row_major_strides(outer_);
    group_strides_ = row_major_strides(group_);
  }

  // PE, and which of its tiles.
  place slot_of(const position<N>& tile) const {
    if (level_ == levels::in_turn) {
      const std::int64_t number = dot(tile, outer_strides_);
      const std::int64_t round = participants_.quotient(number);
      return {pe_of(number - round * machine_.pes), round};
    }
    std::int64_t outer = 0;
    std::int64_t inner = 0;
    for (int d = 0; d < N; ++d) {
      const std::int64_t round = group_divisor_[index(d)].quotient(tile[d]);
      outer += round * outer_strides_[d];
      inner += (tile[d] - round * group_[d]) * group_strides_[d];
    }
    if (level_ == levels::on_grid) return {pe_of(inner), outer};
    const std::int64_t round_of_hosts = participants_.quotient(outer);
    const std::int64_t round_of_pes = within_.quotient(inner);
    const std::int64_t host = outer - round_of_hosts * machine_.hosts;
    return {pe_of(host * pes_of_host() + inner - round_of_pes * pes_of_host()),
            round_of_hosts * slots_of_host_tile_ + round_of_pes};
  }

  position<N> extents_{};
  distribution<N> how_{};
  machine_shape machine_{};
  position<N> tiles_{};  // along each dimension
  position<N> inner_strides_{};
  std::int64_t volume_ = 0;
  std::int64_t origin_ = 0;
  std::array<divisor, N> tile_{};
  levels level_ = levels::in_turn;
  position<N> outer_{};  // rounds of the grid, or tiles of hosts, along each dimension
  position<N> outer_strides_{};
  position<N> group_{};  // the grid, or the tiles in a tile of a host
  position<N> group_strides_{};
  std::array<divisor, N> group_divisor_{};
  divisor participants_{};  // PEs, or hosts
  divisor within_{};        // PEs of a host
  std::int64_t slots_of_host_tile_ = 0;
};

}  // namespace arrays
}  // namespace tri

#pragma GCC visibility pop
