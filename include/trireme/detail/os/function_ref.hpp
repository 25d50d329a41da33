// A callable parameter: any callable, not copied; it must outlive the call. Like std::function_ref of C++26; the
// standard library's <functional> would be a tenth of the code that our public headers make a program compile.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)

namespace tri::os {

/// Calls it; an unused result is discarded. As std::invoke_r of C++23, but for members.
template <class Result, class Callable, class... A>
Result call_as(Callable& callable, A&&... arguments) {
  if constexpr (std::is_void_v<Result>)
    static_cast<void>(callable(std::forward<A>(arguments)...));
  else
    return callable(std::forward<A>(arguments)...);
}

template <class Signature>
class function_ref;

template <class Result, class... A>
class function_ref<Result(A...)> {
 public:
  // NOLINTBEGIN(google-explicit-constructor,bugprone-forwarding-reference-overload): that is its purpose
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, function_ref> &&
             std::is_invocable_r_v<Result, Callable&, A...> && !std::is_member_pointer_v<std::remove_cvref_t<Callable>>)
  function_ref(Callable&& callable) noexcept {
    using type = std::remove_reference_t<Callable>;
    if constexpr (std::is_function_v<type>) {
      callable_ = reinterpret_cast<void*>(&callable);
      call_ = [](void* function, A... arguments) -> Result {
        return call_as<Result>(*reinterpret_cast<type*>(function), std::forward<A>(arguments)...);
      };
    } else {
      callable_ = const_cast<void*>(static_cast<const void*>(std::addressof(callable)));
      call_ = [](void* object, A... arguments) -> Result {
        return call_as<Result>(*static_cast<type*>(object), std::forward<A>(arguments)...);
      };
    }
  }
  // NOLINTEND(google-explicit-constructor,bugprone-forwarding-reference-overload)
  Result operator()(A... arguments) const { return call_(callable_, std::forward<A>(arguments)...); }

 private:
  void* callable_ = nullptr;
  Result (*call_)(void*, A...) = nullptr;
};

}  // namespace tri::os

#pragma GCC visibility pop
