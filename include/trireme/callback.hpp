// Callbacks: where a result goes, as plain data that may be sent anywhere: to a promise, to a method of an element, of
// all elements of a collection or of a section, to a function on a PE, to the end of the job, or nowhere.
//
//   tri::callback<double> done = tri::to<&Solver::residual>(solvers);    // a broadcast: every element gets the result
//   contribute(error, tri::maximum, done);
//   contribute(tri::to<&Main::all_are_here>(main_object));               // a barrier
//
// `to` is declared beside the handle that it takes: here for elements, in array.hpp, section.hpp, nodegroup.hpp and
// run.hpp for the others.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/detail/objects/element_ref.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Targets of any callback: the job ends with status 0 as by tri::exit (for a status: `to<&tri::exit>(0)`); the value
/// is dropped.
struct to_exit_t {};
struct to_nothing_t {};
inline constexpr to_exit_t to_exit;
inline constexpr to_nothing_t to_nothing;

namespace objects {

enum class callback_kind : std::uint8_t {
  none,     // made by default: must not be used
  promise,  // `place` and `object` name it
  handler,  // a callback_handler
  end_of_the_job,
  nothing,
};

/// A callback without the type of its value; plain data.
struct callback_target {
  std::uint32_t handler = 0;
  std::uint32_t place = 0;      // a collection, or a PE
  std::uint64_t object = 0;     // an element, a process, a section; the name of a future
  std::uint64_t reference = 0;  // the method's first argument, if the callback gives it one
  callback_kind kind = callback_kind::none;
  bool takes_value = false;
};

/// Ends the job when there is no such handler: another process has sent the callback.
void check_callback_handler(sched::pe& here, std::uint32_t handler);
[[noreturn]] void throw_callback_without_target();

/// What the target of a callback gets: its method's arguments without the reference number.
template <class Arguments, bool HasReference>
struct callback_value {
  static_assert(sizeof(Arguments) == 0,
                "the method of a callback takes the value and nothing else, or nothing; with "
                "`to<&T::method>(target, reference)` the reference number in front of that");
};
template <>
struct callback_value<std::tuple<>, false> {
  using type = void;
};
template <class T>
struct callback_value<std::tuple<T>, false> {
  using type = T;
};
template <class Reference>
struct callback_value<std::tuple<Reference>, true> {
  using type = void;
};
template <class Reference, class T>
struct callback_value<std::tuple<Reference, T>, true> {
  using type = T;
};

/// Runs on the PE that has the value, as a function, and sends it on. `Target` has the parameters of what gets it
/// (arguments), name(), and send(here, message, at_once, arguments...).
template <class Target, bool HasReference, class T>
struct callback_handler {
  using tuple = std::conditional_t<std::is_void_v<T>, std::tuple<std::uint64_t>, std::tuple<std::uint64_t, stored<T>>>;
  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> unpacked(message);
    const bool at_once = (message.flags & sched::envelope::is_immediate) != 0;
    std::apply(
        [&]([[maybe_unused]] std::uint64_t reference, auto&... value) {
          if constexpr (HasReference)
            Target::send(here, message, at_once,
                         static_cast<std::tuple_element_t<0, typename Target::arguments>>(reference),
                         std::move(value)...);
          else
            Target::send(here, message, at_once, std::move(value)...);
        },
        unpacked.values());
  }
  static inline const std::uint32_t handler =
      register_handler_of<tuple>(&deliver, "callback to " + Target::name() + (HasReference ? " with reference" : ""));
};

/// The reference number as the method's first parameter. Throws std::out_of_range when that cannot have the value.
template <class Arguments, class Reference>
std::uint64_t callback_reference(Reference given) {
  static_assert(std::is_integral_v<Reference> || std::is_enum_v<Reference>,
                "to: the reference number is an integer or an enumeration");
  using parameter = std::tuple_element_t<0, Arguments>;
  static_assert(std::is_integral_v<parameter> || std::is_enum_v<parameter>,
                "to: the method's first parameter is no integer, so it takes no reference number");
  const auto as_parameter = static_cast<parameter>(given);
  if (static_cast<Reference>(as_parameter) != given || (as_parameter < parameter{}) != (given < Reference{}))
    throw std::out_of_range("tri::to: a reference number that the method's first parameter, of " +
                            type_name<parameter>() + ", cannot hold");
  return static_cast<std::uint64_t>(as_parameter);
}

}  // namespace objects

/// Receiver of one value of type T, or of a signal (void). Plain data. Made by `to`, from a promise, or from
/// `tri::to_exit` and `tri::to_nothing`. A callback without a value can stand for any other: the value is dropped.
/// Using one that was made by default throws std::logic_error.
template <class T = void>
class callback {
 public:
  callback() = default;
  // NOLINTBEGIN(google-explicit-constructor): these are callbacks
  callback(promise<T> target) : callback(target, !std::is_void_v<T>) {}
  callback(promise<void> target)
    requires(!std::is_void_v<T>)
      : callback(target, false) {}
  template <class V>  // a template, for otherwise it would be callback<void>'s own copy constructor
    requires(std::is_void_v<V> && !std::is_void_v<T>)
  callback(const callback<V>& other) : target_(other.target()) {}
  callback(to_exit_t) { target_.kind = objects::callback_kind::end_of_the_job; }
  callback(to_nothing_t) { target_.kind = objects::callback_kind::nothing; }
  // NOLINTEND(google-explicit-constructor)
  explicit callback(const objects::callback_target& target) : target_(target) {}

