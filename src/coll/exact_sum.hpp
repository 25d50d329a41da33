// Sums of floating point numbers that depend on nothing but the numbers: not on their order, and not on how they lie on
// ranks and hosts or which algorithm adds them up.
//
// An exact_sum holds the sum of contributions without rounding, as one fixed-point number that is wide enough for all
// of them (Kulisch's long accumulator): from the last bit of the smallest number up to the largest, and 77 bits above
// (float: 106), for as many contributions as any job has. So adding and merging are additions of integers: exactly
// associative and commutative, and equal sums have equal bytes. rounded() rounds once, to nearest, ties to even,
// whatever the rounding mode of the thread is: the result is the number nearest to the true sum.
//
// What differs from additions one by one: nothing overflows on the way, so largest + largest - largest is largest.
// A sum beyond the largest number is infinite, as a rounded one is. As in IEEE 754: a NaN gives NaN, infinities of both
// signs give NaN, of one sign that; zeros that are all negative give -0, and any other sum that is zero +0. NaN is
// always the same one, without payload.
//
// It is an element of a reduction (request::extent is its size): plain bytes, which may be copied and sent. Hosts of
// one byte order only. Costs 7 times the bytes of a float, 35 times those of a double.
//
// Source: Kulisch and Miranker 1986. Against binned sums (Demmel and Nguyen 2013; Ahrens, Demmel and Nguyen 2020),
// which need 6 words: those depend on a choice of bins for their accuracy, this has none, and no special case.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace tri::coll {

template <class Float>
class exact_sum {
 public:
  using value_type = Float;

  exact_sum() = default;  ///< of nothing: +0
  explicit exact_sum(Float value) { add(value); }

  void add(Float value);
  void merge(const exact_sum& other);
  Float rounded() const;
  bool operator==(const exact_sum&) const = default;

 private:
  static_assert(std::numeric_limits<Float>::is_iec559 && (sizeof(Float) == 4 || sizeof(Float) == 8));
  using bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int mantissa_bits = std::numeric_limits<Float>::digits - 1;  // that are stored
  static constexpr bits exponent_mask = (bits{1} << (sizeof(Float) * 8 - 1 - mantissa_bits)) - 1;
  // A bit for each power of two that a number has, the sign, and room above for sums.
  static constexpr std::size_t number_bits = static_cast<std::size_t>(exponent_mask) - 2 + mantissa_bits + 1;
  static constexpr std::size_t words = (number_bits + 1 + 64) / 64 + 1;

  enum seen : std::uint64_t { plus_infinity = 1, minus_infinity = 2, nan = 4, minus_zero = 8, other_number = 16 };

  static Float from_bits(bits of, bool is_negative);
  void add_at(std::size_t word, std::uint64_t low, std::uint64_t high);
  void subtract_at(std::size_t word, std::uint64_t low, std::uint64_t high);

  std::array<std::uint64_t, words> number_{};  // two's complement, the lowest word first; bit 0: the smallest number
  std::uint64_t seen_ = 0;                     // of the contributions
};

using exact_float_sum = exact_sum<float>;
using exact_double_sum = exact_sum<double>;
static_assert(std::is_trivially_copyable_v<exact_double_sum> && std::is_standard_layout_v<exact_double_sum>);

/// The three steps of a reduction, element by element: `sums` of single contributions, `target` becomes the sum of
/// both, and results.
template <class Float>
void begin_sums(std::span<const Float> contributions, exact_sum<Float>* sums) {
  for (std::size_t i = 0; i < contributions.size(); ++i) sums[i] = exact_sum<Float>(contributions[i]);
}
template <class Float>
void merge_sums(const exact_sum<Float>* source, exact_sum<Float>* target, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) target[i].merge(source[i]);
}
template <class Float>
void round_sums(std::span<const exact_sum<Float>> sums, Float* results) {
  for (std::size_t i = 0; i < sums.size(); ++i) results[i] = sums[i].rounded();
}

extern template class exact_sum<float>;
extern template class exact_sum<double>;

}  // namespace tri::coll
