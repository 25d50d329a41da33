// Waiting for any one of several things, and for at most some time.
//
//   auto first = co_await select(when<&T::work>(), when<&T::stop>(), tri::after(10ms), answer);
//   if (first.index() == 0) ...                       // std::get<0>(first) is the result of `work`
//   std::optional<int> value = co_await tri::with_timeout(other.call<&U::ask>(), 10ms);
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <coroutine>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "trireme/detail/objects/element.hpp"
#include "trireme/future.hpp"
#include "trireme/run.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {

/// when(), when_n() or when_if().
template <class Awaiter>
class message_alternative {
 public:
  using returned = decltype(std::declval<Awaiter&>().await_resume());
  explicit message_alternative(Awaiter&& awaiter) : awaiter_(std::move(awaiter)) {}
  element_base* self() const { return &awaiter_.self(); }
  bool take_now() { return awaiter_.self().satisfy_waiter_at_once(waiter()); }
  bool has_its_messages() { return waiter().satisfied(); }
  void add_waiter(std::vector<message_waiter*>& all) { all.push_back(&waiter()); }
  void begin(std::coroutine_handle<>) {}
  bool is_ready() const { return false; }
  void end() {}
  returned take() { return awaiter_.await_resume(); }

 private:
  message_waiter& waiter() { return *awaiter_.wanted().front(); }
  Awaiter awaiter_;
};

/// A future that the caller keeps (`Future` is a reference), or that ends with the wait.
template <class T, class Future>
class future_alternative {
 public:
  using returned = T;
  explicit future_alternative(Future&& result) : future_(std::forward<Future>(result)) {}
  element_base* self() const { return nullptr; }
  bool take_now() { return future_.ready(); }
  bool has_its_messages() const { return false; }
  void add_waiter(std::vector<message_waiter*>&) {}
  void begin(std::coroutine_handle<> coroutine) { wait_.emplace(future_).await_suspend(coroutine); }
  bool is_ready() const { return future_.ready(); }
  void end() { wait_.reset(); }
  T take() { return future_awaiter<T>(future_).await_resume(); }

 private:
  Future future_;
  std::optional<future_awaiter<T>> wait_;
};

template <class A>
struct alternative_of {
  static_assert(sizeof(A) == 0,
                "select, with_timeout: an alternative is when(), when_n(), when_if() or a tri::future; "
                "for all(), let a coroutine of its own wait for it");
};
template <class Result, class Waiter>
struct alternative_of<when_awaiter<Result, Waiter>> {
  using type = message_alternative<when_awaiter<Result, Waiter>>;
};
template <class T>
struct alternative_of<future<T>> {
  using type = future_alternative<T, future<T>>;
};
template <class T>
struct alternative_of<future<T>&> {
  using type = future_alternative<T, future<T>&>;
};

/// The first of several alternatives. Whatever happens to the coroutine, nothing refers to it afterwards.
template <class... Alternative>
class select_awaiter {
 public:
  using result = std::variant<stored<typename Alternative::returned>...>;
  template <class... A>
  explicit select_awaiter(std::in_place_t, A&&... alternatives) : alternatives_(std::forward<A>(alternatives)...) {}
  select_awaiter(const select_awaiter&) = delete;
  select_awaiter& operator=(const select_awaiter&) = delete;
  ~select_awaiter() { end(); }

