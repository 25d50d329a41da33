// See transport_sweep.hpp.
#include "grids/transport_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace kernels {
namespace {

// The outgoing flux of a cell, from its source and the flux through three faces. The losses differ by cell.
double cell_flux(double source, double from_i, double from_j, double from_k, std::size_t cell) {
  const double loss = 1.0 + 0.125 * static_cast<double>(cell % 5);
  return (source + 0.7 * from_i + 0.8 * from_j + 0.9 * from_k) / (loss + 2.4);
}
double first_source(std::size_t cell) { return 0.5 + 0.01 * static_cast<double>(cell % 13); }
constexpr double inflow = 1.0;
double next_source(double flux) { return 0.3 + 0.5 * flux; }

}  // namespace

transport_sweep::transport_sweep(const transport_sweep_size& size) : size_(size) {
  if (size.side < 1 || size.steps < 0) {
    throw std::invalid_argument(
        fmt::format("sweep: {} cells along a side and {} sweeps; cells must be at least 1, sweeps not negative",
                    size.side, size.steps));
  }
  diagonals_.resize(static_cast<std::size_t>(3 * size.side - 2));
  for (int i = 0; i < size.side; ++i)
    for (int j = 0; j < size.side; ++j)
      for (int k = 0; k < size.side; ++k) diagonals_[static_cast<std::size_t>(i + j + k)].push_back(i * size.side + j);
  reset();
}

std::string transport_sweep::problem() const {
  return fmt::format("{} sweeps through {} x {} x {} cells, {} loops each", size_.steps, size_.side, size_.side,
                     size_.side, diagonals_.size());
}

void transport_sweep::reset() {
  const std::size_t cells = at(size_.side - 1, size_.side - 1, size_.side - 1) + 1;
  flux_.assign(cells, 0.0);
  source_.resize(cells);
  for (std::size_t cell = 0; cell < cells; ++cell) source_[cell] = first_source(cell);
}

void transport_sweep::run(method& how) {
  for (int step = 0; step < size_.steps; ++step) {
    for (std::size_t d = 0; d < diagonals_.size(); ++d) {
      const std::vector<int>& cells = diagonals_[d];
      tri::parallel_for(
          cells.size(),
          [&](std::size_t number) {
            const int i = cells[number] / size_.side, j = cells[number] % size_.side;
            const int k = static_cast<int>(d) - i - j;
            const std::size_t cell = at(i, j, k);
            flux_[cell] =
                cell_flux(source_[cell], i > 0 ? flux_[at(i - 1, j, k)] : inflow,
                          j > 0 ? flux_[at(i, j - 1, k)] : inflow, k > 0 ? flux_[at(i, j, k - 1)] : inflow, cell);
          },
          how.loop(0));
    }
    tri::parallel_for(
        source_.size(), [&](std::size_t cell) { source_[cell] = next_source(flux_[cell]); }, how.loop(1));
  }
}

// Other code on purpose: three nested loops, with the faces carried along.
void transport_sweep::run_serial() {
  const std::size_t side = static_cast<std::size_t>(size_.side);
  std::vector<double> source(flux_.size()), flux(flux_.size(), 0.0);
  for (std::size_t cell = 0; cell < source.size(); ++cell) source[cell] = first_source(cell);
  for (int step = 0; step < size_.steps; ++step) {
    std::vector<double> plane(side * side, inflow);
    for (std::size_t i = 0, cell = 0; i < side; ++i) {
      std::vector<double> row(side, inflow);
      for (std::size_t j = 0; j < side; ++j) {
        double along = inflow;
        for (std::size_t k = 0; k < side; ++k, ++cell) {
          along = cell_flux(source[cell], plane[j * side + k], row[k], along, cell);
          flux[cell] = plane[j * side + k] = row[k] = along;
        }
      }
    }
    for (std::size_t cell = 0; cell < source.size(); ++cell) source[cell] = next_source(flux[cell]);
  }
  serial_ = std::move(flux);
}

std::vector<finding> transport_sweep::check() {
  std::size_t different = 0;
  for (std::size_t cell = 0; cell < flux_.size(); ++cell) different += flux_[cell] != serial_[cell] ? 1 : 0;
  return {{different == 0, fmt::format("{} of {} cells differ from the serial program", different, flux_.size())}};
}

}  // namespace kernels
