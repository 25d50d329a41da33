#include "coll/exact_sum.hpp"

#include <algorithm>
#include <bit>

namespace tri::coll {

template <class Float>
void exact_sum<Float>::add(Float value) {
  const bits all = std::bit_cast<bits>(value);
  const bool is_negative = all >> (sizeof(Float) * 8 - 1) != 0;
  const bits exponent = all >> mantissa_bits & exponent_mask;
  const bits fraction = all & ((bits{1} << mantissa_bits) - 1);
  if (exponent == exponent_mask) {
    seen_ |= fraction != 0 ? nan : is_negative ? minus_infinity : plus_infinity;
    return;
  }
  if (exponent == 0 && fraction == 0) {
    seen_ |= is_negative ? minus_zero : other_number;
    return;
  }
  seen_ |= other_number;
  // Subnormal numbers have the exponent of the smallest normal ones, and no hidden bit.
  const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | bits{1} << mantissa_bits;
  const std::size_t position = exponent == 0 ? 0 : static_cast<std::size_t>(exponent) - 1;
  const std::size_t shift = position % 64;
  const std::uint64_t low = mantissa << shift;
  const std::uint64_t high = shift == 0 ? 0 : mantissa >> (64 - shift);
  if (is_negative)
    subtract_at(position / 64, low, high);
  else
    add_at(position / 64, low, high);
}

// No carry leaves the highest word with another sign than the sum has: there is room for 2^64 contributions.
template <class Float>
void exact_sum<Float>::add_at(std::size_t word, std::uint64_t low, std::uint64_t high) {
  std::uint64_t carry = __builtin_add_overflow(number_[word], low, &number_[word]) ? 1 : 0;
  // high + 1 does not overflow: of 64 bits at most 53 are used.
  carry = __builtin_add_overflow(number_[word + 1], high + carry, &number_[word + 1]) ? 1 : 0;
  for (std::size_t i = word + 2; carry != 0 && i < words; ++i) carry = ++number_[i] == 0 ? 1 : 0;
}

template <class Float>
void exact_sum<Float>::subtract_at(std::size_t word, std::uint64_t low, std::uint64_t high) {
  std::uint64_t borrow = __builtin_sub_overflow(number_[word], low, &number_[word]) ? 1 : 0;
  borrow = __builtin_sub_overflow(number_[word + 1], high + borrow, &number_[word + 1]) ? 1 : 0;
  for (std::size_t i = word + 2; borrow != 0 && i < words; ++i) borrow = number_[i]-- == 0 ? 1 : 0;
}

template <class Float>
void exact_sum<Float>::merge(const exact_sum& other) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < words; ++i) {
    const unsigned __int128 sum = static_cast<unsigned __int128>(number_[i]) + other.number_[i] + carry;
    number_[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
  seen_ |= other.seen_;
}

template <class Float>
Float exact_sum<Float>::from_bits(bits of, bool is_negative) {
  return std::bit_cast<Float>(static_cast<bits>(of | (is_negative ? bits{1} << (sizeof(Float) * 8 - 1) : bits{0})));
}

template <class Float>
Float exact_sum<Float>::rounded() const {
  constexpr bits infinite = exponent_mask << mantissa_bits;
  if ((seen_ & nan) != 0 || (seen_ & (plus_infinity | minus_infinity)) == (plus_infinity | minus_infinity))
    return from_bits(infinite | bits{1} << (mantissa_bits - 1), false);
  if ((seen_ & (plus_infinity | minus_infinity)) != 0) return from_bits(infinite, (seen_ & minus_infinity) != 0);

  const bool is_negative = number_.back() >> 63 != 0;
  std::array<std::uint64_t, words> magnitude = number_;
  if (is_negative) {
    std::uint64_t carry = 1;
    for (std::uint64_t& each : magnitude) {
      each = ~each + carry;
      carry = carry != 0 && each == 0 ? 1 : 0;
    }
  }
  std::size_t top = words;  // the highest word with a bit
  while (top > 0 && magnitude[top - 1] == 0) --top;
  if (top == 0) return from_bits(0, seen_ == minus_zero);
  const auto highest = (top - 1) * 64 + static_cast<std::size_t>(std::bit_width(magnitude[top - 1])) - 1;
  // The mantissa begins there; its last bit is that of the smallest number, or above.
  const std::size_t last = highest > mantissa_bits ? highest - mantissa_bits : 0;
  const std::size_t shift = last % 64;
  std::uint64_t mantissa = magnitude[last / 64] >> shift;
  if (shift != 0 && last / 64 + 1 < words) mantissa |= magnitude[last / 64 + 1] << (64 - shift);
  // The hidden bit adds 1 to the exponent; a mantissa that is rounded up to the next power of two does it, too. What
  // is larger than any number is above the infinite one, up to the highest bit of the accumulator.
  bits found = static_cast<bits>(last << mantissa_bits) + static_cast<bits>(mantissa);
  if (last > 0) {
    const std::uint64_t half = std::uint64_t{1} << (last - 1) % 64;
    const std::uint64_t part = magnitude[(last - 1) / 64];
    const bool is_exactly_half =
        (part & (half - 1)) == 0 &&
        std::all_of(magnitude.begin(), magnitude.begin() + static_cast<std::ptrdiff_t>((last - 1) / 64),
                    [](std::uint64_t each) { return each == 0; });
    if ((part & half) != 0 && (!is_exactly_half || (mantissa & 1) != 0)) ++found;
  }
  return from_bits(std::min(found, infinite), is_negative);
}

template class exact_sum<float>;
template class exact_sum<double>;

}  // namespace tri::coll
