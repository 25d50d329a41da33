// The distribution of a global array over PEs and hosts: which PE has which tile, how evenly, and what the halos of
// its tiles cost. As a table, as JSON, as a picture. Pure functions; nothing runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tri::tools {

/// An array as the command line describes it. Empty lists: not given.
struct array_description {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> tile;
  std::vector<std::int64_t> host_tile;
  std::vector<std::int64_t> grid;
  std::int32_t pes = 1;
  std::int32_t hosts = 1;
  std::size_t bytes_of_element = 8;
  std::vector<std::int64_t> halo;  ///< ghost cells around each tile; one number: along all dimensions
  bool periodic = false;           ///< along all dimensions
};

struct placed_tile {
  std::int32_t pe = 0;
  std::vector<std::int64_t> first, last;  ///< the last is not included
};

/// Of one PE.
struct share_of_pe {
  std::int64_t tiles = 0;
  std::int64_t elements = 0;             ///< without padding
  std::int64_t memory = 0;               ///< in elements, with padding and ghost cells
  std::int64_t halo_elements = 0;        ///< that other PEs have
  std::int64_t halo_of_other_hosts = 0;  ///< of these
  std::int64_t sources = 0;              ///< PEs that have some
  std::int64_t sources_on_other_hosts = 0;
};

struct layout_report {
  array_description asked;
  std::vector<std::int64_t> tile;   ///< as used
  std::vector<std::int64_t> tiles;  ///< along each dimension
  std::vector<std::int64_t> grid;   ///< empty: tiles are dealt in turn
  std::vector<std::int64_t> halo;   ///< as used; empty: none
  std::vector<placed_tile> placed;  ///< in row-major order
  std::vector<share_of_pe> shares;  ///< by PE
};

/// More are not looked at.
inline constexpr std::int64_t most_tiles = 1'000'000;
/// More do not fit a picture.
inline constexpr std::int64_t most_drawn_tiles = 10'000;

/// Throws std::invalid_argument, with the value and what would be right.
layout_report report_of(const array_description& asked);

/// PEs of a host are in a run.
std::int32_t host_of(const layout_report& report, std::int32_t pe);

/// "100 x 200 elements of 8 bytes in tiles of 10 x 20".
std::string title_of(const layout_report& report);

std::string table_of(const layout_report& report);
nlohmann::json to_json(const layout_report& report);
/// Of one or two dimensions; each host has a hue, each of its PEs a shade. Throws std::invalid_argument for others.
std::string to_svg(const layout_report& report);

}  // namespace tri::tools
