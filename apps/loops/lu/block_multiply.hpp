// C -= A * B for blocks of column-major matrices of doubles, the operation in which a factorization spends its time.
// One variant per instruction set, chosen when the program starts. Every element of C is the same sum in the same order
// however the matrices are cut along rows and columns, so results do not depend on which thread computes what. Any
// thread.
#pragma once

#include <cstddef>

namespace kernels {

struct block {
  double* first = nullptr;
  std::size_t stride = 0;  ///< elements from one column to the next
  std::size_t rows = 0;
  std::size_t columns = 0;

  double& at(std::size_t row, std::size_t column) const { return first[column * stride + row]; }
  block part(std::size_t row, std::size_t column, std::size_t row_count, std::size_t column_count) const {
    return {first + column * stride + row, stride, row_count, column_count};
  }
};

using multiply_function = void (*)(const block& c, const block& a, const block& b);

struct multiply_variant {
  const char* name;
  multiply_function run;
};
/// The fastest for this processor.
const multiply_variant& chosen_multiply();

void multiply_generic(const block& c, const block& a, const block& b);
void multiply_avx2(const block& c, const block& a, const block& b);
void multiply_avx512(const block& c, const block& a, const block& b);

}  // namespace kernels
