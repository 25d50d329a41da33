// The pair kernel for AVX2 and FMA: four pairs at a time. Compiled with -mavx2 -mfma; called only where they exist.
#include <immintrin.h>

#include "md/forces/pair_kernel_loops.hpp"

namespace md::kernel {
namespace {

// For each 4-bit mask, the byte shuffle that moves the chosen 32-bit elements to the front.
struct compress_table {
  alignas(16) std::uint8_t shuffle[16][16];
};

constexpr compress_table make_compress_table() {
  compress_table table{};
  for (unsigned mask = 0; mask < 16; ++mask) {
    unsigned next = 0;
    for (unsigned element = 0; element < 4; ++element) {
      if ((mask >> element & 1U) == 0) continue;
      for (unsigned byte = 0; byte < 4; ++byte) {
        table.shuffle[mask][4 * next + byte] = static_cast<std::uint8_t>(4 * element + byte);
      }
      ++next;
    }
  }
  return table;
}

constexpr compress_table compress = make_compress_table();

struct avx2_lanes {
  using vector = __m256d;
  static constexpr std::uint32_t count = 4;

  static vector zero() { return _mm256_setzero_pd(); }
  static vector broadcast(double v) { return _mm256_set1_pd(v); }
  static vector load(const double* p) { return _mm256_loadu_pd(p); }
  static vector add(vector a, vector b) { return _mm256_add_pd(a, b); }
  static vector sub(vector a, vector b) { return _mm256_sub_pd(a, b); }
  static vector mul(vector a, vector b) { return _mm256_mul_pd(a, b); }
  static vector multiply_add(vector a, vector b, vector c) { return _mm256_fmadd_pd(a, b, c); }
  static vector multiply_sub(vector a, vector b, vector c) { return _mm256_fmsub_pd(a, b, c); }
  static vector square_root(vector v) { return _mm256_sqrt_pd(v); }
  static vector reciprocal_where_less(vector v, vector limit) {
    return _mm256_and_pd(_mm256_cmp_pd(v, limit, _CMP_LT_OQ), _mm256_div_pd(_mm256_set1_pd(1.0), v));
  }

  // Half vectors (x y) and (z w) of atoms 0 and 2, of 1 and 3, then one interleave each.
  static vector load_halves(const double* low, const double* high) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
  }
  static void load_transposed(const double* base, const std::uint32_t* j, vector& x, vector& y, vector& z) {
    const double* const p0 = base + j[0];
    const double* const p1 = base + j[1];
    const double* const p2 = base + j[2];
    const double* const p3 = base + j[3];
    const vector xy02 = load_halves(p0, p2);
    const vector xy13 = load_halves(p1, p3);
    x = _mm256_unpacklo_pd(xy02, xy13);
    y = _mm256_unpackhi_pd(xy02, xy13);
    z = _mm256_unpacklo_pd(load_halves(p0 + 2, p2 + 2), load_halves(p1 + 2, p3 + 2));
  }

  static void subtract(double* p, vector v) { _mm256_storeu_pd(p, _mm256_sub_pd(_mm256_loadu_pd(p), v)); }
  static void subtract_transposed(double* base, const std::uint32_t* j, vector x, vector y, vector z) {
    const vector xy02 = _mm256_unpacklo_pd(x, y);
    const vector xy13 = _mm256_unpackhi_pd(x, y);
    const vector z02 = _mm256_unpacklo_pd(z, zero());
    const vector z13 = _mm256_unpackhi_pd(z, zero());
    subtract(base + j[0], _mm256_permute2f128_pd(xy02, z02, 0x20));
    subtract(base + j[1], _mm256_permute2f128_pd(xy13, z13, 0x20));
    subtract(base + j[2], _mm256_permute2f128_pd(xy02, z02, 0x31));
    subtract(base + j[3], _mm256_permute2f128_pd(xy13, z13, 0x31));
  }
  static void add_horizontal(double* p, vector x, vector y, vector z) {
    const vector xy = _mm256_hadd_pd(x, y);
    const vector z0 = _mm256_hadd_pd(z, zero());
    const vector sum = _mm256_add_pd(_mm256_permute2f128_pd(xy, z0, 0x20), _mm256_permute2f128_pd(xy, z0, 0x31));
    _mm256_storeu_pd(p, _mm256_add_pd(_mm256_loadu_pd(p), sum));
  }
  static double horizontal_sum(vector v) {
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
  }

  static std::uint32_t compress_offsets(vector r2, vector limit, std::uint32_t j, std::uint32_t first,
                                        std::uint32_t* out) {
    unsigned mask = static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(r2, limit, _CMP_LT_OQ)));
    if (j < first) mask &= first - j >= count ? 0U : 0xFU << (first - j);
    const __m128i offsets = _mm_add_epi32(_mm_set1_epi32(static_cast<int>(4 * j)), _mm_setr_epi32(0, 4, 8, 12));
    const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i*>(compress.shuffle[mask]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(offsets, shuffle));
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

extern const kernel_set avx2_kernels;
constinit const kernel_set avx2_kernels = make_set<avx2_lanes>("avx2");

}  // namespace md::kernel
