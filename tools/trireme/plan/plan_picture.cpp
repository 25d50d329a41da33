#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "coll/plan_text.hpp"
#include "duration.hpp"
#include "plan/plan_report.hpp"

namespace tri::tools {
namespace {

constexpr double left = 110;
constexpr double width = 1100;
constexpr double row_height = 20;
constexpr double bar_height = 12;
constexpr double top = 50;
constexpr double host_gap = 10;

// Of Okabe and Ito, for people with any colour vision.
const char* colour_of(coll::step_kind kind) {
  switch (kind) {
    case coll::step_kind::send:
      return "#d55e00";
    case coll::step_kind::receive:
      return "#e69f00";
    case coll::step_kind::copy:
      return "#0072b2";
    case coll::step_kind::reduce_left:
    case coll::step_kind::reduce_right:
      return "#009e73";
    case coll::step_kind::signal:
      return "#cc79a7";
    default:
      return "#dddddd";
  }
}

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}

}  // namespace

std::string to_svg(const plan_report& report) {
  const coll::shape& hosts = report.asked.hosts;
  const double time = std::max(report.cost.time, 1.0);
  const auto x_of = [&](double ns) { return left + ns / time * width; };
  const auto y_of = [&](int rank) { return top + rank * row_height + hosts.host_of(rank) * host_gap; };
  const double rows_end = y_of(hosts.ranks() - 1) + row_height;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      left + width + 40, rows_end + 70);
  svg += text(left, 20, "start",
              fmt::format("{} by {}: {} rounds between hosts, {}", title_of(report.asked), report.by->name,
                          report.counts.rounds, format_duration(report.cost.time)));
  for (int i = 0; i <= 5; ++i) {
    const double at = time * i / 5;
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#cccccc\"/>\n",
                       x_of(at), top - 8, rows_end);
    svg += text(x_of(at), top - 14, "middle", format_duration(at));
  }
  for (int rank = 0; rank < hosts.ranks(); ++rank)
    svg +=
        text(left - 8, y_of(rank) + bar_height - 1, "end", fmt::format("host {} rank {}", hosts.host_of(rank), rank));

  // Waits and receives first, so that work lies over them.
  std::map<std::tuple<int, int, std::uint32_t, std::uint8_t>, coll::timed_step> receives;
  for (const bool work : {false, true})
    for (const coll::plan& each : report.plans)
      for (std::size_t i = 0; i < each.steps.size(); ++i) {
        const coll::step& one = each.steps[i];
        const coll::timed_step& timed = report.cost.steps[static_cast<std::size_t>(each.rank)][i];
        if (one.kind == coll::step_kind::join) continue;
        const bool waits = one.kind == coll::step_kind::wait || one.kind == coll::step_kind::receive;
        if (waits == work) continue;
        if (one.kind == coll::step_kind::receive) receives[{one.peer, each.rank, one.round, one.slot}] = timed;
        svg += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"{}><title>rank {} step {}: "
            "{}, {} "
            "to {}</title></rect>\n",
            x_of(timed.begin), y_of(each.rank), std::max(x_of(timed.end) - x_of(timed.begin), 1.5), bar_height,
            colour_of(one.kind), waits ? " fill-opacity=\"0.35\"" : "", each.rank, i, coll::text_of(each, i),
            format_duration(timed.begin), format_duration(timed.end));
      }
  for (const coll::plan& each : report.plans)
    for (std::size_t i = 0; i < each.steps.size(); ++i) {
      const coll::step& one = each.steps[i];
      if (one.kind != coll::step_kind::send) continue;
      const coll::timed_step& sent = report.cost.steps[static_cast<std::size_t>(each.rank)][i];
      const coll::timed_step& received = receives.at({each.rank, one.peer, one.round, one.slot});
      svg += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#d55e00\" stroke-opacity=\"0.6\"/>\n",
          x_of(sent.end), y_of(each.rank) + bar_height / 2, x_of(received.end), y_of(one.peer) + bar_height / 2);
    }
  for (const coll::timed_step& each : report.cost.critical_path)
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#000000\"/>\n",
        x_of(each.begin), y_of(each.rank) - 1, std::max(x_of(each.end) - x_of(each.begin), 1.5), bar_height + 2);

  constexpr std::pair<coll::step_kind, const char*> legend[] = {
      {coll::step_kind::send, "send"},     {coll::step_kind::receive, "receive"},
      {coll::step_kind::copy, "copy"},     {coll::step_kind::reduce_right, "reduce"},
      {coll::step_kind::signal, "signal"}, {coll::step_kind::wait, "wait"}};
  double x = left;
  for (const auto& [kind, name] : legend) {
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"24\" height=\"12\" fill=\"{}\"/>\n", x, rows_end + 30,
                       colour_of(kind));
    svg += text(x + 30, rows_end + 41, "start", name);
    x += 110;
  }
  svg += text(x, rows_end + 41, "start", "framed: the critical path");
  return svg + "</svg>\n";
}

}  // namespace tri::tools
