// See field.hpp.
#include "amr/field.hpp"

#include <algorithm>
#include <cmath>

namespace amr {
namespace {

/// The nearer way around the square.
double distance_around(double a, double b) {
  const double apart = std::abs(a - b);
  return std::min(apart, 1.0 - apart);
}
double wrapped(double x) { return x - std::floor(x); }

}  // namespace

double problem::time_step() const {
  return courant * finest_cell() / std::max(std::abs(velocity_x) + std::abs(velocity_y), 1e-300);
}

double problem::exact(double x, double y, double time) const {
  const double dx = distance_around(wrapped(x - velocity_x * time), 0.3);
  const double dy = distance_around(wrapped(y - velocity_y * time), 0.4);
  const double squared = dx * dx + dy * dy;
  if (disc != 0) return squared < 0.15 * 0.15 ? 1.0 : 0.0;
  return std::exp(-squared / (2.0 * 0.06 * 0.06));
}

field::field(std::int32_t cells)
    : cells_(cells), values_(static_cast<std::size_t>((cells + 2) * (cells + 2))), next_(values_.size()) {}

void field::set_exact(const problem& of, const block_place& at, double time) {
  const double width = of.cell_width(at.level);
  for (std::int32_t y = 0; y < cells_; ++y)
    for (std::int32_t x = 0; x < cells_; ++x)
      values_[place(y, x)] = of.exact((at.x * cells_ + x + 0.5) * width, (at.y * cells_ + y + 0.5) * width, time);
}

void field::advance(const problem& of, std::int32_t level) {
  const double ratio = of.time_step() / of.cell_width(level);
  const auto flux = [](double velocity, double before, double behind) {
    return velocity > 0.0 ? velocity * before : velocity * behind;
  };
  for (std::int32_t y = 0; y < cells_; ++y) {
    for (std::int32_t x = 0; x < cells_; ++x) {
      const double own = values_[place(y, x)];
      const double left = flux(of.velocity_x, values_[place(y, x - 1)], own);
      const double right = flux(of.velocity_x, own, values_[place(y, x + 1)]);
      const double below = flux(of.velocity_y, values_[place(y - 1, x)], own);
      const double above = flux(of.velocity_y, own, values_[place(y + 1, x)]);
      next_[place(y, x)] = own - ratio * (right - left + above - below);
    }
  }
  std::swap(values_, next_);
}

field_sums field::sums(const problem& of, const block_place& at, double time) const {
  const double width = of.cell_width(at.level);
  field_sums sum;
  for (std::int32_t y = 0; y < cells_; ++y) {
    for (std::int32_t x = 0; x < cells_; ++x) {
      const double exact = of.exact((at.x * cells_ + x + 0.5) * width, (at.y * cells_ + y + 0.5) * width, time);
      sum.mass += (*this)(y, x);
      sum.error += std::abs((*this)(y, x) - exact);
    }
  }
  sum.mass *= width * width;
  sum.error *= width * width;
  sum.cells = std::int64_t{cells_} * cells_;
  return sum;
}

std::int32_t field::wish(const problem& of) const {
  double largest = 0.0;
  for (std::int32_t y = 0; y < cells_; ++y) {
    for (std::int32_t x = 0; x < cells_; ++x) {
      const double own = (*this)(y, x);
      if (x + 1 < cells_) largest = std::max(largest, std::abs((*this)(y, x + 1) - own));
      if (y + 1 < cells_) largest = std::max(largest, std::abs((*this)(y + 1, x) - own));
    }
  }
  if (largest >= of.refine) return 1;
  return largest < of.coarsen ? -1 : 0;
}

std::size_t field::along(side of, std::int32_t i, bool outside) const {
  const std::int32_t low = outside ? -1 : 0;
  const std::int32_t high = outside ? cells_ : cells_ - 1;
  switch (of) {
    case side::left:
      return place(i, low);
    case side::right:
      return place(i, high);
    case side::below:
      return place(low, i);
    case side::above:
      break;
  }
  return place(high, i);
}

std::vector<double> field::border(side of, int level_difference, int half) const {
  std::vector<double> values;
  if (level_difference < 0) {
    for (std::int32_t i = 0; i < cells_; i += 2)
      values.push_back(0.5 * (values_[along(of, i, false)] + values_[along(of, i + 1, false)]));
  } else if (level_difference == 0) {
    for (std::int32_t i = 0; i < cells_; ++i) values.push_back(values_[along(of, i, false)]);
  } else {  // each of half of the cells is beside two finer ones
    const std::int32_t first = half * cells_ / 2;
    for (std::int32_t i = 0; i < cells_; ++i) values.push_back(values_[along(of, first + i / 2, false)]);
  }
  return values;
}

void field::set_layer(side of, int half, std::span<const double> values) {
  const std::int32_t first = half == 1 ? cells_ / 2 : 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    values_[along(of, first + static_cast<std::int32_t>(i), true)] = values[i];
}

field field::quarter(int which) const {
  field made(cells_);
  const std::int32_t first_y = which / 2 * cells_ / 2;
  const std::int32_t first_x = which % 2 * cells_ / 2;
  for (std::int32_t y = 0; y < cells_; ++y)
    for (std::int32_t x = 0; x < cells_; ++x)
      made.values_[made.place(y, x)] = (*this)(first_y + y / 2, first_x + x / 2);
  return made;
}

void field::set_quarter(int which, const field& child) {
  const std::int32_t first_y = which / 2 * cells_ / 2;
  const std::int32_t first_x = which % 2 * cells_ / 2;
  for (std::int32_t y = 0; y < cells_ / 2; ++y)
    for (std::int32_t x = 0; x < cells_ / 2; ++x)
      values_[place(first_y + y, first_x + x)] = 0.25 * (child(2 * y, 2 * x) + child(2 * y, 2 * x + 1) +
                                                         child(2 * y + 1, 2 * x) + child(2 * y + 1, 2 * x + 1));
}

mesh first_mesh(const problem& of) {
  mesh now(of.roots, of.most_levels);
  for (std::int32_t round = 0; round < of.most_levels; ++round) {
    std::vector<std::int32_t> wishes;
    for (const block_place& each : now.blocks()) {
      field cells(of.cells);
      cells.set_exact(of, each, 0.0);
      wishes.push_back(std::max(0, cells.wish(of)));
    }
    now = now.adapted(wishes);
  }
  return now;
}

}  // namespace amr
