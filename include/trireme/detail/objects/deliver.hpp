// The arrival of an entry method's message: find the element, run the method on it, and pass on what it returns or
// throws. The templates declared in method.hpp are defined here.
#pragma once

#include <exception>
#include <utility>

#include "trireme/detail/objects/element.hpp"
#include "trireme/detail/objects/local_collection.hpp"
#include "trireme/detail/objects/method.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri::objects {

/// Finds the element that a message is for; null if the message was taken over because the element is not ready here.
inline element_base* find_receiver(sched::pe& here, sched::envelope& message) {
  local_collection* const home = pe_objects::of(here).find_or_hold(message);
  if (home == nullptr) [[unlikely]]
    return nullptr;
  element_base* const self = home->find(message.element);
  if (self == nullptr || !self->is_ready() || (message.flags & sched::envelope::is_backlog) != 0) [[unlikely]] {
    home->arrived_elsewhere(message);
    return nullptr;
  }
  return self;
}

/// Makes an archive of arguments that are objects of this process.
template <class Tuple>
void make_tuple_portable(sched::pe& here, sched::envelope& message) {
  if constexpr (tuple_facts<Tuple>::all_serializable) {
    const priority urgency = message.block().urgency;
    packed_arguments packed;
    try {
      unpacked_arguments<Tuple> arguments(message);
      packed = std::apply([&](auto&... value) { return pack_arguments<Tuple>(here, false, true, std::move(value)...); },
                          arguments.values());
    } catch (const std::exception& error) {  // its sender believes that it has left
      refuse_to_archive(here, message, error.what());
    }
    packed.store(message);
    message.block().urgency = urgency;
  } else {
    here.job().fail(
        "an argument of type " + tuple_facts<Tuple>::first_not_serializable() + " of '" +
        sched::handler_table()[message.handler].name +
        "' had to follow its element to another process, but it is neither plain data nor has it a serialize function");
  }
}

template <auto Method>
void entry_method<Method>::make_portable(sched::pe& here, sched::envelope& message) {
  make_tuple_portable<typename facts::arguments>(here, message);
}

template <auto Method>
void entry_method<Method>::run(sched::pe&, element_base& self, sched::envelope& message) {
  unpacked_arguments<typename facts::arguments> arguments(message);
  auto& object = object_of<typename facts::object>(self);
  using result = typename facts::result;
  if constexpr (is_task<result>) {
    auto started = facts::invoke(object, arguments.values());
    using value = typename result_of_method<result>::type;
    // The element, and its coroutine with it, may have moved to another PE of the process by then.
    started.detach(self.coroutines(), [&self](std::exception_ptr error, stored<value>*) {
      if (error != nullptr) report_escaped(sched::this_pe(), self, method_name<Method>(), error);
    });
  } else {
    static_cast<void>(facts::invoke(object, arguments.values()));
  }
}

/// The reference number that `when` matches, read without taking the arguments out: that at place `Which` if it is an
/// integer, else 0.
template <class Tuple, std::size_t Which>
std::uint64_t peek_reference(const sched::envelope& message) {
  if constexpr (Which < std::tuple_size_v<Tuple>) {
    using reference = std::tuple_element_t<Which, Tuple>;
    if constexpr (std::is_integral_v<reference> || std::is_enum_v<reference>) {
      if (message.kind != sched::payload_kind::serialized)
        return static_cast<std::uint64_t>(std::get<Which>(*static_cast<const Tuple*>(
            message.kind == sched::payload_kind::direct ? static_cast<const void*>(message.payload)
                                                        : message.block().block)));
      if constexpr (tuple_facts<Tuple>::all_serializable) {
        reference value{};
        read_archive(message, [&](input_archive& archive) {
          if constexpr (Which == 1) {
            std::tuple_element_t<0, Tuple> before{};
            deserialize_value(archive, before);
          }
          deserialize_value(archive, value);
        });
        return static_cast<std::uint64_t>(value);
      }
    }
  }
  return 0;
}

template <auto Method>
void entry_method<Method>::deliver(sched::pe& here, sched::envelope& message) {
  element_base* const self = find_receiver(here, message);
  if (self == nullptr) [[unlikely]]
    return;
  method_scope scope(pe_objects::of(here));
  const owner_scope owner(&self->coroutines());
  try {
    if (is_awaited)
      self->awaited_message_arrived({handler, peek_reference<typename facts::arguments, 0>(message)}, message);
    else
      run(here, *self, message);
  } catch (...) {
    report_escaped(here, *self, method_name<Method>(), std::current_exception());
  }
}

/// The message of `call`: the promise of the result, then the arguments.
template <class R, class Arguments>
struct call_arguments;
template <class R, class... P>
struct call_arguments<R, std::tuple<P...>> {
  using type = std::tuple<promise<R>, P...>;
};

template <auto Method>
struct called_method {
  using facts = method_facts<Method>;
  using result = typename facts::result;
  using value = typename result_of_method<result>::type;
  using tuple = typename call_arguments<value, typename facts::arguments>::type;

