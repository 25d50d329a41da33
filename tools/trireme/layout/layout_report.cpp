#include "layout/layout_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "trireme/detail/arrays/halo_plan.hpp"
#include "trireme/detail/arrays/layout.hpp"

namespace tri::tools {
namespace {

// An array of this many elements along each dimension is written as numbers of PEs.
constexpr std::int64_t most_written = 40;

template <int N>
position<N> position_from(const std::vector<std::int64_t>& values, const char* option) {
  if (values.empty()) return {};
  if (values.size() != static_cast<std::size_t>(N))
    throw std::invalid_argument(
        fmt::format("{} has {} numbers, and --extents has {}; they must agree", option, values.size(), N));
  position<N> made;
  std::copy(values.begin(), values.end(), made.at.begin());
  return made;
}

template <int N>
std::vector<std::int64_t> list_of(const position<N>& at) {
  return {at.at.begin(), at.at.end()};
}

// What the ghost cells of a tile show of other PEs.
template <int N>
void add_halo(layout_report& report, const arrays::layout<N>& where, const position<N>& tile, std::int32_t owner,
              std::unordered_set<std::int64_t>& pairs) {
  share_of_pe& share = report.shares[static_cast<std::size_t>(owner)];
  arrays::for_each_ghost_box(where, tile, where.how().halo, [&](const arrays::ghost_box<N>& box) {
    if (box.owner == owner) return;
    const bool is_new = pairs.insert(std::int64_t{owner} * report.asked.pes + box.owner).second;
    const bool is_far = host_of(report, box.owner) != host_of(report, owner);
    share.halo_elements += box.extents.volume();
    if (is_new) ++share.sources;
    if (!is_far) return;
    share.halo_of_other_hosts += box.extents.volume();
    if (is_new) ++share.sources_on_other_hosts;
  });
}

template <int N>
layout_report report_of_dimensions(const array_description& asked) {
  distribution<N> how;
  how.tile = position_from<N>(asked.tile, "--tiles");
  how.host_tile = position_from<N>(asked.host_tile, "--host-tiles");
  how.grid = position_from<N>(asked.grid, "--grid");
  how.halo = asked.halo.size() == 1 ? position<N>::all(asked.halo[0]) : position_from<N>(asked.halo, "--halo");
  if (asked.periodic) how.rings = (1U << N) - 1;
  const arrays::layout<N> where(position_from<N>(asked.extents, "--extents"), how, {asked.pes, asked.hosts},
                                asked.bytes_of_element);
  if (where.tiles().volume() > most_tiles)
    throw std::invalid_argument(
        fmt::format("the array has {} tiles; up to {} are looked at", where.tiles().volume(), most_tiles));
  layout_report report{.asked = asked,
                       .tile = list_of(where.tile()),
                       .tiles = list_of(where.tiles()),
                       .grid = {},
                       .halo = {},
                       .placed = {},
                       .shares = std::vector<share_of_pe>(static_cast<std::size_t>(asked.pes))};
  if (where.how().grid != position<N>()) report.grid = list_of(where.how().grid);
  if (where.how().halo != position<N>()) report.halo = list_of(where.how().halo);
  for (std::int32_t pe = 0; pe < asked.pes; ++pe)
    report.shares[static_cast<std::size_t>(pe)].memory = where.elements_on(pe);
  std::unordered_set<std::int64_t> pairs;
  if (where.tiles().volume() == 0) return report;
  position<N> tile;
  do {
    const region<N> own = where.elements_of(tile);
    const std::int32_t owner = where.owner_of_tile(tile);
    share_of_pe& share = report.shares[static_cast<std::size_t>(owner)];
    ++share.tiles;
    share.elements += own.volume();
    report.placed.push_back({owner, list_of(own.first), list_of(own.last)});
    if (!report.halo.empty()) add_halo(report, where, tile, owner, pairs);
  } while (arrays::next_position(tile, where.tiles(), N));
  return report;
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string times(const std::vector<std::int64_t>& values) { return fmt::format("{}", fmt::join(values, " x ")); }

// Numbers of PEs in place of the elements; the last dimension goes to the right.
std::string written(const layout_report& report) {
  const std::size_t dimensions = report.asked.extents.size();
  if (dimensions > 2 || *std::max_element(report.asked.extents.begin(), report.asked.extents.end()) > most_written)
    return {};
  const auto columns = static_cast<std::size_t>(report.asked.extents.back());
  const std::size_t rows = dimensions == 1 ? 1 : static_cast<std::size_t>(report.asked.extents[0]);
  const std::size_t width = fmt::format("{}", report.asked.pes - 1).size();
  std::vector<std::int32_t> owners(rows * columns);
  for (const placed_tile& each : report.placed)
    for (auto row = dimensions == 1 ? 0 : each.first[0]; row < (dimensions == 1 ? 1 : each.last[0]); ++row)
      for (auto column = each.first.back(); column < each.last.back(); ++column)
        owners[static_cast<std::size_t>(row) * columns + static_cast<std::size_t>(column)] = each.pe;
  std::string text = "\nThe PE of each element\n";
  for (std::size_t row = 0; row < rows; ++row) {
    text += ' ';
    for (std::size_t column = 0; column < columns; ++column)
      text += fmt::format(" {:>{}}", owners[row * columns + column], width);
    text += '\n';
  }
  return text;
}

struct extremes {
  std::int64_t least = 0, most = 0, sum = 0;
};
extremes of_all(const layout_report& report, std::int64_t share_of_pe::*value) {
  extremes found{report.shares[0].*value, 0, 0};
  for (const share_of_pe& each : report.shares) {
    found.least = std::min(found.least, each.*value);
    found.most = std::max(found.most, each.*value);
    found.sum += each.*value;
  }
  return found;
}

}  // namespace

layout_report report_of(const array_description& asked) {
  if (asked.pes % asked.hosts != 0)
    throw std::invalid_argument(
        fmt::format("--pes is {}, no multiple of --hosts, which is {}", asked.pes, asked.hosts));
  switch (asked.extents.size()) {
    case 1:
      return report_of_dimensions<1>(asked);
    case 2:
      return report_of_dimensions<2>(asked);
    case 3:
      return report_of_dimensions<3>(asked);
    case 4:
      return report_of_dimensions<4>(asked);
    case 5:
      return report_of_dimensions<5>(asked);
    case 6:
      return report_of_dimensions<6>(asked);
    default:
      throw std::invalid_argument(
          fmt::format("--extents has {} numbers; global arrays have 1 to 6 dimensions", asked.extents.size()));
  }
}

std::int32_t host_of(const layout_report& report, std::int32_t pe) {
  return pe / (report.asked.pes / report.asked.hosts);
}

std::string title_of(const layout_report& report) {
  return fmt::format("{} elements of {} bytes in tiles of {}", times(report.asked.extents),
                     report.asked.bytes_of_element, times(report.tile));
}

std::string table_of(const layout_report& report) {
  const array_description& asked = report.asked;
  const auto bytes = static_cast<double>(asked.bytes_of_element);
  std::string text = fmt::format(
      "{}\n{} PEs on {} host{}; tiles {}\n\n", title_of(report), asked.pes, asked.hosts, asked.hosts == 1 ? "" : "s",
      !asked.host_tile.empty() ? fmt::format("in two levels, hosts by {}", times(asked.host_tile))
      : report.grid.empty()    ? "in turn"
                               : "over a grid of " + times(report.grid) + " PEs");
  const auto fact = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<28} {}\n", name, value);
  };
  const auto range = [](const extremes& found) {
    return found.least == found.most ? fmt::format("{}", found.least)
                                     : fmt::format("{} to {}", found.least, found.most);
  };
  const extremes elements = of_all(report, &share_of_pe::elements), memory = of_all(report, &share_of_pe::memory);
  fact("tiles", fmt::format("{}, {} on a PE", times(report.tiles), range(of_all(report, &share_of_pe::tiles))));
  fact("elements on a PE", range(elements));
  if (elements.sum > 0)
    fact("largest share", fmt::format("{:.2f} of the mean", static_cast<double>(elements.most) * asked.pes /
                                                                static_cast<double>(elements.sum)));
  fact("memory on a PE",
       fmt::format("up to {}, {} in all, {:.1f} % {}", bytes_text(static_cast<double>(memory.most) * bytes),
                   bytes_text(static_cast<double>(memory.sum) * bytes),
                   memory.sum == 0
                       ? 0.0
                       : 100.0 * static_cast<double>(memory.sum - elements.sum) / static_cast<double>(memory.sum),
                   report.halo.empty() ? "padding" : "padding and ghost cells"));
  if (!report.halo.empty()) {
    const extremes far = of_all(report, &share_of_pe::halo_of_other_hosts);
    text += fmt::format("\nGhost cells: {} on each side of a tile{}\n", times(report.halo),
                        asked.periodic ? ", of a periodic array" : "");
    fact("of other PEs, for a PE",
         fmt::format("{} elements, from {} PEs", range(of_all(report, &share_of_pe::halo_elements)),
                     range(of_all(report, &share_of_pe::sources))));
    fact("of other hosts, for a PE", fmt::format("{} elements, from {} PEs", range(far),
                                                 range(of_all(report, &share_of_pe::sources_on_other_hosts))));
    fact("between hosts, in all", bytes_text(static_cast<double>(far.sum) * bytes));
  }
  return text + written(report);
}

