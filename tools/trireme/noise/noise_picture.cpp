// The report as SVG: least and largest sample of each core on the left, the histogram on the right, all scales but that
// of the cores logarithmic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "duration.hpp"
#include "noise/noise_report.hpp"

namespace tri::tools {
namespace {

constexpr double height = 420;
constexpr double top = 50;
constexpr double bottom = height - 60;

struct log_scale {
  double low;  // value, above 0
  double high;
  double from;  // place
  double to;
  double at(double value) const {
    return from + std::log(std::max(value, low) / low) / std::log(high / low) * (to - from);
  }
  // 1, 2, 5, 10, 20, ... within the scale.
  std::vector<double> marks() const {
    std::vector<double> result;
    for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high; power *= 10.0)
      for (const double digit : {1.0, 2.0, 5.0})
        if (digit * power >= low * 0.999 && digit * power <= high * 1.001) result.push_back(digit * power);
    return result;
  }
};

std::string text(double x, double y, const char* anchor, std::string_view words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}
std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2, y2,
                     colour);
}

}  // namespace

std::string to_svg(const noise_report& report) {
  const auto count = static_cast<double>(report.cores.size());
  const double left = 80;
  const double cores_end = left + std::clamp(count * 24.0, 120.0, 480.0);
  const double histogram_begin = cores_end + 90;
  const double histogram_end = histogram_begin + 460;
  const double width = histogram_end + 30;
  double least = report.cores[0].summary.least;
  double most = report.cores[0].summary.largest;
  for (const core_noise& each : report.cores) {
    least = std::min(least, each.summary.least);
    most = std::max(most, each.summary.largest);
  }
  least = std::max(least * 0.9, 1.0);
  most = std::max(most * 1.1, least * 1.5);
  const log_scale time_up{least, most, bottom, top};

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      width, height);
  svg += text(left, 24, "start", "least, median, largest of a core");
  for (const double mark : time_up.marks()) {
    svg += line(left, time_up.at(mark), cores_end, time_up.at(mark), "#eeeeee");
    svg += text(left - 6, time_up.at(mark) + 4, "end", format_duration(mark));
  }
  const double step = (cores_end - left) / count;
  const std::size_t named = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(18.0 / step)));
  for (std::size_t index = 0; index < report.cores.size(); ++index) {
    const core_noise& each = report.cores[index];
    const double x = left + (static_cast<double>(index) + 0.5) * step;
    svg += line(x, time_up.at(each.summary.least), x, time_up.at(each.summary.largest), "#56b4e9");
    for (const auto& [value, colour] : {std::pair{each.summary.least, "#0072b2"},
                                        {each.summary.median, each.slow ? "#d55e00" : "#009e73"},
                                        {each.summary.largest, "#cc79a7"}})
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, time_up.at(value), colour);
    if (index % named == 0) svg += text(x, bottom + 18, "middle", fmt::to_string(each.core));
  }
  svg += line(left, bottom, cores_end, bottom, "black") + line(left, top, left, bottom, "black");
  svg += text((left + cores_end) / 2, height - 18, "middle", "core (slow ones: red median)");

  std::uint64_t highest = 1;
  for (const noise_bin& bin : report.bins) highest = std::max(highest, bin.count);
  const log_scale samples_up{0.5, std::max(2.0, static_cast<double>(highest) * 1.3), bottom, top};
  const log_scale time_right{least, std::max(most, report.bins.back().end), histogram_begin, histogram_end};
  svg += text(histogram_begin, 24, "start",
              fmt::format("samples of all cores in bins of {}", format_duration(report.settings.bin)));
  for (double mark = 1.0; mark <= samples_up.high; mark *= 10.0) {
    svg += line(histogram_begin, samples_up.at(mark), histogram_end, samples_up.at(mark), "#eeeeee");
    svg += text(histogram_begin - 6, samples_up.at(mark) + 4, "end", fmt::format("{:g}", mark));
  }
  for (const double mark : time_right.marks()) {
    svg += line(time_right.at(mark), bottom, time_right.at(mark), bottom + 4, "black");
    svg += text(time_right.at(mark), bottom + 18, "middle", format_duration(mark));
  }
  for (const noise_bin& bin : report.bins) {
    const double x = time_right.at(bin.begin);
    const double y = samples_up.at(static_cast<double>(bin.count));
    svg += fmt::format("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"#0072b2\"/>\n", x, y,
                       std::max(time_right.at(bin.end) - x, 0.75), bottom - y);
  }
  svg += line(histogram_begin, bottom, histogram_end, bottom, "black") +
         line(histogram_begin, top, histogram_begin, bottom, "black");
  svg += text((histogram_begin + histogram_end) / 2, height - 18, "middle", "time of a quantum");
  return svg + "</svg>\n";
}

}  // namespace tri::tools
