// An MPI program that uses Trireme for a part of its work: objects assemble a matrix whose rows cost different times,
// balanced over the ranks; ScaLAPACK, called as in any MPI program, solves the system; then objects check the result.
//
//   mpirun -n 4 ./mpi_solver              also: mpirun -n 4 trireme exec ./mpi_solver
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "trireme/arrays.hpp"
#include "trireme/balance.hpp"
#include "trireme/init.hpp"
#include "trireme/objects.hpp"

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* block, const int* process, const int* first, const int* processes);
void descinit_(int* descriptor, const int* m, const int* n, const int* row_block, const int* column_block,
               const int* first_row, const int* first_column, const int* context, const int* rows, int* info);
void pdposv_(const char* triangle, const int* n, const int* right_sides, double* a, const int* first_row,
             const int* first_column, const int* a_descriptor, double* b, const int* b_row, const int* b_column,
             const int* b_descriptor, int* info);
}

namespace {

constexpr int n = 300;
constexpr int block = 20;  // rows and columns of a block; blocks of columns are dealt to the ranks in turn

// A potential between points on a curve; symmetric and positive definite. Near pairs are integrated more finely.
double interaction(int i, int j) {
  if (i == j) return 2.0 * n;
  const int steps = std::abs(i - j) < n / 10 ? 64 : 1;
  double sum = 0;
  for (int k = 0; k < steps; ++k) sum += 1.0 / (0.1 + std::abs(i - j) + (k + 0.5) / steps);
  return sum / steps;
}

/// Assembles one row of the matrix; rows in the middle of the curve have more near neighbours.
struct assembler : tri::array_element<assembler, tri::index<1>> {
  std::vector<double> row = std::vector<double>(n);
  int assemble() {
    for (int j = 0; j < n; ++j) row[static_cast<std::size_t>(j)] = interaction(this_index()[0], j);
    return 1;
  }
  std::vector<double> give() { return row; }
  /// How far the row times the solution is from the right side, which is 1 everywhere.
  double residual(std::vector<double> solution) {
    double sum = -1;
    for (std::size_t j = 0; j < row.size(); ++j) sum += row[j] * solution[j];
    return std::abs(sum);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(row);
  }
};

/// Columns in blocks, dealt to the ranks of a grid of one row: the layout of ScaLAPACK and of the global array.
std::vector<double> solve_by_scalapack(const tri::global_array<double, 2>& matrix, int rank, int ranks) {
  int context = 0, info = 0;
  const int zero = 0, one = 1, size = n, columns_of_block = block;
  Cblacs_get(0, 0, &context);
  Cblacs_gridinit(&context, "Row", 1, ranks);
  const int columns = numroc_(&size, &columns_of_block, &rank, &zero, &ranks);
  std::vector<double> own(static_cast<std::size_t>(n) * static_cast<std::size_t>(std::max(columns, 1)));
  for (int column = 0; column < columns; ++column) {
    const int global = (column / block * ranks + rank) * block + column % block;
    // The matrix is symmetric: a row of the array is a column of ScaLAPACK's.
    matrix.get({{global, 0}, {global + 1, n}}, own.data() + static_cast<std::ptrdiff_t>(column) * n).get();
  }
  tri::barrier().get();  // from here on ranks wait for each other in MPI
  std::vector<double> right(n, 1.0);
  std::array<int, 9> of_matrix{}, of_right{};
  const int leading = n;
  descinit_(of_matrix.data(), &size, &size, &columns_of_block, &columns_of_block, &zero, &zero, &context, &leading,
            &info);
  descinit_(of_right.data(), &size, &one, &columns_of_block, &columns_of_block, &zero, &zero, &context, &leading,
            &info);
  pdposv_("L", &size, &one, own.data(), &one, &one, of_matrix.data(), right.data(), &one, &one, of_right.data(), &info);
  Cblacs_gridexit(context);
  MPI_Bcast(right.data(), n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tri::init(argc, argv);
  const tri::global_array<double, 2> matrix({n, n}, tri::tiles(1, n));
  tri::array<assembler> rows;
  tri::barrier().get();
  if (tri::this_pe() == 0) {
    rows = tri::make_array<assembler>({n});
    rows.reduce<&assembler::assemble>(tri::sum).get();  // the first time measures
    tri::balance().get();
    rows.reduce<&assembler::assemble>(tri::sum).get();
    for (int i = 0; i < n; ++i) matrix.put({{i, 0}, {i + 1, n}}, rows(i).call<&assembler::give>().get().data()).get();
  }
  tri::barrier().get();
  const std::vector<double> solution = solve_by_scalapack(matrix, rank, ranks);
  if (tri::this_pe() == 0) {
    const double worst = rows.reduce<&assembler::residual>(tri::maximum, solution).get();
    std::printf("potential at the end of the curve %.9f, largest residual %s 1e-12\n", solution.front(),
                worst < 1e-12 ? "below" : "above");
  }
  tri::barrier().get();
  tri::finalize();
  MPI_Finalize();
  return 0;
}
