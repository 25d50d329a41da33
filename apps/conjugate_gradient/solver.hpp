// NAS CG on global arrays: each PE has a block of rows of the matrix, and of the vectors. To multiply, a PE needs
// nearly all of p; the versions differ in how they get it:
//   naive        every element of every vector through the array, own ones too
//   privatized   elements of this host by plain pointers; those of others one by one
//   one_sided    all of p by one get: a message for each PE of another host; the owners call nothing
//   two_sided    all of p by a collective (allgather), which every PE calls
#pragma once

#include <vector>

#include "conjugate_gradient/matrix.hpp"
#include "pgas/version_table.hpp"

namespace cg {

/// Collective: made, run and checked by every PE alike.
class solver {
 public:
  /// `expected` is the zeta of the sequential program.
  solver(const problem& of, double expected);

  void prepare();
  void naive(pgas::access_counts& counts);
  void privatized(pgas::access_counts& counts);
  void one_sided(pgas::access_counts& counts);
  void two_sided(pgas::access_counts& counts);
  /// Compares zeta with the sequential program and with what was published; all versions with each other, to the bit:
  /// they add in the same order.
  pgas::verdict check();
  double zeta() const { return zeta_; }

 private:
  using array = tri::global_array<double, 1>;

  // z from A z = x, and zeta from it; `multiply` puts A p into q. Vectors are accessed as View does.
  template <class View, class Multiply>
  void iterate(Multiply&& multiply, pgas::access_counts& counts);
  template <class View, class Multiply>
  void solve(Multiply&& multiply, pgas::access_counts& counts);
  template <class View>
  double dot(const array& a, const array& b, pgas::access_counts& counts) const;
  // Row by row; element(column) is that of p.
  template <class View, class Element>
  void multiply_rows(Element&& element, pgas::access_counts& counts);

  problem of_;
  double expected_;
  array x_, z_, r_, p_, q_;
  sparse_rows rows_;
  std::vector<double> all_of_p_;
  double zeta_ = 0;
  double first_zeta_ = 0;  // of the first version
};

}  // namespace cg
