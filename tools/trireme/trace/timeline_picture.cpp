// The timeline as SVG: for each row, the activity with the largest share of a pixel's time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "duration.hpp"
#include "trace/pictures.hpp"

namespace tri::tools {
namespace {

constexpr double left = 130;
constexpr double width = 1200;
constexpr double row_height = 26;
constexpr double bar_height = 18;
constexpr double top = 40;
constexpr int pixels = static_cast<int>(width);
// Of Okabe and Ito, for people with any colour vision.
constexpr std::array<const char*, 7> colours{"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                             "#56b4e9", "#d55e00", "#f0e442"};
constexpr const char* other_colour = "#777777";
constexpr const char* overhead_colour = "#222222";
constexpr const char* help_colour = "#8c6bb1";
constexpr const char* idle_colour = "#eeeeee";
constexpr const char* off_colour = "none";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(words));
}
std::string box(double x, double y, double wide, const char* colour) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, y, wide,
                     bar_height, colour);
}

class palette {
 public:
  palette(const trace_folder& trace, const trace_profile& profile) {
    std::vector<std::pair<std::int64_t, std::uint32_t>> sorted;
    for (const auto& [handler, method] : profile.methods) sorted.emplace_back(-method.total, handler);
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < std::min(colours.size(), sorted.size()); ++i) {
      colour_[sorted[i].second] = colours[i];
      legend_.emplace_back(colours[i], trace.name_of(sorted[i].second));
    }
    legend_.insert(legend_.end(), {{other_colour, "other methods"},
                                   {help_colour, "work of the host's board, of a communication thread: messages"},
                                   {overhead_colour, "overhead"},
                                   {idle_colour, "idle"}});
  }
  const char* of(const interval& one) const {
    switch (one.what) {
      case activity::method: {
        const auto known = colour_.find(one.handler);
        return known == colour_.end() ? other_colour : known->second;
      }
      case activity::help:
        return help_colour;
      case activity::idle:
        return idle_colour;
      case activity::overhead:
        return overhead_colour;
      case activity::off:
        break;
    }
    return off_colour;
  }
  const std::vector<std::pair<const char*, std::string>>& legend() const { return legend_; }

 private:
  std::map<std::uint32_t, const char*> colour_;
  std::vector<std::pair<const char*, std::string>> legend_;
};

// What takes most of each pixel's time.
std::vector<const char*> columns_of(const std::vector<interval>& intervals, const palette& colour, std::int64_t from,
                                    std::int64_t to) {
  std::vector<const char*> columns(pixels, off_colour);
  const double per_pixel = static_cast<double>(to - from) / pixels;
  std::size_t first = 0;
  for (int i = 0; i < pixels; ++i) {
    const double begin = static_cast<double>(from) + i * per_pixel;
    const double end = begin + per_pixel;
    while (first < intervals.size() && static_cast<double>(intervals[first].end) <= begin) ++first;
    std::map<const char*, double> shares;
    for (std::size_t at = first; at < intervals.size() && static_cast<double>(intervals[at].begin) < end; ++at)
      shares[colour.of(intervals[at])] += std::min(end, static_cast<double>(intervals[at].end)) -
                                          std::max(begin, static_cast<double>(intervals[at].begin));
    double most = 0;
    for (const auto& [name, share] : shares)
      if (share > most) {
        most = share;
        columns[static_cast<std::size_t>(i)] = name;
      }
  }
  return columns;
}

}  // namespace

std::string to_svg(const trace_folder& trace, const trace_profile& profile, const std::vector<message_path>& paths,
                   std::int64_t from, std::int64_t to, std::size_t most) {
  const palette colour(trace, profile);
  const double rows_end = top + static_cast<double>(trace.rows.size()) * row_height;
  const double height = rows_end + 50 + static_cast<double>(colour.legend().size()) * 20;
  const auto x_of = [&](std::int64_t ns) {
    return left + static_cast<double>(ns - from) / static_cast<double>(std::max<std::int64_t>(to - from, 1)) * width;
  };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      left + width + 40, height);
  svg += text(left, 20, "start",
              fmt::format("{} to {} of the trace", format_duration(static_cast<double>(from)),
                          format_duration(static_cast<double>(to))));
  std::map<const trace_row*, double> middle;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const trace_row& row = trace.rows[i];
    const double y = top + static_cast<double>(i) * row_height;
    middle[&row] = y + bar_height / 2;
    svg += text(left - 8, y + 14, "end", row.label());
    const auto columns = columns_of(intervals_of(row, trace.end_ns), colour, from, to);
    for (int begin = 0; begin < pixels;) {
      int end = begin;
      while (end < pixels && columns[static_cast<std::size_t>(end)] == columns[static_cast<std::size_t>(begin)]) ++end;
      if (columns[static_cast<std::size_t>(begin)] != off_colour)
        svg += box(left + begin, y, end - begin, columns[static_cast<std::size_t>(begin)]);
      begin = end;
    }
    for (const trace_event& one : row.events)
      if (one.what == trace::event::slow && one.ns >= from && one.ns - one.length <= to)
        svg += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"red\" "
            "stroke-width=\"2\"><title>{} took {}</title></rect>\n",
            x_of(one.ns - one.length), y, std::max(x_of(one.ns) - x_of(one.ns - one.length), 1.0), bar_height,
            escaped(trace.name_of(one.handler)), format_duration(static_cast<double>(one.length)));
  }
  for (int i = 0; i <= 6; ++i) {
    const std::int64_t at = from + (to - from) * i / 6;
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#aaaaaa\"/>\n",
                       x_of(at), top - 6, rows_end + 4);
    svg += text(x_of(at), rows_end + 18, "middle", format_duration(static_cast<double>(at)));
  }
  std::vector<const message_path*> crossed;
  for (const message_path& path : paths)
    if (path.between_hosts && path.begun >= from && path.sent <= to) crossed.push_back(&path);
  std::stable_sort(crossed.begin(), crossed.end(),
                   [](const message_path* a, const message_path* b) { return a->total() > b->total(); });
  if (crossed.size() > most) crossed.resize(most);
  for (const message_path* const path : crossed) {
    const trace_row* const source = trace.row_of_pe(path->source);
    const trace_row* const destination = trace.row_of_pe(path->destination);
    const trace_row* const out = trace.wire_of(source->process);
    const trace_row* const in = trace.wire_of(destination->process);
    svg += fmt::format(
        "<polyline fill=\"none\" stroke=\"#d55e00\" points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f} "
        "{:.1f},{:.1f}\"><title>{}: {} + {} + {}</title></polyline>\n",
        x_of(path->sent), middle[source], x_of(path->left), middle[out], x_of(path->arrived), middle[in],
        x_of(path->begun), middle[destination], escaped(trace.name_of(path->handler)),
        format_duration(static_cast<double>(path->to_wire())), format_duration(static_cast<double>(path->on_wire())),
        format_duration(static_cast<double>(path->to_method())));
  }
  for (std::size_t i = 0; i < colour.legend().size(); ++i) {
    const double y = rows_end + 34 + static_cast<double>(i) * 20;
    svg += box(left, y, 24, colour.legend()[i].first);
    svg += text(left + 32, y + 13, "start", colour.legend()[i].second);
  }
  return svg + "</svg>\n";
}

}  // namespace tri::tools
