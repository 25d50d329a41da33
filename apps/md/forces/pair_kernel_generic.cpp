// The pair kernel in plain C++, one pair at a time: the reference for the other variants, and for any processor.
#include "md/forces/pair_kernel_loops.hpp"

namespace md::kernel {
namespace {

struct scalar_lanes {
  using vector = double;
  static constexpr std::uint32_t count = 1;

  static vector zero() { return 0.0; }
  static vector broadcast(double v) { return v; }
  static vector load(const double* p) { return *p; }
  static vector add(vector a, vector b) { return a + b; }
  static vector sub(vector a, vector b) { return a - b; }
  static vector mul(vector a, vector b) { return a * b; }
  static vector multiply_add(vector a, vector b, vector c) { return a * b + c; }
  static vector multiply_sub(vector a, vector b, vector c) { return a * b - c; }
  static vector square_root(vector v) { return __builtin_sqrt(v); }
  static vector reciprocal_where_less(vector v, vector limit) { return v < limit ? 1.0 / v : 0.0; }

  static void load_transposed(const double* base, const std::uint32_t* j, vector& x, vector& y, vector& z) {
    const double* p = base + *j;
    x = p[0];
    y = p[1];
    z = p[2];
  }
  static void subtract_transposed(double* base, const std::uint32_t* j, vector x, vector y, vector z) {
    double* p = base + *j;
    p[0] -= x;
    p[1] -= y;
    p[2] -= z;
  }
  static void add_horizontal(double* p, vector x, vector y, vector z) {
    p[0] += x;
    p[1] += y;
    p[2] += z;
  }
  static double horizontal_sum(vector v) { return v; }
  static std::uint32_t compress_offsets(vector r2, vector limit, std::uint32_t j, std::uint32_t first,
                                        std::uint32_t* out) {
    *out = 4 * j;
    return r2 < limit && j >= first ? 1 : 0;
  }

  struct quad {
    double v[4];
  };
  static quad quad_zero() { return {{0.0, 0.0, 0.0, 0.0}}; }
  static quad quad_add(const double* p, const double* q) {
    return {{p[0] + q[0], p[1] + q[1], p[2] + q[2], p[3] + q[3]}};
  }
  static void quad_store(double* p, quad a) {
    for (int d = 0; d < 4; ++d) p[d] = a.v[d];
  }
};

}  // namespace

extern const kernel_set generic_kernels;
constinit const kernel_set generic_kernels = make_set<scalar_lanes>("generic");

}  // namespace md::kernel
