// dgetrf of an installed LAPACK, if the program was built with one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kernels {

/// Empty: built without LAPACK.
std::string lapack_name();
/// Factors a column-major square matrix in place; returns the rows that were swapped, from 0. Only with a LAPACK.
std::vector<std::size_t> lapack_factor(std::vector<double>& matrix, std::size_t size);
/// For libraries with such a call; others use their environment variables.
void lapack_threads(int count);

}  // namespace kernels