  bool await_ready() {
    std::size_t number = 0;
    each([&](auto& one) {
      if (decided_ == undecided && one.take_now()) decided_ = number;
      ++number;
    });
    return decided_ != undecided;
  }
  void await_suspend(std::coroutine_handle<> coroutine) {
    std::vector<message_waiter*> wanted;
    each([&](auto& one) {
      one.add_waiter(wanted);
      if (self_ == nullptr) self_ = one.self();
    });
    if (!wanted.empty()) {
      first_waiter_ = wanted.front();
      self_->wait_for_any_message(std::move(wanted), coroutine);
    }
    each([&](auto& one) { one.begin(coroutine); });
  }
  result await_resume() {
    if (decided_ == undecided) {  // messages that were taken count, whatever else is ready by now
      find([](auto& one) { return one.has_its_messages(); });
      if (decided_ != undecided) first_waiter_ = nullptr;
      find([](auto& one) { return one.is_ready(); });
    }
    end();
    std::optional<result> chosen;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((I == decided_ ? take<I>(chosen) : void()), ...);
    }(std::index_sequence_for<Alternative...>());
    return std::move(*chosen);
  }

 private:
  static constexpr std::size_t undecided = ~std::size_t{0};
  void each(auto&& visit) {
    std::apply([&](auto&... one) { (visit(one), ...); }, alternatives_);
  }
  void find(auto&& is_it) {
    std::size_t number = 0;
    each([&](auto& one) {
      if (decided_ == undecided && is_it(one)) decided_ = number;
      ++number;
    });
  }
  template <std::size_t I>
  void take(std::optional<result>& chosen) {
    auto& one = std::get<I>(alternatives_);
    if constexpr (std::is_void_v<typename std::remove_reference_t<decltype(one)>::returned>) {
      one.take();
      chosen.emplace(std::in_place_index<I>);
    } else {
      chosen.emplace(std::in_place_index<I>, one.take());
    }
  }
  void end() {
    if (first_waiter_ != nullptr) self_->forget_waiter(*std::exchange(first_waiter_, nullptr));
    each([](auto& one) { one.end(); });
  }

  std::tuple<Alternative...> alternatives_;
  element_base* self_ = nullptr;
  message_waiter* first_waiter_ = nullptr;  // while the element knows of the wait
  std::size_t decided_ = undecided;
};

/// select() of one thing and a timer.
template <class Alternative>
class timeout_awaiter {
 public:
  using returned = typename Alternative::returned;
  timeout_awaiter(auto&& awaited, future<void>&& timer)
      : first_(std::in_place, std::forward<decltype(awaited)>(awaited), std::move(timer)) {}
  bool await_ready() { return first_.await_ready(); }
  void await_suspend(std::coroutine_handle<> coroutine) { first_.await_suspend(coroutine); }
  auto await_resume() {
    auto first = first_.await_resume();
    if constexpr (std::is_void_v<returned>)
      return first.index() == 0;
    else
      return first.index() == 0 ? std::optional<returned>(std::get<0>(std::move(first))) : std::nullopt;
  }

 private:
  select_awaiter<Alternative, future_alternative<void, future<void>>> first_;
};

}  // namespace objects

/// In a coroutine: `auto first = co_await select(alternative, ...)` waits for any one of them and yields a std::variant
/// of their results, whose index() says which one it was (std::monostate for one without a result). Alternatives are
/// `when`, `when_n`, `when_if` of one element, and futures: `tri::after(...)`, the result of a call, a future that the
/// coroutine keeps. If several are there at once, it is the first of the list. Messages of the others are kept for
/// whatever awaits them; a future that was passed by reference may be awaited again, one that was moved in ends. A
/// future that fails throws its error here. An alternative `when_n` takes nothing until all its messages are there.
template <class... Alternative>
[[nodiscard]] auto select(Alternative&&... alternatives) {
  static_assert(sizeof...(Alternative) > 0, "select: nothing to wait for");
  return objects::select_awaiter<typename objects::alternative_of<std::conditional_t<
      std::is_lvalue_reference_v<Alternative>, Alternative, std::remove_cvref_t<Alternative>>>::type...>(
      std::in_place, std::forward<Alternative>(alternatives)...);
}

/// In a coroutine: `co_await with_timeout(awaited, duration)` waits for a future, `when`, `when_n` or `when_if`, but no
/// longer than that: yields a std::optional of its result, without a value when the time was up; for one without a
/// result, whether it came. A future that was moved in ends then, and the answer to its call is dropped; one that was
/// passed by reference may be awaited again.
template <class Awaited, objects::time_span Duration>
[[nodiscard]] auto with_timeout(Awaited&& awaited, const Duration& longest) {
  using alternative = typename objects::alternative_of<
      std::conditional_t<std::is_lvalue_reference_v<Awaited>, Awaited, std::remove_cvref_t<Awaited>>>::type;
  return objects::timeout_awaiter<alternative>(std::forward<Awaited>(awaited), after(longest));
}

}  // namespace tri

#pragma GCC visibility pop
