#include <fmt/format.h>

#include <algorithm>

#include "duration.hpp"
#include "repeat/spread.hpp"
#include "sweep/sweep_report.hpp"

namespace tri::tools {
namespace {

constexpr double left = 90;
constexpr double top = 60;
constexpr double chart_height = 170;
constexpr double gap = 70;
constexpr double bar_step = 84;
constexpr double bar_width = 52;

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}

// Names of programs come from the user.
std::string escaped(const std::string& words) {
  std::string safe;
  for (const char letter : words)
    safe += letter == '<' ? "&lt;" : letter == '>' ? "&gt;" : letter == '&' ? "&amp;" : std::string(1, letter);
  return safe;
}

struct bar {
  double height = 0;
  double low = 0;
  double high = 0;  // of the line through its top; equal to low: no line
  std::string words;
};

std::string chart(const std::vector<bar>& bars, double y, const std::string& title, const char* colour) {
  double highest = 0;
  for (const bar& each : bars) highest = std::max({highest, each.height, each.high});
  const double scale = highest > 0 ? chart_height / highest : 0;
  const double floor = y + chart_height;
  std::string svg = text(left, y - 22, "start", title);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const bar& each = bars[i];
    const double x = left + static_cast<double>(i) * bar_step + (bar_step - bar_width) / 2;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x,
                       floor - each.height * scale, bar_width, each.height * scale, colour);
    const double middle = x + bar_width / 2;
    if (each.high > each.low)
      svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"black\"/>\n",
                         middle, floor - each.low * scale, floor - each.high * scale);
    svg += text(middle, floor - std::max(each.height, each.high) * scale - 5, "middle", each.words);
  }
  return svg + fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"black\"/>\n",
                           left, floor, left + static_cast<double>(bars.size()) * bar_step);
}

}  // namespace

std::string to_svg(const sweep_report& report) {
  std::vector<bar> times, memory;
  for (const split_figures& each : report.splits) {
    const spread found = spread_of(each.figures);
    times.push_back(
        {.height = found.median,
         .low = found.least,
         .high = found.largest,
         .words = report.figure_name.empty() ? format_duration(found.median) : fmt::format("{:.4g}", found.median)});
    const auto bytes = static_cast<double>(each.proportional_bytes > 0 ? each.proportional_bytes : each.resident_bytes);
    const double of_a_pe = bytes / (each.split.processes * each.split.pes) / (1024.0 * 1024.0);
    memory.push_back({.height = of_a_pe, .words = bytes > 0 ? fmt::format("{:.1f}", of_a_pe) : "-"});
  }
  const double width = left + static_cast<double>(report.splits.size()) * bar_step + 20;
  const double second = top + chart_height + gap, height = second + chart_height + 64;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
      std::max(width, 420.0), height);
  svg += text(left, 18, "start", fmt::format("{}, {} cores", escaped(report.program), report.cores));
  svg += chart(times, top, report.figure_name.empty() ? "time, median, from min to max" : escaped(report.figure_name),
               "#4477aa");
  svg += chart(memory, second, "memory of each PE in MiB", "#ddaa33");
  for (std::size_t i = 0; i < report.splits.size(); ++i) {
    const double middle = left + (static_cast<double>(i) + 0.5) * bar_step;
    svg += text(middle, second + chart_height + 18, "middle",
                fmt::format("{} x {}", report.splits[i].split.processes, report.splits[i].split.pes));
  }
  return svg + text(left, second + chart_height + 40, "start", "processes x PEs of each") + "</svg>\n";
}

}  // namespace tri::tools
