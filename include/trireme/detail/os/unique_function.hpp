// A callable that is kept: any type, owned, moved and never copied. As std::move_only_function of C++23.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "trireme/detail/os/function_ref.hpp"

#pragma GCC visibility push(default)

namespace tri::os {

template <class Signature>
class unique_function;

/// Callables of up to three words that can be moved without an exception are stored inline. Calling an empty one is an
/// error.
template <class Result, class... A>
class unique_function<Result(A...)> {
 public:
  unique_function() = default;
  unique_function(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, unique_function> &&
             std::is_invocable_r_v<Result, std::decay_t<Callable>&, A...> &&
             !std::is_member_pointer_v<std::decay_t<Callable>>)
  unique_function(Callable&& callable) {  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
    using type = std::decay_t<Callable>;
    if constexpr (lies_inside<type>) {
      new (place_) type(std::forward<Callable>(callable));
      operations_ = &of<type>;
    } else {
      new (place_) type*(new type(std::forward<Callable>(callable)));
      operations_ = &of_pointer<type>;
    }
  }
  unique_function(unique_function&& other) noexcept { take(other); }
  unique_function& operator=(unique_function&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~unique_function() { reset(); }

  explicit operator bool() const { return operations_ != nullptr; }
  bool operator==(std::nullptr_t) const { return operations_ == nullptr; }
  Result operator()(A... arguments) const { return operations_->call(place_, std::forward<A>(arguments)...); }

 private:
  struct operations {
    Result (*call)(std::byte*, A&&...);
    void (*move)(std::byte* from, std::byte* to) noexcept;  // and destroys the source
    void (*destroy)(std::byte*) noexcept;
  };
  static constexpr std::size_t bytes_inside = 3 * sizeof(void*);
  // NOLINTBEGIN(misc-redundant-expression): for some T
  template <class T>
  static constexpr bool lies_inside =
      sizeof(T) <= bytes_inside && alignof(T) <= alignof(void*) && std::is_nothrow_move_constructible_v<T>;
  // NOLINTEND(misc-redundant-expression)
  template <class T>
  static T& at(std::byte* place) {
    return *std::launder(reinterpret_cast<T*>(place));
  }
  template <class T>
  static constexpr operations of{[](std::byte* place, A&&... arguments) -> Result {
                                   return call_as<Result>(at<T>(place), std::forward<A>(arguments)...);
                                 },
                                 [](std::byte* from, std::byte* to) noexcept {
                                   new (to) T(std::move(at<T>(from)));
                                   at<T>(from).~T();
                                 },
                                 [](std::byte* place) noexcept { at<T>(place).~T(); }};
  template <class T>
  static constexpr operations of_pointer{[](std::byte* place, A&&... arguments) -> Result {
                                           return call_as<Result>(*at<T*>(place), std::forward<A>(arguments)...);
                                         },
                                         [](std::byte* from, std::byte* to) noexcept { new (to) T*(at<T*>(from)); },
                                         [](std::byte* place) noexcept { delete at<T*>(place); }};

  void take(unique_function& other) noexcept {
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_ != nullptr) operations_->move(other.place_, place_);
  }
  void reset() noexcept {
    if (operations_ != nullptr) std::exchange(operations_, nullptr)->destroy(place_);
  }

  const operations* operations_ = nullptr;
  alignas(void*) mutable std::byte place_[bytes_inside];
};

}  // namespace tri::os

#pragma GCC visibility pop