  /// To a method that takes T, or something that it converts to.
  template <auto Method, class E>
  static callback to(const element_ref<E>& target);
  /// To a handler of the library, on the PE that has the value; for messages with a tuple of std::uint64_t and T.
  static callback to_handler(std::uint32_t handler, std::uint32_t collection, std::uint64_t element) {
    objects::callback_target target;
    target.handler = handler;
    target.place = collection;
    target.object = element;
    target.kind = objects::callback_kind::handler;
    target.takes_value = !std::is_void_v<T>;
    return callback(target);
  }

  /// Sends the value. On a PE only.
  template <class... V>
  void operator()(V&&... value) const {
    deliver(false, std::forward<V>(value)...);
  }
  /// The same, before everything that waits at the receiver's PE. A broadcast or multicast takes its turn all the same.
  template <class... V>
  void immediately(V&&... value) const {
    deliver(true, std::forward<V>(value)...);
  }
  const objects::callback_target& target() const { return target_; }

 private:
  template <class V>
  callback(promise<V> to, bool takes_value) {
    target_.place = to.pe;
    target_.object = objects::pack_name(to.slot, to.generation);
    target_.kind = objects::callback_kind::promise;
    target_.takes_value = takes_value;
  }
  template <class V>
  promise<V> as_promise() const {
    return {target_.place, static_cast<std::uint32_t>(target_.object >> 32),
            static_cast<std::uint32_t>(target_.object)};
  }
  template <class V, class... A>
  void set(bool at_once, A&&... value) const {
    if (at_once)
      as_promise<V>().set_immediately(std::forward<A>(value)...);
    else
      as_promise<V>().set(std::forward<A>(value)...);
  }
  template <class... V>
  void deliver(bool at_once, V&&... value) const {
    if constexpr (std::is_void_v<T>)
      static_assert(sizeof...(V) == 0, "this callback takes no value");
    else
      static_assert(std::is_constructible_v<T, V&&...>, "a callback takes one value of its type");
    switch (target_.kind) {
      case objects::callback_kind::none:
        objects::throw_callback_without_target();
      case objects::callback_kind::nothing:
        return;
      case objects::callback_kind::end_of_the_job:
        return sched::this_pe().job().request_stop(0);
      case objects::callback_kind::promise:
        if constexpr (!std::is_void_v<T>)
          if (target_.takes_value) return set<T>(at_once, std::forward<V>(value)...);
        return set<void>(at_once);
      case objects::callback_kind::handler:
        break;
    }
    if constexpr (!std::is_void_v<T>)
      if (target_.takes_value) return run<std::tuple<std::uint64_t, T>>(at_once, T(std::forward<V>(value)...));
    run<std::tuple<std::uint64_t>>(at_once);
  }
  template <class Tuple, class... V>
  void run(bool at_once, V&&... value) const {
    auto& here = sched::this_pe();
    objects::check_callback_handler(here, target_.handler);
    sched::envelope message{};
    message.element = target_.object;
    message.collection = target_.place;
    message.handler = target_.handler;
    message.source = static_cast<std::uint32_t>(here.number());
    if (at_once) message.flags |= sched::envelope::is_immediate;
    objects::pack_arguments<Tuple>(here, true, false, target_.reference, std::forward<V>(value)...).store(message);
    sched::handler_table()[target_.handler].run(here, message);
  }
  objects::callback_target target_;
};

namespace objects {

/// A callback that gives a method or function its value: `Target` as for callback_handler.
template <class Target, bool HasReference, class T>
callback<T> callback_by_handler(std::uint32_t place, std::uint64_t object, std::uint64_t reference) {
  callback_target target;
  target.handler = callback_handler<Target, HasReference, T>::handler;
  target.place = place;
  target.object = object;
  target.reference = reference;
  target.kind = callback_kind::handler;
  target.takes_value = !std::is_void_v<T>;
  return callback<T>(target);
}
/// The same; the type of the value is that of the method's parameter.
template <class Target>
auto make_callback(std::uint32_t place, std::uint64_t object) {
  using value = typename callback_value<typename Target::arguments, false>::type;
  return callback_by_handler<Target, false, value>(place, object, 0);
}
template <class Target, class Reference>
auto make_callback(std::uint32_t place, std::uint64_t object, Reference reference) {
  using value = typename callback_value<typename Target::arguments, true>::type;
  return callback_by_handler<Target, true, value>(place, object,
                                                  callback_reference<typename Target::arguments>(reference));
}

template <auto Method, class E>
struct callback_to_element {
  using arguments = typename method_facts<Method>::arguments;
  static std::string name() { return method_name<Method>() + " of an element of " + type_name<E>(); }
  static void send(sched::pe&, const sched::envelope& message, bool at_once, auto&&... values) {
    const message_options options{std::nullopt, at_once};
    element_ref<E>(message.collection, message.element)
        .template send_with<Method>(&options, std::forward<decltype(values)>(values)...);
  }
};

}  // namespace objects

template <class T>
template <auto Method, class E>
callback<T> callback<T>::to(const element_ref<E>& target) {
  using made = objects::callback_to_element<Method, E>;
  return objects::callback_by_handler<made, false, T>(target.collection(), target.number(), 0);
}

/// A callback that invokes a method of an element with the value; of one without a parameter, a signal.
template <auto Method, class E>
auto to(const element_ref<E>& target) {
  return objects::make_callback<objects::callback_to_element<Method, E>>(target.collection(), target.number());
}
/// The same with a reference number as the method's first argument, so that a coroutine can await the result of one
/// step: `double norm = co_await when<&T::norm>(step)`.
template <auto Method, class E, class Reference>
auto to(const element_ref<E>& target, Reference reference) {
  return objects::make_callback<objects::callback_to_element<Method, E>>(target.collection(), target.number(),
                                                                         reference);
}

}  // namespace tri

#pragma GCC visibility pop
