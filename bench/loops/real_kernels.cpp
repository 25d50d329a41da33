#include "loops/real_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace tri::bench {
namespace {

// The same numbers on every machine and in every process.
class random_numbers {
 public:
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 11;
  }
  double fraction() { return (static_cast<double>(next()) + 0.5) * 0x1p-53; }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }

 private:
  std::uint64_t state_ = 42;
};

std::uint64_t digest_with(std::uint64_t digest, std::uint64_t number) {
  digest = (digest ^ number) * 0x9e3779b97f4a7c15U;
  return digest ^ (digest >> 32);
}

}  // namespace

void field_pair::reset() {
  random_numbers random;
  for (auto& field : fields_) std::generate(field.begin(), field.end(), [&random] { return random.next(); });
  reading_ = 0;
}

std::uint64_t field_pair::digest() const {
  std::uint64_t digest = 0;
  for (const auto& field : fields_) digest = std::accumulate(field.begin(), field.end(), digest, digest_with);
  return digest;
}

coarse_grids::coarse_grids() {
  for (const int planes : {64, 43, 27, 16}) grids_.emplace_back(planes);
  reset();
}

void coarse_grids::reset() {
  for (grid& each : grids_) each.fields.reset();
}

std::uint64_t coarse_grids::digest() const {
  std::uint64_t digest = 0;
  for (const grid& each : grids_) digest = digest_with(digest, each.fields.digest());
  return digest;
}

[[gnu::noinline]] std::uint64_t barrier_steps::mixed(std::uint64_t value, std::uint32_t work) {
  for (std::uint32_t step = 0; step < work; ++step) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));  // one step after the other
  }
  return value;
}

sparse_rows::sparse_rows() : first_{0}, x_(40'000), y_(x_.size()) {
  constexpr double least = 4;
  constexpr double most = 4'000;
  constexpr double exponent = 1.3;
  random_numbers random;
  const auto rows = static_cast<std::uint32_t>(x_.size());
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto length = static_cast<std::uint32_t>(std::min(least * std::pow(random.fraction(), -1 / exponent), most));
    for (std::uint32_t entry = 0; entry < length; ++entry) {
      columns_.push_back(random.below(rows));
      values_.push_back(random.fraction());
    }
    std::sort(columns_.end() - length, columns_.end());
    first_.push_back(static_cast<std::uint32_t>(columns_.size()));
  }
  std::generate(x_.begin(), x_.end(), [&random] { return random.fraction(); });
}

void sparse_rows::reset() { std::fill(y_.begin(), y_.end(), 0.0); }

std::uint64_t sparse_rows::digest() const {
  std::uint64_t digest = 0;
  for (const double value : y_) digest = digest_with(digest, std::bit_cast<std::uint64_t>(value));
  return digest;
}

std::vector<std::size_t> sparse_rows::row_lengths() const {
  std::vector<std::size_t> lengths;
  for (std::size_t row = 0; row < y_.size(); ++row) lengths.push_back(first_[row + 1] - first_[row]);
  return lengths;
}

// Compiled once: the order in which a row is added up, and so its last bits, are the same for all.
[[gnu::noinline]] void sparse_rows::add_row(int row) {
  const auto own = static_cast<std::size_t>(row);
  double sum = y_[own];
  for (std::uint32_t entry = first_[own]; entry < first_[own + 1]; ++entry) sum += values_[entry] * x_[columns_[entry]];
  y_[own] = sum;
}

// A Kronecker graph with the parameters of Graph 500: at each level an edge falls into one quarter of the matrix. Four
// edges per vertex are drawn; both directions are one, and those that come again do not count.
sorted_graph::sorted_graph() {
  constexpr int levels = 15;
  constexpr std::uint32_t vertices = 1U << levels;
  random_numbers random;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t drawn = 0; drawn < 4 * vertices; ++drawn) {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
    for (int level = 0; level < levels; ++level) {
      const double where = random.fraction();
      row = 2 * row + (where >= 0.76 ? 1U : 0U);
      column = 2 * column + ((where >= 0.57 && where < 0.76) || where >= 0.95 ? 1U : 0U);
    }
    if (row != column) edges.emplace_back(std::max(row, column), std::min(row, column));
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());

  std::vector<std::uint32_t> degrees(vertices);
  for (const auto& [one, other] : edges) ++degrees[one], ++degrees[other];
  std::vector<std::uint32_t> by_degree(vertices);
  std::iota(by_degree.begin(), by_degree.end(), 0U);
  std::stable_sort(by_degree.begin(), by_degree.end(),
                   [&degrees](std::uint32_t one, std::uint32_t other) { return degrees[one] > degrees[other]; });
  std::vector<std::uint32_t> number(vertices);
  for (std::uint32_t place = 0; place < vertices; ++place) number[by_degree[place]] = place;
  for (auto& [one, other] : edges) {
    const auto [low, high] = std::minmax(number[one], number[other]);
    one = high;
    other = low;
  }
  std::sort(edges.begin(), edges.end());

  first_.assign(vertices + 1, 0);
  for (const auto& [high, low] : edges) {
    ++first_[high + 1];
    neighbours_.push_back(low);
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  triangles_.resize(vertices);
}

void sorted_graph::reset() { std::fill(triangles_.begin(), triangles_.end(), 0U); }

std::uint64_t sorted_graph::digest() const {
  return std::accumulate(triangles_.begin(), triangles_.end(), std::uint64_t{0}, digest_with);
}

// The lists of a vertex and of each of its neighbours are merged; a list ends with its highest number.
[[gnu::noinline]] std::uint64_t sorted_graph::triangles_of(std::size_t vertex) const {
  std::uint64_t found = 0;
  const std::uint32_t* const neighbours = neighbours_.data();
  for (std::uint32_t at = first_[vertex]; at < first_[vertex + 1]; ++at) {
    const std::uint32_t other = neighbours[at];
    const std::uint32_t* mine = neighbours + first_[vertex];
    for (std::uint32_t its = first_[other]; its < first_[other + 1]; ++its) {
      while (*mine < neighbours[its]) ++mine;  // ends at `other`, which is higher than all in its list
      if (*mine == neighbours[its]) ++found;
    }
  }
  return found;
}

std::vector<std::size_t> sorted_graph::costs() const {
  std::vector<std::size_t> costs;
  for (std::size_t vertex = 0; vertex < triangles_.size(); ++vertex) {
    const auto mine = neighbours_.begin() + first_[vertex];
    std::size_t cost = 0;
    for (std::uint32_t at = first_[vertex]; at < first_[vertex + 1]; ++at) {
      const auto its = neighbours_.begin() + first_[neighbours_[at]];
      const auto its_end = neighbours_.begin() + first_[neighbours_[at] + 1];
      if (its == its_end) continue;
      cost += static_cast<std::size_t>(its_end - its);
      cost += static_cast<std::size_t>(std::lower_bound(mine, neighbours_.begin() + at, *(its_end - 1)) - mine);
    }
    costs.push_back(cost);
  }
  return costs;
}

}  // namespace tri::bench
