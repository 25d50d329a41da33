// See picture.hpp.
#include "amr/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace amr {
namespace {

constexpr double edge = 480.0;
constexpr std::int32_t squares = 4;  // along an edge of a block

double mean(const field& of, std::int32_t cells, std::int32_t row, std::int32_t column) {
  double sum = 0.0;
  std::int32_t count = 0;
  for (std::int32_t y = row * cells / squares; y < std::max((row + 1) * cells / squares, row * cells / squares + 1);
       ++y)
    for (std::int32_t x = column * cells / squares;
         x < std::max((column + 1) * cells / squares, column * cells / squares + 1); ++x, ++count)
      sum += of(y, x);
  return sum / count;
}

void add_block(std::string& text, const problem& of, const block_state& each) {
  const double side = edge / (static_cast<double>(of.roots) * (1 << each.place.level));
  const double left = each.place.x * side;
  const double top = edge - (each.place.y + 1) * side;
  const double small = side / squares;
  for (std::int32_t row = 0; row < squares; ++row) {
    for (std::int32_t column = 0; column < squares; ++column) {
      const double value = std::clamp(mean(each.cells, of.cells, row, column), 0.0, 1.0);
      if (value < 0.02) continue;
      text +=
          fmt::format("<path d=\"M{:.2f} {:.2f}h{:.2f}v{:.2f}h-{:.2f}z\" fill=\"#1d4ed8\" fill-opacity=\"{:.2f}\"/>\n",
                      left + column * small, top + side - (row + 1) * small, small, small, small, value);
    }
  }
  text += fmt::format("<path d=\"M{:.2f} {:.2f}h{:.2f}v{:.2f}h-{:.2f}z\" stroke=\"#78716c\"/>\n", left, top, side, side,
                      side);
}

}  // namespace

void write_picture(const std::filesystem::path& file, const problem& of, const std::vector<block_state>& blocks) {
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-1 -1 {0} {0}\" width=\"{0}\" height=\"{0}\" fill=\"none\" "
      "stroke-width=\"0.6\" shape-rendering=\"crispEdges\">\n<rect width=\"{1}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      edge + 2, edge);
  for (const block_state& each : blocks) add_block(text, of, each);
  text += "</svg>\n";
  std::ofstream out(file, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw std::runtime_error(fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
}

}  // namespace amr
