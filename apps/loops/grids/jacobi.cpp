// See jacobi.hpp.
#include "grids/jacobi.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "grids/seven_points.hpp"

namespace kernels {
jacobi::jacobi(const jacobi_size& size) : size_(size) {
  if (size.planes < 1 || size.side < 1 || size.steps < 0) {
    throw std::invalid_argument(
        fmt::format("jacobi: {} planes of {} x {} points and {} steps; planes and points must be at least 1, steps not "
                    "negative",
                    size.planes, size.side, size.side, size.steps));
  }
  const std::size_t points = (static_cast<std::size_t>(size.planes) + 2) * plane_points();
  now_ = std::make_unique_for_overwrite<double[]>(points);
  next_ = std::make_unique_for_overwrite<double[]>(points);
  source_ = std::make_unique_for_overwrite<double[]>(points);
  first_touch({});
}

std::size_t jacobi::plane_points() const { return kernels::plane_points(size_.side); }

double* jacobi::plane_of(std::unique_ptr<double[]>& grid, int plane) const {
  return grid.get() + static_cast<std::size_t>(plane) * plane_points();
}

std::string jacobi::problem() const {
  return fmt::format("7-point Jacobi on {} planes of {} x {} points, {} steps", size_.planes, size_.side, size_.side,
                     size_.steps);
}

void jacobi::write_initial_plane(int plane) {
  double* now = plane_of(now_, plane);
  double* next = plane_of(next_, plane);
  double* source = plane_of(source_, plane);
  for (int row = 0; row < size_.side + 2; ++row) {
    for (int column = 0; column < size_.side + 2; ++column) {
      *now++ = *next++ = initial_value(plane, row, column);  // both: the boundary is read from either
      *source++ = source_value(plane, row, column);
    }
  }
}

// Contiguous blocks over the same range as the steps, so each thread gets the slab that it relaxes later. The boundary
// planes go with their neighbours.
void jacobi::first_touch(const plane_observer& observer) {
  tri::parallel_for(
      tri::range(1, size_.planes + 1),
      [&](int plane, int participant) {
        if (observer) observer(plane, participant);
        if (plane == 1) write_initial_plane(0);
        write_initial_plane(plane);
        if (plane == size_.planes) write_initial_plane(plane + 1);
      },
      "static");
}

void jacobi::reset() { first_touch({}); }

template <class Before>
void jacobi::run_steps(method& how, const Before& before) {
  for (int step = 0; step < size_.steps; ++step) {
    tri::parallel_for(
        tri::range(1, size_.planes + 1),
        [&](int plane, int participant) {
          before(plane, participant);
          relax_plane(plane_of(now_, plane), plane_of(source_, plane), plane_of(next_, plane), size_.side);
        },
        how.loop(0));
    std::swap(now_, next_);
  }
}

void jacobi::run(method& how) {
  run_steps(how, [](int, int) {});
}

void jacobi::run(method& how, const plane_observer& observer) { run_steps(how, observer); }

std::vector<double> jacobi::result() const {
  return {now_.get(), now_.get() + (static_cast<std::size_t>(size_.planes) + 2) * plane_points()};
}

// Other code on purpose: one flat loop over all points with indices computed from scratch, two vectors.
void jacobi::run_serial() {
  const int side = size_.side;
  const auto at = [&](int plane, int row, int column) {
    return (static_cast<std::size_t>(plane) * static_cast<std::size_t>(side + 2) + static_cast<std::size_t>(row)) *
               static_cast<std::size_t>(side + 2) +
           static_cast<std::size_t>(column);
  };
  std::vector<double> old(at(size_.planes + 2, 0, 0));
  for (int plane = 0; plane < size_.planes + 2; ++plane)
    for (int row = 0; row < side + 2; ++row)
      for (int column = 0; column < side + 2; ++column) old[at(plane, row, column)] = initial_value(plane, row, column);
  std::vector<double> fresh = old;
  for (int step = 0; step < size_.steps; ++step) {
    for (int plane = 1; plane <= size_.planes; ++plane)
      for (int row = 1; row <= side; ++row)
        for (int column = 1; column <= side; ++column)
          fresh[at(plane, row, column)] =
              (old[at(plane - 1, row, column)] + old[at(plane + 1, row, column)] + old[at(plane, row - 1, column)] +
               old[at(plane, row + 1, column)] + old[at(plane, row, column - 1)] + old[at(plane, row, column + 1)] +
               source_value(plane, row, column)) /
              6.0;
    std::swap(old, fresh);
  }
  serial_ = std::move(old);
}

std::vector<finding> jacobi::check() {
  const std::vector<double> found = result();
  std::size_t different = 0;
  for (std::size_t point = 0; point < found.size(); ++point) different += found[point] != serial_[point] ? 1 : 0;
  return {{different == 0, fmt::format("{} of {} points differ from the serial program", different, found.size())}};
}

}  // namespace kernels