nlohmann::json to_json(const layout_report& report) {
  using nlohmann::json;
  json pes = json::array(), tiles = json::array();
  for (std::size_t pe = 0; pe < report.shares.size(); ++pe) {
    const share_of_pe& each = report.shares[pe];
    pes.push_back({{"pe", pe},
                   {"host", host_of(report, static_cast<std::int32_t>(pe))},
                   {"tiles", each.tiles},
                   {"elements", each.elements},
                   {"elements_in_memory", each.memory},
                   {"halo_elements_of_other_pes", each.halo_elements},
                   {"halo_elements_of_other_hosts", each.halo_of_other_hosts},
                   {"halo_source_pes", each.sources},
                   {"halo_source_pes_on_other_hosts", each.sources_on_other_hosts}});
  }
  for (const placed_tile& each : report.placed)
    tiles.push_back({{"pe", each.pe}, {"first", each.first}, {"last", each.last}});
  return {{"extents", report.asked.extents},
          {"bytes_of_element", report.asked.bytes_of_element},
          {"hosts", report.asked.hosts},
          {"tile", report.tile},
          {"host_tile", report.asked.host_tile},
          {"grid", report.grid},
          {"halo", report.halo},
          {"periodic", report.asked.periodic},
          {"pes", pes},
          {"tiles", tiles}};
}

}  // namespace tri::tools
