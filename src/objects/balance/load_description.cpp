#include "trireme/detail/objects/load_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tri {

void load_description::load_ns(std::int64_t predicted) {
  if (predicted < 0) throw std::invalid_argument(fmt::format("a load of {} ns; it must be at least 0", predicted));
  set_.load_ns = predicted;
}

void load_description::coordinates(std::span<const double> position) {
  if (position.empty() || position.size() > 3)
    throw std::invalid_argument(fmt::format("{} coordinates; there are 1 to 3", position.size()));
  if (!std::ranges::all_of(position, [](double value) { return std::isfinite(value); }))
    throw std::invalid_argument("a coordinate that is not a finite number");
  set_.coordinates.assign(position.begin(), position.end());
}

void load_description::user_data(std::span<const std::byte> bytes) {
  set_.user_data.assign(bytes.begin(), bytes.end());
}

void load_description::bytes(std::int64_t size) {
  if (size < 0) throw std::invalid_argument(fmt::format("{} bytes; an element has at least 0", size));
  set_.bytes = size;
}

load_description::contents load_description::take() { return std::exchange(set_, {}); }

}  // namespace tri
