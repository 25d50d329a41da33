// The pair kernel for AVX-512 (F, VL, DQ): eight pairs at a time. Compiled for them; called only where they exist.
//
// The lanes of a vector hold neighbours 0 1 4 5 2 3 6 7, the order that the cheapest transpose gives; no result depends
// on it as long as loads and stores agree.
#include <immintrin.h>

#include "md/forces/pair_kernel_loops.hpp"

namespace md::kernel {
namespace {

struct avx512_lanes {
  using vector = __m512d;
  static constexpr std::uint32_t count = 8;

  static vector zero() { return _mm512_setzero_pd(); }
  static vector broadcast(double v) { return _mm512_set1_pd(v); }
  static vector load(const double* p) { return _mm512_loadu_pd(p); }
  static vector add(vector a, vector b) { return _mm512_add_pd(a, b); }
  static vector sub(vector a, vector b) { return _mm512_sub_pd(a, b); }
  static vector mul(vector a, vector b) { return _mm512_mul_pd(a, b); }
  static vector multiply_add(vector a, vector b, vector c) { return _mm512_fmadd_pd(a, b, c); }
  static vector multiply_sub(vector a, vector b, vector c) { return _mm512_fmsub_pd(a, b, c); }
  static vector square_root(vector v) { return _mm512_sqrt_pd(v); }
  static vector reciprocal_where_less(vector v, vector limit) {
    return _mm512_maskz_div_pd(_mm512_cmp_pd_mask(v, limit, _CMP_LT_OQ), _mm512_set1_pd(1.0), v);
  }

  static vector load_two(const double* low, const double* high) {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(low)), _mm256_loadu_pd(high), 1);
  }
  static void load_transposed(const double* base, const std::uint32_t* j, vector& x, vector& y, vector& z) {
    const vector atoms04 = load_two(base + j[0], base + j[4]);
    const vector atoms15 = load_two(base + j[1], base + j[5]);
    const vector atoms26 = load_two(base + j[2], base + j[6]);
    const vector atoms37 = load_two(base + j[3], base + j[7]);
    const vector xz0145 = _mm512_unpacklo_pd(atoms04, atoms15);
    const vector xz2367 = _mm512_unpacklo_pd(atoms26, atoms37);
    x = _mm512_shuffle_f64x2(xz0145, xz2367, 0x88);
    z = _mm512_shuffle_f64x2(xz0145, xz2367, 0xDD);
    y = _mm512_shuffle_f64x2(_mm512_unpackhi_pd(atoms04, atoms15), _mm512_unpackhi_pd(atoms26, atoms37), 0x88);
  }

  static void subtract(double* p, __m256d v) { _mm256_storeu_pd(p, _mm256_sub_pd(_mm256_loadu_pd(p), v)); }
  static void subtract_two(double* low, double* high, vector v) {
    subtract(low, _mm512_castpd512_pd256(v));
    subtract(high, _mm512_extractf64x4_pd(v, 1));
  }
  static void subtract_transposed(double* base, const std::uint32_t* j, vector x, vector y, vector z) {
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const vector xy0426 = _mm512_unpacklo_pd(x, y);
    const vector xy1537 = _mm512_unpackhi_pd(x, y);
    const vector z0426 = _mm512_unpacklo_pd(z, zero());
    const vector z1537 = _mm512_unpackhi_pd(z, zero());
    subtract_two(base + j[0], base + j[4], _mm512_permutex2var_pd(xy0426, first, z0426));
    subtract_two(base + j[1], base + j[5], _mm512_permutex2var_pd(xy1537, first, z1537));
    subtract_two(base + j[2], base + j[6], _mm512_permutex2var_pd(xy0426, second, z0426));
    subtract_two(base + j[3], base + j[7], _mm512_permutex2var_pd(xy1537, second, z1537));
  }
  static __m256d fold(vector v) { return _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1)); }
  static void add_horizontal(double* p, vector x, vector y, vector z) {
    const __m256d xy = _mm256_hadd_pd(fold(x), fold(y));
    const __m256d z0 = _mm256_hadd_pd(fold(z), _mm256_setzero_pd());
    const __m256d sum = _mm256_add_pd(_mm256_permute2f128_pd(xy, z0, 0x20), _mm256_permute2f128_pd(xy, z0, 0x31));
    _mm256_storeu_pd(p, _mm256_add_pd(_mm256_loadu_pd(p), sum));
  }
  static double horizontal_sum(vector v) {
    const __m256d quarter = fold(v);
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(quarter), _mm256_extractf128_pd(quarter, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
  }

  static std::uint32_t compress_offsets(vector r2, vector limit, std::uint32_t j, std::uint32_t first,
                                        std::uint32_t* out) {
    unsigned mask = _mm512_cmp_pd_mask(r2, limit, _CMP_LT_OQ);
    if (j < first) mask &= first - j >= count ? 0U : 0xFFU << (first - j);
    const __m256i offsets =
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(4 * j)), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    // Compress in registers and store the whole vector: compressing into memory is microcoded on some processors.
    const __m256i chosen = _mm256_maskz_compress_epi32(static_cast<__mmask8>(mask), offsets);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), chosen);
    return static_cast<std::uint32_t>(__builtin_popcount(mask));
  }

  using quad = __m256d;
  static quad quad_zero() { return _mm256_setzero_pd(); }
  static quad quad_add(const double* p, const double* q) {
    return _mm256_add_pd(_mm256_loadu_pd(p), _mm256_loadu_pd(q));
  }
  static void quad_store(double* p, quad a) { _mm256_storeu_pd(p, a); }
};

}  // namespace

extern const kernel_set avx512_kernels;
constinit const kernel_set avx512_kernels = make_set<avx512_lanes>("avx512");

}  // namespace md::kernel
