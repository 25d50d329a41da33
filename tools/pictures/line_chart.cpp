// See line_chart.hpp.
#include "pictures/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tri::pictures {
namespace {

constexpr double width = 860;
constexpr double height = 480;
constexpr double left = 70;
constexpr double right = width - 190;  // names of levels are to the right
constexpr double top = 50;
constexpr double bottom = height - 55;
constexpr double name_height = 15;
// Distinguishable with colour blindness (Okabe and Ito).
constexpr std::array<const char*, 6> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '<')
      safe += "&lt;";
    else if (letter == '>')
      safe += "&gt;";
    else if (letter == '&')
      safe += "&amp;";
    else
      safe += letter;
  }
  return safe;
}

struct limits {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

limits y_limits(const line_chart& chart) {
  limits found;
  for (const auto& curve : chart.curves) {
    for (const auto& point : curve.points) {
      found.include(point.low);
      found.include(point.high);
    }
  }
  for (const auto& level : chart.levels) found.include(level.y);
  if (!(found.low <= found.high)) return {0.0, 1.0};
  const double margin = std::max(0.05 * (found.high - found.low), 0.005 * found.high);
  return {std::max(0.0, found.low - margin), found.high + margin};
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& text,
                    const std::string& more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y, anchor, more,
                     escaped(text));
}
std::string line_between(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int count) {
  if (!(high > low) || count < 1) return {low};
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double nice : {1.0, 2.0, 5.0}) {
    if (nice * power >= rough) {
      step = nice * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (double at = std::ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) {
    ticks.push_back(at + 0.0);  // -0 becomes 0
  }
  return ticks;
}

std::string to_svg(const line_chart& chart) {
  const limits y_range = y_limits(chart);
  const auto x_at = [](double x) { return left + x * (right - left); };
  const auto y_at = [&](double y) {
    return bottom - (y - y_range.low) / (y_range.high - y_range.low) * (bottom - top);
  };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      width, height);
  const double letters = std::max(1.0, static_cast<double>(chart.title.size()));
  const double title_size = std::min(15.0, (width - left) / (0.62 * letters));  // a bold letter is about so wide
  svg += text_at(left, 26, "start", chart.title, fmt::format("font-size=\"{:.1f}\" font-weight=\"bold\"", title_size));
  for (const double tick : axis_ticks(0.0, 1.0, 10)) {
    svg += line_between(x_at(tick), top, x_at(tick), bottom, "stroke=\"#eeeeee\"");
    svg += text_at(x_at(tick), bottom + 18, "middle", fmt::format("{:.1f}", tick));
  }
  for (const double tick : axis_ticks(y_range.low, y_range.high, 7)) {
    svg += line_between(left, y_at(tick), right, y_at(tick), "stroke=\"#eeeeee\"");
    svg += text_at(left - 8, y_at(tick) + 4, "end", fmt::format("{:.6g}", tick));
  }
  svg += line_between(left, bottom, right, bottom, "stroke=\"black\"");
  svg += line_between(left, top, left, bottom, "stroke=\"black\"");
  svg += text_at((left + right) / 2, height - 14, "middle", chart.x_label);
  svg += text_at(18, (top + bottom) / 2, "middle", chart.y_label + (y_range.low > 0.0 ? "; axis not from 0" : ""),
                 fmt::format("transform=\"rotate(-90 18 {:.1f})\"", (top + bottom) / 2));

  // Names from the top down, moved apart where they would overlap.
  auto levels = chart.levels;
  std::sort(levels.begin(), levels.end(), [](const auto& a, const auto& b) { return a.y > b.y; });
  std::vector<double> name_y;
  for (const auto& level : levels) {
    name_y.push_back(std::max(y_at(level.y), name_y.empty() ? top : name_y.back() + name_height));
  }
  for (std::size_t number = name_y.size(); number-- > 0;) {
    const double limit = number + 1 == name_y.size() ? bottom : name_y[number + 1] - name_height;
    name_y[number] = std::min(name_y[number], limit);
  }
  for (std::size_t number = 0; number < levels.size(); ++number) {
    const double y = y_at(levels[number].y);
    svg += line_between(left, y, right, y, "stroke=\"#888888\" stroke-dasharray=\"5 4\"");
    svg += line_between(right, y, right + 14, name_y[number], "stroke=\"#bbbbbb\"");
    svg += text_at(right + 18, name_y[number] + 4, "start",
                   fmt::format("{} {:.4g}", levels[number].name, levels[number].y), "fill=\"#444444\"");
  }
  double legend_x = left + 10;
  for (std::size_t number = 0; number < chart.curves.size(); ++number) {
    const auto& curve = chart.curves[number];
    const std::string colour = colours[number % colours.size()];
    std::string path;
    for (const auto& point : curve.points) {
      path += fmt::format("{:.1f},{:.1f} ", x_at(point.x), y_at(point.y));
      svg += line_between(x_at(point.x), y_at(point.low), x_at(point.x), y_at(point.high),
                          fmt::format("stroke=\"{}\" stroke-opacity=\"0.35\" stroke-width=\"3\"", colour));
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x_at(point.x), y_at(point.y),
                         colour);
    }
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path, colour);
    svg += line_between(legend_x, top - 10, legend_x + 22, top - 10,
                        fmt::format("stroke=\"{}\" stroke-width=\"2\"", colour));
    svg += text_at(legend_x + 28, top - 6, "start", curve.name);
    legend_x += 50 + 8 * static_cast<double>(curve.name.size());
  }
  return svg + "</svg>\n";
}

}  // namespace tri::pictures
