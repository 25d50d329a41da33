// Division by a number that is known before the loop: a multiplication and a shift (Granlund and Montgomery, Division
// by invariant integers using multiplication, PLDI 1994). Index arithmetic of tiles divides for every element; a
// division of the processor takes as long as ten of its other instructions.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace tri::arrays {

class divisor {
 public:
  constexpr divisor() = default;
  /// For quotients of 0 <= n < 2^63 by d, 1 <= d < 2^62.
  constexpr explicit divisor(std::int64_t d) : divisor_(d) {
    const auto value = static_cast<std::uint64_t>(d);
    int log2 = 0;  // rounded up
    while ((std::uint64_t{1} << log2) < value) ++log2;
    shift_ = 63 + log2;
    is_power_of_two_ = (value & (value - 1)) == 0;
    // With m = floor(2^shift / d) + 1 the error of n * m / 2^shift is below 1 / d for n < 2^63. m needs 64 bits.
    multiplier_ =
        is_power_of_two_ ? std::uint64_t{1} << 63 : static_cast<std::uint64_t>((wide{1} << shift_) / value) + 1;
  }
  constexpr std::int64_t value() const { return divisor_; }
  constexpr bool is_power_of_two() const { return is_power_of_two_; }
  /// n / d.
  constexpr std::int64_t quotient(std::int64_t n) const {
    if (is_power_of_two_) return n >> (shift_ - 63);
    return static_cast<std::int64_t>((static_cast<wide>(static_cast<std::uint64_t>(n)) * multiplier_) >> shift_);
  }

 private:
  __extension__ using wide = unsigned __int128;
  std::uint64_t multiplier_ = std::uint64_t{1} << 63;
  std::int64_t divisor_ = 1;
  int shift_ = 63;
  bool is_power_of_two_ = true;
};

}  // namespace tri::arrays

#pragma GCC visibility pop
