// Reductions: how the values of many elements become one. A reducer turns one element's value into a partial result,
// combines partial results, and computes the final value. Reducers are stateless types, passed as constants:
//
//   sum product minimum maximum logical_and logical_or bit_and bit_or bit_xor   one value from many
//   gather                        std::vector of all values, in order of element number
//   ordered(reducer)              the same value for every placement: combined strictly in order of element number
//   by(lambda)                    an associative, commutative function of your own: T(T, T)
//   a class of your own           where the partial result is of another type: see below
//   several(reducer, ...)         one reducer for each component of a std::tuple, all in one message
//   elementwise(reducer)          one for each element of containers of the same size: std::vector, std::array
//   immediately(reducer)          the same, combined and delivered before all messages that wait on the PEs concerned
//
// A reducer of your own is a class without state, whose partial results are default-constructible and can be sent:
//
//   struct mean {
//     template <class T> using partial = std::pair<T, long>;
//     template <class T> static partial<T> start(std::uint64_t element, T&& value) { return {value, 1}; }
//     template <class T> static void combine(std::pair<T, long>& into, std::pair<T, long>&& other);
//     template <class T> static double finish(std::pair<T, long>&& all) { return all.first / all.second; }
//   };
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)

namespace tri {
namespace objects {

/// A reducer made of an associative, commutative binary function.
template <class Function>
struct folding {
  template <class T>
  static constexpr bool accepts = requires(Function f, T a, T b) { f(std::move(a), std::move(b)); };
  template <class T>
  using partial = T;
  template <class T>
  static T start(std::uint64_t, T&& value) {
    return std::forward<T>(value);
  }
  template <class T>
  static void combine(T& into, T&& other) {
    static_assert(accepts<T>,
                  "this reducer does not combine two values of this type; for the elements of a std::vector or "
                  "std::array, write tri::elementwise(reducer)");
    if constexpr (accepts<T>) into = Function{}(std::move(into), std::forward<T>(other));
  }
  template <class T>
  static T finish(T&& partial) {
    return std::forward<T>(partial);
  }
  template <class T>
  static T fold(T&& a, T&& b) {
    return Function{}(std::forward<T>(a), std::forward<T>(b));
  }
};

/// The value of a barrier, and its reducer: it only matters that all have come.
struct nothing {
  friend bool operator==(nothing, nothing) { return true; }
};
struct count_of_arrivals {
  template <class T>
  using partial = nothing;
  static nothing start(std::uint64_t, nothing) { return {}; }
  static void combine(nothing&, nothing) {}
  static nothing finish(nothing) { return {}; }
};

/// A gathered value's number, and its place among those that came.
struct numbered_place {
  std::uint64_t number;
  std::size_t place;
};
void sort_by_number(std::vector<numbered_place>& values);

struct gathering {
  template <class T>
  using partial = std::vector<std::pair<std::uint64_t, T>>;
  template <class T>
  static partial<T> start(std::uint64_t number, T&& value) {
    partial<T> one;
    one.emplace_back(number, std::forward<T>(value));
    return one;
  }
  template <class T>
  static void combine(std::vector<T>& into, std::vector<T>&& other) {
    into.insert(into.end(), std::make_move_iterator(other.begin()), std::make_move_iterator(other.end()));
  }
  template <class T>
  static std::vector<T> finish(std::vector<std::pair<std::uint64_t, T>>&& parts) {
    std::vector<numbered_place> order;
    order.reserve(parts.size());
    for (const auto& part : parts) order.push_back({part.first, order.size()});
    sort_by_number(order);
    std::vector<T> values;
    values.reserve(parts.size());
    for (const numbered_place& each : order) values.push_back(std::move(parts[each.place].second));
    return values;
  }
};

/// A reducer whose parts and result are immediate messages.
template <class Reducer>
struct passing_the_queues : Reducer {
  static constexpr bool is_immediate = true;
};
template <class Reducer>
inline constexpr bool passes_the_queues = requires { Reducer::is_immediate; };

template <class Reducer>
struct in_order : gathering {
  static_assert(!passes_the_queues<Reducer>, "immediately() goes around the others: immediately(ordered(...))");
  template <class T>
  static T finish(std::vector<std::pair<std::uint64_t, T>>&& parts) {
    auto values = gathering::finish(std::move(parts));
    T result = std::move(values.front());
    for (std::size_t i = 1; i < values.size(); ++i) result = Reducer::fold(std::move(result), std::move(values[i]));
    return result;
  }
};

template <class... Reducer>
struct component_wise {
  static_assert(!(passes_the_queues<Reducer> || ...),
                "immediately() goes around the others: immediately(several(...))");
  template <class T>
  using partial = T;
  template <class T>
  static T start(std::uint64_t, T&& value) {
    return std::forward<T>(value);
  }
  template <class T>
  static void combine(T& into, T&& other) {
    static_assert(std::tuple_size_v<T> == sizeof...(Reducer), "several(): one reducer for each component of the tuple");
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(into) = Reducer::fold(std::move(std::get<I>(into)), std::move(std::get<I>(other)))), ...);
    }(std::index_sequence_for<Reducer...>{});
  }
  template <class T>
  static T finish(T&& partial) {
    return std::forward<T>(partial);
  }
};

