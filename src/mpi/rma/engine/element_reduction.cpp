#include "mpi/rma/engine/element_reduction.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

namespace tri::mpi {
namespace {

bool is_integer(element_kind kind) {
  return kind >= element_kind::int8 && kind <= element_kind::uint64;  // of all sizes and both signs
}
bool is_logical(element_kind kind) { return kind >= element_kind::boolean && kind <= element_kind::logical64; }
bool is_real(element_kind kind) { return kind >= element_kind::float16 && kind <= element_kind::float128; }
bool is_complex(element_kind kind) {
  return kind >= element_kind::complex_float16 && kind <= element_kind::complex_float128;
}

// Each access of an element is acq_rel: an element may be the flag that other memory is ready, and on this processor
// the order costs nothing. It pairs with the other accesses to the same element. Ranks that need more (two elements, or
// an element and plain memory) flush. pairs: window.element, window.order
template <class T, class Combine>
T exchange_with(T* target, Combine&& combine) {
  const std::atomic_ref<T> element(*target);
  T seen = element.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  while (!element.compare_exchange_weak(seen, combine(seen), std::memory_order_acq_rel,  // pairs: window.element
                                        std::memory_order_relaxed)) {
  }
  return seen;
}

// Sums and products go round as those of unsigned numbers do.
template <class T>
T reduce_one(reduction operation, T* target, T operand) {
  using unsigned_type = std::make_unsigned_t<T>;
  const std::atomic_ref<T> element(*target);
  constexpr auto order = std::memory_order_acq_rel;  // pairs: window.element
  const auto truth = [](bool value) { return static_cast<T>(value ? 1 : 0); };
  switch (operation) {
    case reduction::replace:
      return element.exchange(operand, order);
    case reduction::nothing:
      return element.load(std::memory_order_acquire);  // pairs: window.element
    case reduction::sum:
      return element.fetch_add(operand, order);
    case reduction::bits_and:
      return element.fetch_and(operand, order);
    case reduction::bits_or:
      return element.fetch_or(operand, order);
    case reduction::bits_xor:
      return element.fetch_xor(operand, order);
    case reduction::product:
      return exchange_with(target, [&](T seen) {
        return static_cast<T>(static_cast<unsigned_type>(seen) * static_cast<unsigned_type>(operand));
      });
    case reduction::minimum:
      return exchange_with(target, [&](T seen) { return std::min(seen, operand); });
    case reduction::maximum:
      return exchange_with(target, [&](T seen) { return std::max(seen, operand); });
    case reduction::logical_and:
      return exchange_with(target, [&](T seen) { return truth(seen != 0 && operand != 0); });
    case reduction::logical_or:
      return exchange_with(target, [&](T seen) { return truth(seen != 0 || operand != 0); });
    case reduction::logical_xor:
      return exchange_with(target, [&](T seen) { return truth((seen != 0) != (operand != 0)); });
    case reduction::minimum_and_place:
    case reduction::maximum_and_place:
      break;  // of pairs
  }
  return T();
}

template <class T>
void reduce_all(reduction operation, void* target, const std::byte* operands, std::byte* before, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T operand{};
    if (operands != nullptr) std::memcpy(&operand, operands + i * sizeof(T), sizeof(T));
    const T was = reduce_one(operation, static_cast<T*>(target) + i, operand);
    if (before != nullptr) std::memcpy(before + i * sizeof(T), &was, sizeof(T));
  }
}

// Loops that the compiler makes vector instructions of.
template <class T, class Combine>
[[gnu::always_inline]] inline void combine_loop(std::byte* target, const std::byte* first, const std::byte* second,
                                                std::size_t count, Combine&& combine) {
  for (std::size_t i = 0; i < count; ++i) {
    T one, other;
    std::memcpy(&one, first + i * sizeof(T), sizeof(T));
    std::memcpy(&other, second + i * sizeof(T), sizeof(T));
    one = combine(one, other);
    std::memcpy(target + i * sizeof(T), &one, sizeof(T));
  }
}
#ifdef __x86_64__
// The wide instructions that most processors have, but not all that run these programs.
template <class T, class Combine>
[[gnu::target("avx2")]] void combine_by_avx2(std::byte* target, const std::byte* first, const std::byte* second,
                                             std::size_t count, Combine combine) {
  combine_loop<T>(target, first, second, count, combine);
}
#endif
template <class T, class Combine>
void combine_all(std::byte* target, const std::byte* first, const std::byte* second, std::size_t count,
                 Combine combine) {
#ifdef __x86_64__
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return combine_by_avx2<T>(target, first, second, count, combine);
#endif
  combine_loop<T>(target, first, second, count, combine);
}

template <class T>
void combine_plainly(reduction operation, std::byte* target, const std::byte* first, const std::byte* second,
                     std::size_t count) {
  const auto all = [&](auto&& combine) { combine_all<T>(target, first, second, count, combine); };
  switch (operation) {
    case reduction::replace:
      std::memcpy(target, second, count * sizeof(T));
      return;
    case reduction::sum:
      return all([](T a, T b) { return static_cast<T>(a + b); });
    case reduction::product:
      return all([](T a, T b) { return static_cast<T>(a * b); });
    case reduction::minimum:
      return all([](T a, T b) { return b < a ? b : a; });
    case reduction::maximum:
      return all([](T a, T b) { return a < b ? b : a; });
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (operation) {
      case reduction::bits_and:
        return all([](T a, T b) { return static_cast<T>(a & b); });
      case reduction::bits_or:
        return all([](T a, T b) { return static_cast<T>(a | b); });
      case reduction::bits_xor:
        return all([](T a, T b) { return static_cast<T>(a ^ b); });
      case reduction::logical_and:
        return all([](T a, T b) { return static_cast<T>(a != 0 && b != 0); });
      case reduction::logical_or:
        return all([](T a, T b) { return static_cast<T>(a != 0 || b != 0); });
      case reduction::logical_xor:
        return all([](T a, T b) { return static_cast<T>((a != 0) != (b != 0)); });
      default:
        break;
    }
  }
}

template <class T>
void compare_and_swap_one(void* target, const void* expected, const void* desired, void* before) {
  T was{}, becomes{};
  std::memcpy(&was, expected, sizeof(T));
  std::memcpy(&becomes, desired, sizeof(T));
  std::atomic_ref(*static_cast<T*>(target))
      .compare_exchange_strong(was, becomes, std::memory_order_acq_rel,  // pairs: window.element
                               std::memory_order_acquire);               // pairs: window.element
  std::memcpy(before, &was, sizeof(T));
}

}  // namespace

