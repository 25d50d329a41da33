// Callbacks: the destination of a result, as plain data: a promise, or a method of an element.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <utility>

#include "trireme/detail/objects/element_ref.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Receiver of one value of type T. Made from a promise, or by `to<&Class::method>(element)`.
template <class T>
class callback {
 public:
  callback() = default;
  callback(promise<T> target) : promise_(target) {}  // NOLINT(google-explicit-constructor): a promise is a callback

  template <auto Method, class E>
  static callback to(const element_ref<E>& target) {
    callback made;
    made.handler_ = entry<Method>::handler;
    made.collection_ = target.collection();
    made.element_ = target.number();
    return made;
  }
  /// To a handler of the library, on the PE that has the value.
  static callback to_handler(std::uint32_t handler, std::uint32_t collection, std::uint64_t element) {
    callback made;
    made.handler_ = handler;
    made.collection_ = collection;
    made.element_ = element;
    return made;
  }
  /// Sends the value. On a PE only.
  void operator()(T value) const { deliver<false>(std::move(value)); }
  /// The same, before everything that waits at the receiver's PE.
  void immediately(T value) const { deliver<true>(std::move(value)); }

 private:
  template <bool Immediate>
  void deliver(T value) const {
    if (handler_ == no_handler) {
      if constexpr (Immediate)
        promise_.set_immediately(std::move(value));
      else
        promise_.set(std::move(value));
      return;
    }
    auto& here = sched::this_pe();
    objects::post_packed_as<Immediate>(here, here.number(), handler_, collection_, element_,
                                       objects::pack_arguments<std::tuple<T>>(here, true, false, std::move(value)));
  }
  // Runs on the PE that has the value, and sends it on to the method from there; an immediate one immediately.
  template <auto Method>
  struct entry {
    static void deliver(sched::pe&, sched::envelope& message) {
      objects::unpacked_arguments<std::tuple<T>> arguments(message);
      using object = typename objects::method_facts<Method>::object;
      const element_ref<object> target(message.collection, message.element);
      const message_options options{std::nullopt, (message.flags & sched::envelope::is_immediate) != 0};
      if constexpr (std::tuple_size_v<typename objects::method_facts<Method>::arguments> == 0)
        target.template send_with<Method>(&options);
      else
        target.template send_with<Method>(&options, std::move(std::get<0>(arguments.values())));
    }
    static inline const std::uint32_t handler =
        objects::register_handler_of<std::tuple<T>>(&deliver, "callback to " + objects::method_name<Method>());
  };
  static constexpr std::uint32_t no_handler = ~std::uint32_t{0};
  promise<T> promise_{};
  std::uint32_t handler_ = no_handler;
  std::uint32_t collection_ = 0;
  std::uint64_t element_ = 0;
};

/// A callback that invokes a method of an element with the value.
template <auto Method, class E>
auto to(const element_ref<E>& target) {
  using arguments = typename objects::method_facts<Method>::arguments;
  static_assert(std::tuple_size_v<arguments> == 1, "the method of a callback takes one parameter: the value");
  return callback<std::tuple_element_t<0, arguments>>::template to<Method>(target);
}

}  // namespace tri

#pragma GCC visibility pop