template <class Reducer>
struct element_wise {
  static_assert(!passes_the_queues<Reducer>, "immediately() goes around the others: immediately(elementwise(...))");
  template <class T>
  using partial = T;
  template <class T>
  static T start(std::uint64_t, T&& value) {
    return std::forward<T>(value);
  }
  template <class T>
  static void combine(T& into, T&& other) {
    if (into.size() != other.size())
      throw std::invalid_argument("elementwise(): the containers have " + std::to_string(into.size()) + " and " +
                                  std::to_string(other.size()) + " elements");
    using element = typename T::value_type;
    auto from = other.begin();
    for (auto to = into.begin(); to != into.end(); ++to, ++from)  // by value: a std::vector<bool> has no references
      *to = Reducer::fold(element(std::move(*to)), element(std::move(*from)));
  }
  template <class T>
  static T finish(T&& partial) {
    return std::forward<T>(partial);
  }
  template <class T>
  static T fold(T&& a, T&& b) {
    combine(a, std::forward<T>(b));
    return std::forward<T>(a);
  }
};

struct add {
  template <class T>
    requires requires(T a, T b) { a + b; }
  T operator()(T&& a, T&& b) const {
    return static_cast<T>(a + b);
  }
};
struct multiply {
  template <class T>
    requires requires(T a, T b) { a* b; }
  T operator()(T&& a, T&& b) const {
    return static_cast<T>(a * b);
  }
};
struct lesser {
  template <class T>
    requires requires(T a, T b) { a < b; }
  T operator()(T&& a, T&& b) const {
    return b < a ? std::forward<T>(b) : std::forward<T>(a);
  }
};
struct greater {
  template <class T>
    requires requires(T a, T b) { a < b; }
  T operator()(T&& a, T&& b) const {
    return a < b ? std::forward<T>(b) : std::forward<T>(a);
  }
};
struct both {
  template <class T>
    requires requires(T a, T b) { a&& b; }
  T operator()(T&& a, T&& b) const {
    return static_cast<T>(a && b);
  }
};
struct either {
  template <class T>
    requires requires(T a, T b) { a || b; }
  T operator()(T&& a, T&& b) const {
    return static_cast<T>(a || b);
  }
};
struct bits_and {
  template <class T>
    requires requires(T a, T b) { a& b; }
  T operator()(T&& a, T&& b) const {
    return static_cast<T>(a & b);
  }
};
struct bits_or {
  template <class T>
    requires requires(T a, T b) { a | b; }
  T operator()(T&& a, T&& b) const {
    return static_cast<T>(a | b);
  }
};
struct bits_xor {
  template <class T>
    requires requires(T a, T b) { a ^ b; }
  T operator()(T&& a, T&& b) const {
    return static_cast<T>(a ^ b);
  }
};

template <class Reducer, class T>
using partial_of = typename Reducer::template partial<T>;
template <class Reducer, class T>
using result_of_reduction = decltype(Reducer::finish(std::declval<partial_of<Reducer, T>>()));

}  // namespace objects

inline constexpr objects::folding<objects::add> sum;
inline constexpr objects::folding<objects::multiply> product;
inline constexpr objects::folding<objects::lesser> minimum;
inline constexpr objects::folding<objects::greater> maximum;
inline constexpr objects::folding<objects::both> logical_and;
inline constexpr objects::folding<objects::either> logical_or;
inline constexpr objects::folding<objects::bits_and> bit_and;
inline constexpr objects::folding<objects::bits_or> bit_or;
inline constexpr objects::folding<objects::bits_xor> bit_xor;
inline constexpr objects::gathering gather;
template <class Reducer>
constexpr objects::in_order<Reducer> ordered(Reducer) {
  return {};
}
template <class Reducer>
constexpr objects::passing_the_queues<Reducer> immediately(Reducer) {
  return {};
}
template <class Function>
constexpr objects::folding<Function> by(Function) {
  return {};
}
template <class... Reducer>
constexpr objects::component_wise<Reducer...> several(Reducer...) {
  return {};
}

template <class Reducer>
constexpr objects::element_wise<Reducer> elementwise(Reducer) {
  return {};
}

}  // namespace tri

#pragma GCC visibility pop
