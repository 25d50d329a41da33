// Handles of single elements: plain values that may be copied and sent anywhere, and through which messages are sent.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "trireme/detail/objects/deliver.hpp"
#include "trireme/detail/sched/priority.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Options of a message; made by `with`.
struct message_options {
  std::optional<priority> urgency;
  bool immediate = false;
};
/// Option: runs before everything that waits on its PE, between two entry methods.
struct immediate_t {};
inline constexpr immediate_t immediate;

namespace objects {

/// While loads are measured: the running element sends to another.
void count_traffic(load_meter& meter, std::uint32_t collection, std::uint64_t number, std::uint64_t bytes);

/// Posts a packed message to an element, wherever it is.
inline void post_to_element(sched::pe& here, std::uint32_t collection, std::uint64_t number, std::uint32_t handler,
                            const message_options* options, auto&& pack) {
  pe_objects& objects = pe_objects::of(here);
  local_collection* const home = objects.find_local_collection(collection);
  const pe_number to = home == nullptr ? no_pe : home->route(number);
  const bool special = options != nullptr && (options->urgency.has_value() || options->immediate);
  if (to >= 0 && !special) [[likely]] {
    const packed_arguments packed = pack(here.is_in_this_process(to), false);
    if (running_load_meter != nullptr) [[unlikely]]
      count_traffic(*running_load_meter, collection, number, packed.argument_bytes());
    post_packed(here, to, handler, collection, number, packed);
    return;
  }
  sched::envelope message{};
  message.element = number;
  message.collection = collection;
  message.handler = handler;
  message.source = static_cast<std::uint32_t>(here.number());
  // Towards an unknown place the arguments go as for this process; if need be they are made portable on the way.
  const packed_arguments packed = pack(to < 0 || here.is_in_this_process(to), special && options->urgency.has_value());
  packed.store(message);
  if (running_load_meter != nullptr) [[unlikely]]
    count_traffic(*running_load_meter, collection, number, packed.argument_bytes());
  if (special) {
    if (options->immediate) message.flags |= sched::envelope::is_immediate;
    if (options->urgency.has_value()) {
      message.flags |= sched::envelope::has_priority;
      message.block().urgency = *options->urgency;
    }
  }
  if (to >= 0)
    post_or_drop(here, message, [&] { here.send_copy(to, message); });
  else if (home != nullptr)
    home->send_slowly(message);
  else
    objects.hold_for_creation(message);
}

template <class T>
inline constexpr message_options same_options{T::message_order, false};

template <class T>
class element_sender {
 public:
  constexpr element_sender() = default;
  element_sender(std::uint32_t collection, std::uint64_t number) : number_(number), collection_(collection) {}

  /// Invokes a method of the element, asynchronously. Arguments are moved or copied into the message once.
  template <auto Method, class... A>
  void send(A&&... arguments) const {
    send_with<Method>(options_of_class(), std::forward<A>(arguments)...);
  }
  /// The same, with a future of the method's result or exception.
  template <auto Method, class... A>
  auto call(A&&... arguments) const {
    return call_with<Method>(options_of_class(), std::forward<A>(arguments)...);
  }

  template <auto Method, class... A>
  void send_with(const message_options* options, A&&... arguments) const {
    using facts = method_facts<Method>;
    check<Method>();
    auto& here = sched::this_pe();
    post_to_element(here, collection_, number_, entry_method<Method>::handler, options,
                    [&](bool same_process, bool needs_block) {
                      return pack_arguments<typename facts::arguments>(here, same_process, needs_block,
                                                                       std::forward<A>(arguments)...);
                    });
  }
  template <auto Method, class... A>
  auto call_with(const message_options* options, A&&... arguments) const {
    using called = called_method<Method>;
    check<Method>();
    auto& here = sched::this_pe();
    future<typename called::value> result;
    const auto reply = result.get_promise();
    post_to_element(here, collection_, number_, called::handler, options, [&](bool same_process, bool needs_block) {
      return pack_arguments<typename called::tuple>(here, same_process, needs_block, reply,
                                                    std::forward<A>(arguments)...);
    });
    return result;
  }
  std::uint64_t number() const { return number_; }
  std::uint32_t collection() const { return collection_; }

 private:
  /// `static constexpr tri::priority message_order = ...;` in the class: that of its messages that have none.
  static constexpr const message_options* options_of_class() {
    if constexpr (requires { T::message_order; }) {
      return &same_options<T>;
    } else {
      return nullptr;
    }
  }
  template <auto Method>
  static constexpr void check() {
    using facts = method_facts<Method>;
    static_assert(std::is_base_of_v<typename facts::object, T>, "the method belongs to another class than the element");
  }
  std::uint64_t number_ = 0;
  std::uint32_t collection_ = 0;
};

}  // namespace objects

/// An element of an array, a member of a group, or a single object, as a handle. 16 bytes of plain data.
template <class T>
class element_ref : public objects::element_sender<T> {
 public:
  using objects::element_sender<T>::element_sender;
  constexpr element_ref() = default;
  /// The same element as one of a base class: its methods run as those of the element's own class where they are
  /// virtual.
  template <class Derived>
    requires(!std::is_same_v<Derived, T> && std::is_base_of_v<T, Derived>)
  element_ref(const element_ref<Derived>& other)  // NOLINT(google-explicit-constructor): as for pointers
      : objects::element_sender<T>(other.collection(), other.number()) {}

  /// The same element with a priority or `tri::immediate` for the next send or call.
  auto with(priority urgency) const { return prioritised{*this, {urgency, false}}; }
  auto with(immediate_t) const { return prioritised{*this, {std::nullopt, true}}; }

  /// The object itself if it is on the calling PE now, otherwise null. Its methods may be called as functions;
  /// coroutines that they start then belong to the caller's object.
  T* local() const {
    auto* const home = objects::pe_objects::of(sched::this_pe()).find_local_collection(this->collection());
    return home == nullptr ? nullptr : objects::pointer_as<T>(home->find(this->number()));
  }
  friend bool operator==(const element_ref& a, const element_ref& b) {
    return a.number() == b.number() && a.collection() == b.collection();
  }

 private:
  struct prioritised {
    element_ref target;
    message_options options;
    template <auto Method, class... A>
    void send(A&&... arguments) const {
      target.template send_with<Method>(&options, std::forward<A>(arguments)...);
    }
    template <auto Method, class... A>
    auto call(A&&... arguments) const {
      return target.template call_with<Method>(&options, std::forward<A>(arguments)...);
    }
  };
};

}  // namespace tri

#pragma GCC visibility pop
