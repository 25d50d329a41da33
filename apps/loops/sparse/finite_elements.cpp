// See finite_elements.hpp.
#include "sparse/finite_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

namespace kernels {

finite_elements::finite_elements(const finite_elements_size& size) : size_(size) {
  if (size.side < 1 || size.steps < 0) {
    throw std::invalid_argument(
        fmt::format("elements: {} squares along a side and {} steps; squares must be at least 1, steps not negative",
                    size.side, size.steps));
  }
  const auto row = static_cast<std::uint32_t>(size.side) + 1;
  const std::uint32_t vertices = row * row;
  std::mt19937_64 random(94);
  std::vector<std::uint32_t> number(vertices);  // of the vertex in row i, column j
  std::iota(number.begin(), number.end(), 0u);
  for (std::uint32_t last = vertices - 1; last > 0; --last) std::swap(number[last], number[random() % (last + 1)]);
  place_.resize(vertices);
  const auto shift = [&] { return 0.3 * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5); };
  for (std::uint32_t i = 0; i < row; ++i)
    for (std::uint32_t j = 0; j < row; ++j) place_[number[i * row + j]] = {i + shift(), j + shift()};
  for (std::uint32_t i = 0; i + 1 < row; ++i) {
    for (std::uint32_t j = 0; j + 1 < row; ++j) {
      const std::uint32_t a = number[i * row + j], b = number[(i + 1) * row + j], c = number[(i + 1) * row + j + 1],
                          d = number[i * row + j + 1];
      if (random() % 2 == 0) {
        elements_.push_back({a, b, c});
        elements_.push_back({a, c, d});
      } else {
        elements_.push_back({a, b, d});
        elements_.push_back({b, c, d});
      }
    }
  }
  for (auto last = static_cast<std::uint32_t>(elements_.size()) - 1; last > 0; --last)
    std::swap(elements_[last], elements_[random() % (last + 1)]);
  first_.assign(vertices + std::size_t{1}, 0);
  for (const auto& element : elements_)
    for (const std::uint32_t vertex : element) ++first_[vertex + std::size_t{1}];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  corner_.resize(first_.back());
  std::vector<std::uint32_t> filled(first_.begin(), first_.end() - 1);
  mass_.assign(vertices, 0.0);
  double smallest = 1.0;
  for (std::uint32_t element = 0; element < elements_.size(); ++element) {
    const auto& [a, b, c] = elements_[element];
    const double area = 0.5 * std::abs((place_[b][0] - place_[a][0]) * (place_[c][1] - place_[a][1]) -
                                       (place_[c][0] - place_[a][0]) * (place_[b][1] - place_[a][1]));
    smallest = std::min(smallest, area);
    for (std::uint32_t k = 0; k < 3; ++k) {
      corner_[filled[elements_[element][k]]++] = element * 3 + k;
      mass_[elements_[element][k]] += area / 3.0;
    }
  }
  pace_ = 0.05 * smallest;
  flow_.resize(elements_.size());
  reset();
}

std::string finite_elements::problem() const {
  return fmt::format("diffusion over {} triangles with {} vertices, {} steps", elements_.size(), place_.size(),
                     size_.steps);
}

double finite_elements::first_value(std::uint32_t vertex) const {
  return std::sin(0.2 * place_[vertex][0]) + std::cos(0.3 * place_[vertex][1]);
}

void finite_elements::reset() {
  value_.resize(place_.size());
  for (std::uint32_t vertex = 0; vertex < value_.size(); ++vertex) value_[vertex] = first_value(vertex);
}

// The stiffness matrix of a linear triangle times the values at its corners.
std::array<double, 3> finite_elements::flow_of(std::uint32_t element, const std::vector<double>& value) const {
  const auto& corner = elements_[element];
  std::array<double, 3> dx{}, dy{}, flow{};
  for (std::size_t k = 0; k < 3; ++k) {
    const auto& next = place_[corner[(k + 1) % 3]];
    const auto& after = place_[corner[(k + 2) % 3]];
    dx[k] = after[0] - next[0];
    dy[k] = next[1] - after[1];
  }
  const double twice_area = std::abs(dx[0] * dy[1] - dx[1] * dy[0]);
  double across = 0.0, along = 0.0;
  for (std::size_t k = 0; k < 3; ++k) {
    across += dy[k] * value[corner[k]];
    along += dx[k] * value[corner[k]];
  }
  for (std::size_t k = 0; k < 3; ++k) flow[k] = (dy[k] * across + dx[k] * along) / (2.0 * twice_area);
  return flow;
}

void finite_elements::run(method& how) {
  for (int step = 0; step < size_.steps; ++step) {
    tri::parallel_for(
        static_cast<std::uint32_t>(elements_.size()),
        [&](std::uint32_t element) { flow_[element] = flow_of(element, value_); }, how.loop(0));
    tri::parallel_for(
        static_cast<std::uint32_t>(value_.size()),
        [&](std::uint32_t vertex) {
          double sum = 0.0;
          for (std::uint32_t index = first_[vertex]; index < first_[vertex + 1]; ++index)
            sum += flow_[corner_[index] / 3][corner_[index] % 3];
          value_[vertex] -= pace_ * sum / mass_[vertex];
        },
        how.loop(1));
  }
}

// Other code on purpose: the matrix is assembled once, entry by entry, and applied as a whole.
void finite_elements::run_serial() {
  struct entry {
    std::uint32_t row, column;
    double value;
  };
  std::vector<entry> matrix;
  for (const auto& corner : elements_) {
    const auto edge = [&](std::size_t from, std::size_t to) {
      return std::array{place_[corner[to]][0] - place_[corner[from]][0],
                        place_[corner[to]][1] - place_[corner[from]][1]};
    };
    const std::array<std::array<double, 2>, 3> opposite{edge(1, 2), edge(2, 0), edge(0, 1)};
    const double area = 0.5 * std::abs(opposite[0][0] * opposite[1][1] - opposite[0][1] * opposite[1][0]);
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b)
        matrix.push_back(
            {corner[a], corner[b], (opposite[a][0] * opposite[b][0] + opposite[a][1] * opposite[b][1]) / (4.0 * area)});
  }
  serial_.resize(place_.size());
  for (std::uint32_t vertex = 0; vertex < serial_.size(); ++vertex) serial_[vertex] = first_value(vertex);
  std::vector<double> product(serial_.size());
  for (int step = 0; step < size_.steps; ++step) {
    std::fill(product.begin(), product.end(), 0.0);
    for (const entry& each : matrix) product[each.row] += each.value * serial_[each.column];
    for (std::size_t vertex = 0; vertex < serial_.size(); ++vertex)
      serial_[vertex] -= pace_ * product[vertex] / mass_[vertex];
  }
}

std::vector<finding> finite_elements::check() {
  double most = 0.0, before = 0.0, after = 0.0;
  for (std::uint32_t vertex = 0; vertex < value_.size(); ++vertex) {
    most = std::max(most, std::abs(value_[vertex] - serial_[vertex]));
    before += mass_[vertex] * first_value(vertex);
    after += mass_[vertex] * value_[vertex];
  }
  const double scale = static_cast<double>(value_.size());
  return {{most < 1e-12, fmt::format("largest difference from the assembled matrix {:.2g}", most)},
          {std::abs(after - before) < 1e-12 * scale, fmt::format("heat gained or lost {:.2g}", after - before)}};
}

}  // namespace kernels
