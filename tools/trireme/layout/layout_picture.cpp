#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "layout/layout_report.hpp"

namespace tri::tools {
namespace {

constexpr double longest_side = 480;
constexpr double height_of_row = 40;  // of arrays of one dimension
constexpr double margin = 20;
constexpr double top = 46;
constexpr double legend_width = 130;
constexpr double legend_row = 20;
constexpr std::int32_t most_in_legend = 32;

// SVG has colours by hue only in newer viewers. Hue in degrees, saturation and lightness in parts of 1.
std::string rgb_of(double hue, double saturation, double lightness) {
  const double reach = saturation * std::min(lightness, 1 - lightness);
  const auto channel = [&](double shift) {
    const double k = std::fmod(shift + hue / 30, 12);
    return static_cast<int>(std::lround(255 * (lightness - reach * std::clamp(std::min(k - 3, 9 - k), -1.0, 1.0))));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(8), channel(4));
}

// Hosts are as far apart in hue as possible, by golden angles; the PEs of a host differ in lightness.
std::string colour_of(const layout_report& report, std::int32_t pe) {
  const std::int32_t on_host = report.asked.pes / report.asked.hosts;
  const double hue = std::fmod(210 + host_of(report, pe) * 137.508, 360);
  return rgb_of(hue, 0.55, on_host == 1 ? 0.65 : 0.5 + 0.35 * (pe % on_host) / (on_host - 1));
}

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}

std::string legend(const layout_report& report, double x) {
  std::string svg;
  const std::int32_t shown = std::min(report.asked.pes, most_in_legend);
  for (std::int32_t pe = 0; pe < shown; ++pe) {
    const double y = top + pe * legend_row;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"14\" fill=\"{}\"/>\n", x, y,
                       colour_of(report, pe));
    svg += text(x + 20, y + 12, "start", fmt::format("host {} PE {}", host_of(report, pe), pe));
  }
  if (shown < report.asked.pes)
    svg += text(x, top + shown * legend_row + 12, "start", fmt::format("and {} more", report.asked.pes - shown));
  return svg;
}

}  // namespace

std::string to_svg(const layout_report& report) {
  const std::size_t dimensions = report.asked.extents.size();
  if (dimensions > 2)
    throw std::invalid_argument(fmt::format("--svg draws 1 or 2 dimensions, and the array has {}", dimensions));
  if (report.placed.size() > static_cast<std::size_t>(most_drawn_tiles))
    throw std::invalid_argument(fmt::format("--svg: a picture has room for {} tiles, and these are {}",
                                            most_drawn_tiles, report.placed.size()));
  const auto columns = static_cast<double>(std::max<std::int64_t>(report.asked.extents.back(), 1));
  const double rows = dimensions == 1 ? 1 : static_cast<double>(std::max<std::int64_t>(report.asked.extents[0], 1));
  const double scale = longest_side / std::max(columns, rows);
  const double width = columns * scale;
  const double row_scale = dimensions == 1 ? height_of_row : scale;
  const double height = rows * row_scale;
  const double legend_height = std::min(report.asked.pes, most_in_legend + 1) * legend_row;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
      margin + width + margin + legend_width, top + std::max(height, legend_height) + margin);
  svg += text(margin, 24, "start", title_of(report));
  for (const placed_tile& each : report.placed) {
    const double y = dimensions == 1 ? 0 : static_cast<double>(each.first[0]) * row_scale;
    const double tall = dimensions == 1 ? height : static_cast<double>(each.last[0] - each.first[0]) * row_scale;
    const double x = static_cast<double>(each.first.back()) * scale;
    const double wide = static_cast<double>(each.last.back() - each.first.back()) * scale;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"white\"/>\n",
        margin + x, top + y, wide, tall, colour_of(report, each.pe));
    if (wide >= 22 && tall >= 16)
      svg += text(margin + x + wide / 2, top + y + tall / 2 + 4, "middle", fmt::format("{}", each.pe));
  }
  return svg + legend(report, margin + width + margin) + "</svg>\n";
}

}  // namespace tri::tools
