#include "trireme/detail/arrays/array_shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace tri::arrays {

std::string describe(const array_shape& shape) {
  const auto list = [&](const array_shape::numbers& all) {
    return fmt::format("({})", fmt::join(std::span(all).first(static_cast<std::size_t>(shape.dimensions)), ", "));
  };
  std::string text = fmt::format("{} of {} in tiles {}", list(shape.extents), shape.type.data(), list(shape.tile));
  const auto add = [&](const char* what, const array_shape::numbers& given) {
    if (given != array_shape::numbers{}) text += fmt::format(", {} {}", what, list(given));
  };
  add("tiles of hosts", shape.host_tile);
  add("grid", shape.grid);
  add("halo", shape.halo);
  for (std::int32_t d = 0; d < shape.dimensions; ++d)
    if ((shape.rings >> d & 1) != 0) text += fmt::format(", periodic along dimension {}", d);
  if (shape.first_pe != 0) text += fmt::format(", from PE {} on", shape.first_pe);
  return text;
}

}  // namespace tri::arrays