bool is_defined(reduction operation, element_kind kind, bool are_pairs) {
  switch (operation) {
    case reduction::replace:
    case reduction::nothing:
      return true;
    case reduction::minimum_and_place:
    case reduction::maximum_and_place:
      return are_pairs;
    case reduction::sum:
    case reduction::product:
      return !are_pairs && (is_integer(kind) || is_real(kind) || is_complex(kind));
    case reduction::minimum:
    case reduction::maximum:
      return !are_pairs && (is_integer(kind) || is_real(kind));
    case reduction::logical_and:
    case reduction::logical_or:
    case reduction::logical_xor:
      return !are_pairs && (is_integer(kind) || is_logical(kind));
    case reduction::bits_and:
    case reduction::bits_or:
    case reduction::bits_xor:
      return !are_pairs && (is_integer(kind) || kind == element_kind::byte);
  }
  return false;
}

void reduce_atomically(reduction operation, element_kind kind, void* target, const std::byte* operands,
                       std::byte* before, std::size_t count) {
  switch (kind) {
    case element_kind::int32:
      return reduce_all<std::int32_t>(operation, target, operands, before, count);
    case element_kind::uint32:
      return reduce_all<std::uint32_t>(operation, target, operands, before, count);
    case element_kind::int64:
      return reduce_all<std::int64_t>(operation, target, operands, before, count);
    case element_kind::uint64:
      return reduce_all<std::uint64_t>(operation, target, operands, before, count);
    default:
      return;  // excluded by is_single_instruction
  }
}

bool has_plain_loop(reduction operation, element_kind kind) {
  if (is_single_instruction(kind))
    return operation != reduction::minimum_and_place && operation != reduction::maximum_and_place;
  if (kind != element_kind::float32 && kind != element_kind::float64) return false;
  return operation == reduction::replace || operation == reduction::nothing || operation == reduction::sum ||
         operation == reduction::product || operation == reduction::minimum || operation == reduction::maximum;
}

void combine_plainly(reduction operation, element_kind kind, std::byte* target, const std::byte* first,
                     const std::byte* second, std::size_t count) {
  // Sums and products go round: as of unsigned numbers.
  const bool goes_round = operation == reduction::sum || operation == reduction::product;
  switch (kind) {
    case element_kind::int32:
      if (!goes_round) return combine_plainly<std::int32_t>(operation, target, first, second, count);
      [[fallthrough]];
    case element_kind::uint32:
      return combine_plainly<std::uint32_t>(operation, target, first, second, count);
    case element_kind::int64:
      if (!goes_round) return combine_plainly<std::int64_t>(operation, target, first, second, count);
      [[fallthrough]];
    case element_kind::uint64:
      return combine_plainly<std::uint64_t>(operation, target, first, second, count);
    case element_kind::float32:
      return combine_plainly<float>(operation, target, first, second, count);
    case element_kind::float64:
      return combine_plainly<double>(operation, target, first, second, count);
    default:
      return;  // excluded by has_plain_loop
  }
}

void reduce_plainly(reduction operation, element_kind kind, std::byte* target, const std::byte* operands,
                    std::byte* before, std::size_t count) {
  if (before != nullptr) std::memcpy(before, target, count * facts_of(kind).bytes);
  if (operation != reduction::nothing) combine_plainly(operation, kind, target, target, operands, count);
}

void compare_and_swap_atomically(element_kind kind, void* target, const void* expected, const void* desired,
                                 void* before) {
  if (facts_of(kind).bytes == sizeof(std::uint32_t))
    compare_and_swap_one<std::uint32_t>(target, expected, desired, before);
  else
    compare_and_swap_one<std::uint64_t>(target, expected, desired, before);
}

}  // namespace tri::mpi