  static void deliver(sched::pe& here, sched::envelope& message) {
    element_base* const self = find_receiver(here, message);
    if (self == nullptr) [[unlikely]]
      return;
    method_scope scope(pe_objects::of(here));
    const owner_scope owner(&self->coroutines());
    if (entry_method<Method>::is_awaited) {
      wait_for_coroutine(here, *self, message);
      return;
    }
    unpacked_arguments<tuple> arguments(message);
    const promise<value> reply = std::get<0>(arguments.values());
    auto& object = object_of<typename facts::object>(*self);
    const auto call = [&]() -> decltype(auto) {
      return std::apply(
          [&](auto&, auto&... argument) -> decltype(auto) { return (object.*Method)(std::move(argument)...); },
          arguments.values());
    };
    try {
      if constexpr (is_task<result>) {
        call().detach(self->coroutines(), [self, reply](std::exception_ptr error, stored<value>* returned) {
          const auto tell = [&](std::exception_ptr what) {
            reply.fail(describe_escaped(sched::this_pe(), *self, method_name<Method>(), std::move(what)));
          };
          if (error != nullptr) return tell(error);
          if (returned == nullptr) return tell(deleted_too_early());
          try {  // the coroutine has ended: an exception from here has nowhere to go
            if constexpr (std::is_void_v<value>)
              reply.set();
            else
              reply.set(std::move(*returned));
          } catch (...) {
            tell(std::current_exception());
          }
        });
      } else if constexpr (std::is_void_v<value>) {
        call();
        reply.set();
      } else {
        reply.set(call());
      }
    } catch (...) {
      reply.fail(describe_escaped(here, *self, method_name<Method>(), std::current_exception()));
    }
  }
  // An exception of the call goes to its caller; one that leaves the resumed coroutine goes to the coroutine's caller.
  static void wait_for_coroutine(sched::pe& here, element_base& self, sched::envelope& message) {
    try {
      self.awaited_message_arrived({entry_method<Method>::handler, peek_reference<tuple, 1>(message)}, message);
    } catch (...) {
      report_escaped(here, self, method_name<Method>(), std::current_exception());
    }
  }
  static void refuse(sched::pe&, sched::envelope& message, const std::string& why) {
    unpacked_arguments<tuple> arguments(message);
    std::get<0>(arguments.values()).fail(why);
  }
  static inline const std::uint32_t handler =
      register_handler_of<tuple>(&deliver, "call of " + method_name<Method>(), &make_tuple_portable<tuple>, &refuse);
};

/// Replaces an archive by objects, so that the arguments can be read, or used many times.
template <class Tuple>
Tuple& shared_arguments(sched::envelope& message) {
  if (message.kind == sched::payload_kind::direct) return *std::launder(reinterpret_cast<Tuple*>(message.payload));
  if (message.kind == sched::payload_kind::serialized) {
    if constexpr (tuple_facts<Tuple>::all_serializable && !tuple_facts<Tuple>::same_everywhere) {
      auto& payload = message.block();
      void* const block = arena::allocate(sizeof(Tuple));
      auto* const values = new (block) Tuple();
      read_archive(message, [values](input_archive& archive) {
        std::apply([&](auto&... value) { (deserialize_value(archive, value), ...); }, *values);
      });
      arena::release(payload.block);
      payload.block = block;
      message.kind = sched::payload_kind::objects;
    }
  }
  return *static_cast<Tuple*>(message.block().block);
}

// The coroutine and the caller both get the result. The method may end the coroutine, and this with it: afterwards
// nothing of this is used unless it is still there.
template <auto Method, class Filter>
bool method_waiter<Method, Filter>::accept(sched::envelope& message, const bool& is_gone) {
  using plain_tuple = typename facts::arguments;
  if (message.handler == entry_method<Method>::handler) {
    unpacked_arguments<plain_tuple> arguments(message);
    value returned = run(arguments.values());
    if (!is_gone) results_.push_back(std::move(returned));
    return true;
  }
  using result = typename result_of_method<typename facts::result>::type;
  unpacked_arguments<typename call_arguments<result, plain_tuple>::type> arguments(message);
  const promise<result> reply = std::get<0>(arguments.values());
  element_base& self = *self_;
  const auto tell = [&] {
    reply.fail(describe_escaped(sched::this_pe(), self, method_name<Method>(), std::current_exception()));
  };
  std::optional<value> returned;
  try {
    auto own = std::apply([](auto&, auto&... argument) { return std::tie(argument...); }, arguments.values());
    returned.emplace(run(own));
  } catch (...) {
    tell();
    return false;
  }
  try {
    if constexpr (std::is_void_v<result>)
      reply.set();
    else if constexpr (is_copyable<result>)
      reply.set(result(*returned));
    else
      throw std::logic_error("the result cannot be copied, and went to the coroutine that awaits it with tri::when");
  } catch (...) {
    tell();
  }
  if (!is_gone) results_.push_back(std::move(*returned));
  return true;
}

template <auto Method, class Filter>
bool method_waiter<Method, Filter>::accepts(sched::envelope& message) {
  if constexpr (std::is_same_v<Filter, no_filter>) {
    return true;
  } else {
    using plain_tuple = typename facts::arguments;
    if (message.handler == entry_method<Method>::handler)
      return std::apply([&](const auto&... argument) -> bool { return filter_(argument...); },
                        shared_arguments<plain_tuple>(message));
    using result = typename result_of_method<typename facts::result>::type;
    return std::apply([&](const auto&, const auto&... argument) -> bool { return filter_(argument...); },
                      shared_arguments<typename call_arguments<result, plain_tuple>::type>(message));
  }
}

}  // namespace tri::objects

#pragma GCC visibility pop
