// Message priorities: integers and bit vectors in one order. Smaller comes first; a message without a priority counts
// as integer 0. Bit vectors compare lexicographically, a prefix before its extensions (so the nodes of a search tree
// come in depth-first order); an integer is the 32-bit vector of its offset binary form, hence both kinds mix.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)

namespace tri {

class priority {
 public:
  static constexpr unsigned most_bits = 120;

  constexpr priority() : priority(0) {}
  constexpr priority(std::int32_t value)  // NOLINT(google-explicit-constructor): `with(-5)` should just work
      : high_((static_cast<std::uint64_t>(static_cast<std::uint32_t>(value) ^ 0x80000000u)) << 32), low_(32) {}

  /// A bit vector of at most 120 bits, the most significant first. Throws std::length_error.
  static constexpr priority bits(std::initializer_list<bool> vector) {
    if (vector.size() > most_bits)
      throw std::length_error("priority: bit vector of " + std::to_string(vector.size()) +
                              " bits; at most 120 are possible");
    priority result;
    result.high_ = 0;
    result.low_ = 0;
    for (const bool bit : vector) result = result.extended(bit, 1);
    return result;
  }
  /// This vector followed by the `count` lowest bits of `value`: the usual way to number the children of a node.
  constexpr priority extended(std::uint64_t value, unsigned count) const {
    priority result = *this;
    for (unsigned i = count; i-- > 0;) {
      const std::uint64_t position = result.low_ & length_mask;
      if (position >= most_bits) throw std::length_error("priority: bit vector longer than 120 bits");
      const std::uint64_t bit = i < 64 ? (value >> i) & 1 : 0;
      if (position < 64)
        result.high_ |= bit << (63 - position);
      else
        result.low_ |= bit << (127 - position);
      ++result.low_;
    }
    return result;
  }
  constexpr unsigned length_bits() const { return static_cast<unsigned>(low_ & length_mask); }
  /// The same priority, last in, first out: before all of the same priority that came earlier.
  constexpr priority last_in_first_out() const {
    priority result = *this;
    result.low_ |= newest_first;
    return result;
  }
  constexpr bool is_last_in_first_out() const { return (low_ & newest_first) != 0; }
  /// Without that.
  constexpr priority level() const {
    priority result = *this;
    result.low_ &= ~newest_first;
    return result;
  }
  friend constexpr auto operator<=>(const priority&, const priority&) = default;

 private:
  static constexpr std::uint64_t length_mask = 0x7f;
  static constexpr std::uint64_t newest_first = 0x80;

  std::uint64_t high_;  // bits 0..63 of the vector, the first one on top
  // Bits 64..119, then in the lowest byte newest_first and the length (a prefix sorts before its extensions).
  std::uint64_t low_;
};
static_assert(sizeof(priority) == 16);

/// For `x.with(tri::lifo)`: last in, first out, among the messages of priority 0.
inline constexpr priority lifo = priority(0).last_in_first_out();

}  // namespace tri

#pragma GCC visibility pop
