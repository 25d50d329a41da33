// Single elements where they are directly accessible: whole loads and stores, atomic updates.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#pragma GCC visibility push(default)

namespace tri::arrays {

enum class update : std::uint8_t { add, bit_and, bit_or, bit_xor, minimum, maximum, exchange };

template <class T>
inline constexpr bool is_word =
    std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
/// What can be added and compared atomically; and what has bits.
template <class T>
inline constexpr bool is_number = is_word<T> && std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool has_bits = is_number<T> && std::is_integral_v<T>;

// Elements of one word are accessed atomically, so PEs of a host see old or new values. relaxed: order comes from
// fences, barriers and messages.
template <class T>
T load(const T* place) {
  if constexpr (is_word<T>)
    return std::atomic_ref<T>(*const_cast<T*>(place)).load(std::memory_order_relaxed);
  else
    return *place;
}
template <class T>
void store(T* place, const T& value) {
  if constexpr (is_word<T>)
    std::atomic_ref<T>(*place).store(value, std::memory_order_relaxed);
  else
    *place = value;
}

/// Applies an operation that T has atomically; returns the value before.
template <class T>
T apply(update what, T* place, T value) {
  static_assert(is_word<T>, "updates are for elements of 1, 2, 4 or 8 bytes");
  const std::atomic_ref<T> word(*place);
  if (what == update::exchange) return word.exchange(value, std::memory_order_relaxed);
  if constexpr (has_bits<T>) {
    if (what == update::bit_and) return word.fetch_and(value, std::memory_order_relaxed);
    if (what == update::bit_or) return word.fetch_or(value, std::memory_order_relaxed);
    if (what == update::bit_xor) return word.fetch_xor(value, std::memory_order_relaxed);
  }
  T before = word.load(std::memory_order_relaxed);
  if constexpr (is_number<T>) {
    if (what == update::add) return word.fetch_add(value, std::memory_order_relaxed);
    while ((what == update::minimum ? value < before : before < value) &&
           !word.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
    }
  }
  return before;
}

/// Returns the value before: `desired` was stored if that equals `expected`.
template <class T>
T compare_exchange(T* place, T expected, T desired) {
  static_assert(is_word<T>, "compare_exchange is for elements of 1, 2, 4 or 8 bytes");
  std::atomic_ref<T>(*place).compare_exchange_strong(expected, desired, std::memory_order_relaxed);
  return expected;
}

}  // namespace tri::arrays

#pragma GCC visibility pop
