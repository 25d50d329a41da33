// Entry methods: compile-time properties of a member function, the handler that runs it when its message arrives, and
// the registration that numbers the handler before main.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/detail/objects/arguments.hpp"
#include "trireme/detail/sched/handler_table.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/task.hpp"

#pragma GCC visibility push(default)

namespace tri::objects {

class local_collection;
class element_base;

template <class R, class C, class... P>
struct member_function_facts {
  using object = C;
  using result = R;
  using arguments = std::tuple<std::decay_t<P>...>;
  static constexpr bool refers_to_callers =
      !((!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>)&&...);
  static_assert(!refers_to_callers,
                "an entry method takes its parameters by value, const reference or rvalue reference: there is no "
                "caller's variable to refer to");
  static_assert(!is_task<R> || (!std::is_reference_v<P> && ...),
                "an entry method that is a coroutine takes its parameters by value: the message is gone after its "
                "first co_await");
  static_assert(
      (may_be_argument<std::decay_t<P>>() && ...),
      "Trireme: a parameter of this entry method can be copied but not sent to another process: give its type a member "
      "'template <class Archive> void serialize(Archive&)', make it trivially copyable, or wrap it in "
      "tri::local_only<T>");
  static constexpr bool copyable_arguments = (is_copyable<std::decay_t<P>> && ...);
  template <class A>
  static constexpr bool accepts_tuple = std::is_constructible_v<arguments, A>;
};

template <class F>
struct member_function;
template <class R, class C, class... P>
struct member_function<R (C::*)(P...)> : member_function_facts<R, C, P...> {};
template <class R, class C, class... P>
struct member_function<R (C::*)(P...) const> : member_function_facts<R, C, P...> {};
template <class R, class C, class... P>
struct member_function<R (C::*)(P...) noexcept> : member_function_facts<R, C, P...> {};
template <class R, class C, class... P>
struct member_function<R (C::*)(P...) const noexcept> : member_function_facts<R, C, P...> {};

template <auto Method>
struct method_facts : member_function<decltype(Method)> {
  using base = member_function<decltype(Method)>;
  /// Calls the method and moves the arguments into it.
  static decltype(auto) invoke(typename base::object& object, auto& arguments) {
    if constexpr (base::refers_to_callers)  // refused above, and one message is enough
      return static_cast<typename base::result (*)()>(nullptr)();
    else
      return std::apply([&](auto&... argument) -> decltype(auto) { return (object.*Method)(std::move(argument)...); },
                        arguments);
  }
  /// Calls the method and leaves the arguments as they are.
  static decltype(auto) invoke_shared(typename base::object& object, const typename base::arguments& arguments) {
    return std::apply(
        [&](const auto&... argument) -> decltype(auto) {
          return (object.*Method)(std::decay_t<decltype(argument)>(argument)...);
        },
        arguments);
  }
};

/// Ends the job: an exception left an entry method without a waiting caller. Names object, index, method and PE.
[[noreturn]] void report_escaped(sched::pe& here, element_base& object, const std::string& method,
                                 std::exception_ptr error);
/// The same as text, for a caller's future.
std::string describe_escaped(sched::pe& here, element_base& object, const std::string& method,
                             std::exception_ptr error);
/// Why a method that had not ended gives no result.
std::exception_ptr deleted_too_early();

/// Runs a method whose arguments have arrived. Starts it if it is a coroutine.
template <auto Method>
void run_method(sched::pe& here, element_base& self, typename method_facts<Method>::object& object,
                typename method_facts<Method>::arguments& arguments);

template <auto Method>
struct entry_method {
  using facts = method_facts<Method>;
  static void deliver(sched::pe& here, sched::envelope& message);
  static void run(sched::pe& here, element_base& self, sched::envelope& message);
  static void make_portable(sched::pe& here, sched::envelope& message);

  static std::uint32_t number() {
    static const std::uint32_t registered =
        register_handler_of<typename facts::arguments>(&deliver, method_name<Method>(), &make_portable);
    return registered;
  }
  static inline const std::uint32_t handler = number();
  /// Set before main in programs in which some coroutine awaits the method with `when`; see mark_awaited.
  static inline bool is_awaited = false;
};

/// For what cannot wait for a coroutine. `what` is the name of the operation.
template <auto Method>
void refuse_awaited_method(const char* what) {
  if (entry_method<Method>::is_awaited)
    throw std::logic_error(std::string(what) + ": " + method_name<Method>() +
                           " is awaited by a coroutine with tri::when and cannot be reduced over");
}

/// The use of `when<&Method>` anywhere in a program instantiates this, whose initialiser runs before main.
template <auto Method>
struct mark_awaited {
  static inline const bool done = (entry_method<Method>::is_awaited = true);
};

}  // namespace tri::objects

#pragma GCC visibility pop
