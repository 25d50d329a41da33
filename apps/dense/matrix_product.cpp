// The product C = A B of square matrices in tiles over a grid of PEs. Verified by C x against A (B x) for a random
// vector. Versions:
//   naive       each PE computes its elements of C, through the elements of the arrays
//   privatized  tile by tile: operands are fetched for each tile of C, which is plain memory
//   blas        the same by BLAS, which reads operands of this host where they are
//   tuned       between hosts each operand goes once along a row or column of the grid, by broadcasts, one step ahead
//               (SUMMA, van de Geijn and Watts 1997); on one host nothing is sent
#include <algorithm>
#include <utility>
#include <vector>

#include "dense/program.hpp"

namespace dense {
namespace {

struct product {
  matrix a, b, c;
};

void by_elements(const product& of) {
  const extent n = of.a.extent(1);
  tri::for_each_own(of.c, [&](const tri::position<2>& at, double& value) {
    double sum = 0;
    for (extent k = 0; k < n; ++k) sum += of.a(at[0], k) * of.b(k, at[1]);
    value = sum;
  });
}

void by_fetched_tiles(const product& of) {
  const extent nb = of.c.tile()[0];
  std::vector<double> left(static_cast<std::size_t>(nb * nb)), right(left.size());
  for (const tile own : of.c.own_tiles()) {
    const auto [first, last] = std::pair(own.elements().first, own.elements().last);
    for (extent k = 0; k < tile_columns(of.a); ++k) {
      const extent inner = width(of.a, k), columns = own.extent(1);
      auto coming = of.a.get({{first[0], k * nb}, {last[0], k * nb + inner}}, left.data());
      of.b.get({{k * nb, first[1]}, {k * nb + inner, last[1]}}, right.data()).get();
      coming.get();
      for (extent i = 0; i < own.extent(0); ++i)
        for (extent l = 0; l < inner; ++l) {
          const double factor = left[static_cast<std::size_t>(i * inner + l)];
          const double* const row = right.data() + l * columns;
          double* const to = &own(i, 0);
          for (extent j = 0; j < columns; ++j) to[j] += factor * row[j];
        }
    }
  }
}

void by_blas(const product& of) {
  const extent nb = of.c.tile()[0];
  std::vector<double> left, right;
  for (const tile own : of.c.own_tiles()) {
    const extent i = own.elements().first[0] / nb, j = own.elements().first[1] / nb;
    for (extent k = 0; k < tile_columns(of.a); ++k) {
      const const_block a = read_tile(of.a, i, k, left);
      multiply(own.extent(0), own.extent(1), width(of.a, k), 1.0, CblasNoTrans, a, CblasNoTrans,
               read_tile(of.b, k, j, right), {own.data(), own.leading_dimension()});
    }
  }
}

/// Tiles one behind the other.
class packed_tiles {
 public:
  void add(const block& from, extent rows, extent columns) {
    for (extent i = 0; i < rows; ++i)
      values_.insert(values_.end(), from.data + i * from.leading_dimension,
                     from.data + i * from.leading_dimension + columns);
  }
  tri::shared_buffer<double> take() const { return tri::buffer<double>::copy_of(values_); }

 private:
  std::vector<double> values_;
};

class summa {
 public:
  summa(const product& of, const grid_place& place) : of_(of), place_(place) {}
  void run() const {
    const extent steps = tile_columns(of_.a);
    operands coming = send(0);
    for (extent k = 0; k < steps; ++k) {
      const tri::shared_buffer<double> left = coming.column_of_a.get(), right = coming.row_of_b.get();
      if (k + 1 < steps) coming = send(k + 1);
      add_product(k, left.data(), right.data());
    }
  }

 private:
  struct operands {
    tri::future<tri::shared_buffer<double>> column_of_a;
    tri::future<tri::shared_buffer<double>> row_of_b;
  };
  /// The tiles of A that are in this PE's rows and in tile column k, and those of B in its columns and tile row k.
  operands send(extent k) const {
    packed_tiles left, right;
    const extent inner = width(of_.a, k);
    if (place_.has_column(k))
      for (extent i = place_.row; i < tile_rows(of_.a); i += place_.rows)
        left.add(tile_at(of_.a, i, k), height(of_.a, i), inner);
    if (place_.has_row(k))
      for (extent j = place_.column; j < tile_columns(of_.b); j += place_.columns)
        right.add(tile_at(of_.b, k, j), inner, width(of_.b, j));
    return {place_.along_row.broadcast(left.take(), place_.owner_column(k)),
            place_.along_column.broadcast(right.take(), place_.owner_row(k))};
  }
  void add_product(extent k, const double* left, const double* right) const {
    const extent inner = width(of_.a, k);
    for (extent j = place_.column; j < tile_columns(of_.c); j += place_.columns) {
      const double* a = left;
      for (extent i = place_.row; i < tile_rows(of_.c); i += place_.rows) {
        multiply(height(of_.c, i), width(of_.c, j), inner, 1.0, CblasNoTrans, {a, inner}, CblasNoTrans,
                 {right, width(of_.c, j)}, tile_at(of_.c, i, j));
        a += height(of_.c, i) * inner;
      }
      right += inner * width(of_.c, j);
      tri::progress();  // operands for others may pass through this PE
    }
  }

  const product& of_;
  const grid_place& place_;
};

using multiplication = void (*)(const product& of, const grid_place& place);

template <multiplication Multiply>
outcome multiply_matrices(const settings& chosen) {
  const auto make = [&] {
    return matrix({chosen.n, chosen.n}, tri::tiles(chosen.nb, chosen.nb), tri::grid(chosen.p, chosen.q));
  };
  const product of{make(), make(), make()};
  const grid_place place = place_in_grid(of.c);
  fill(of.a, [&](extent i, extent j) { return random_element(chosen.seed, i, j); });
  fill(of.b, [&](extent i, extent j) { return random_element(chosen.seed + 1, i, j); });
  outcome result = timed([&] { Multiply(of, place); });
  const std::vector<double> x = random_vector(chosen.seed, chosen.n);
  result.residual = relative_difference(times(of.c, x), times(of.a, times(of.b, x)));
  free_teams(place);
  for (const matrix* const each : {&of.a, &of.b, &of.c}) each->free().get();
  return result;
}

void naive(const product& of, const grid_place&) { by_elements(of); }
void privatized(const product& of, const grid_place&) { by_fetched_tiles(of); }
void blas(const product& of, const grid_place&) { by_blas(of); }
void tuned(const product& of, const grid_place& place) {
  if (place.is_on_one_host) return by_blas(of);
  if (place.is_inside) summa(of, place).run();
}

int matrix_product(int argc, char** argv) {
  return run_program(argc, argv,
                     {.name = "matrix_product",
                      .purpose = "Multiplies two matrices on global arrays.",
                      .versions = {{"naive", multiply_matrices<&naive>},
                                   {"privatized", multiply_matrices<&privatized>},
                                   {"blas", multiply_matrices<&blas>},
                                   {"tuned", multiply_matrices<&tuned>}},
                      .operations =
                          [](extent n) {
                            const auto size = static_cast<double>(n);
                            return 2 * size * size * size;
                          },
                      .largest_residual = 1e-10});
}

}  // namespace
}  // namespace dense

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &dense::matrix_product); }
