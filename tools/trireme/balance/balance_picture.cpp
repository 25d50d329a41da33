#include <fmt/format.h>

#include <algorithm>

#include "balance/balance_report.hpp"
#include "duration.hpp"

namespace tri::tools {
namespace {

constexpr double width = 720;
constexpr double chart_height = 170;
constexpr double left = 80;
constexpr double top = 46;
constexpr double gap = 56;  // between the charts
constexpr std::size_t most_bars = 360;
// Hosts alternate, so that one sees where the next begins.
constexpr const char* colours[] = {"#4477aa", "#88aadd"};

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}

std::string chart(const balancing::snapshot& of, const std::vector<double>& times, double y, double scale, double level,
                  const std::string& title) {
  std::string svg = text(left, y - 8, "start", title);
  const std::vector<std::int32_t> order = balancing::pes_by_place(of);
  // Where PEs are many, a bar is the longest of several.
  const std::size_t of_a_bar = (order.size() + most_bars - 1) / most_bars;
  const std::size_t bars = (order.size() + of_a_bar - 1) / of_a_bar;
  const double step = width / static_cast<double>(bars);
  std::size_t hosts = 0;
  for (std::size_t bar = 0; bar < bars; ++bar) {
    double longest = 0.0;
    for (std::size_t i = bar * of_a_bar; i < std::min((bar + 1) * of_a_bar, order.size()); ++i)
      longest = std::max(longest, times[static_cast<std::size_t>(order[i])]);
    const auto host_of = [&](std::size_t at) { return of.pes[static_cast<std::size_t>(order[at * of_a_bar])].host; };
    if (bar > 0 && host_of(bar) != host_of(bar - 1)) ++hosts;
    svg += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                       left + static_cast<double>(bar) * step, y + chart_height - longest * scale,
                       step * (bars > 100 ? 1.0 : 0.85), longest * scale, colours[hosts % 2]);
  }
  const double level_y = y + chart_height - level * scale;
  svg += fmt::format(
      "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"#cc3311\" stroke-dasharray=\"5 "
      "3\"/>\n",
      left, level_y, left + width);
  svg += text(left - 6, level_y + 4, "end", format_duration(level));
  return svg + fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"black\"/>\n",
                           left, y + chart_height, left + width);
}

}  // namespace

std::string to_svg(const balancing::snapshot& of, const strategy_run& run) {
  const std::vector<double> before = balancing::times_of(of, {}), after = balancing::times_of(of, run.result.moves);
  const double longest = std::max(run.result.before.longest_ns, 1.0);
  const double scale = chart_height / longest;
  const double level = run.result.after.level_ns, height = top + 2 * chart_height + gap + 50;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
      left + width + 20, height);
  const auto title = [](const char* when, const balancing::quality& of_it) {
    return fmt::format("{}: longest {}, {:.3f} of the shortest possible", when, format_duration(of_it.longest_ns),
                       imbalance_of(of_it));
  };
  svg += text(left, 20, "start", fmt::format("{}, strategy {}: time of each PE", title_of(of), run.name));
  svg += chart(of, before, top, scale, level, title("before", run.result.before));
  svg += chart(of, after, top + chart_height + gap, scale, level, title("after", run.result.after));
  svg += text(left, height - 16, "start",
              "PEs by host; a new shade is the next host. Dashed: the shortest makespan possible.");
  return svg + "</svg>\n";
}

}  // namespace tri::tools
