// Sections: some elements of an array, addressed together. A multicast sends one message to each PE of the host that
// has members, whatever their number, and one to each other host that has some (mei.md M57); members that have moved
// meanwhile are followed one by one.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "objects/array.hpp"

namespace tri {

namespace objects {

/// Members of a section on one PE, by number; goes with the message without being copied.
using member_list = shared_buffer<std::uint64_t>;

template <class Tuple, class... First>
struct prepend;
template <class... P, class... First>
struct prepend<std::tuple<P...>, First...> {
  using type = std::tuple<First..., P...>;
};

/// One member of a section reduction that has to be followed: runs the method and sends a part of one.
template <auto Method, class Reducer>
struct reduced_member {
  using facts = method_facts<Method>;
  using contribution = std::decay_t<typename result_of_method<typename facts::result>::type>;
  using part = part_handler<Reducer, contribution>;
  using tuple = typename prepend<typename facts::arguments, root_name>::type;
  static_assert(!is_task<typename facts::result>,
                "a section is reduced over methods that return their value, not over coroutines");

  static contribution invoke(element_base& element, const auto& arguments) {
    auto& object = static_cast<typename facts::object&>(element);
    return std::apply(
        [&](const root_name&, const auto&... argument) -> decltype(auto) {
          return (object.*Method)(std::decay_t<decltype(argument)>(argument)...);
        },
        arguments);
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    element_base* const self = find_receiver(here, message);
    if (self == nullptr) return;
    method_scope scope(pe_objects::of(here));
    const owner_scope owner(&self->coroutines());
    unpacked_arguments<tuple> arguments(message);
    try {
      part::send(here, std::get<0>(arguments.values()), 1, part_header::not_a_base,
                 Reducer::start(self->number(), invoke(*self, arguments.values())));
    } catch (...) {
      report_escaped(here, *self, method_name<Method>(), std::current_exception());
    }
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(
      &deliver, "section reduction of " + method_name<Method>(), &make_tuple_portable<tuple>);
};

/// Members of a section on another host: on each PE that has some, those.
using host_members = std::vector<std::pair<std::int32_t, std::vector<std::uint64_t>>>;

/// A multicast on its way to the first PE of another host, which hands it on. `Message` is multicast_method or
/// reducing_multicast.
template <class Message>
struct host_multicast {
  using tuple = typename prepend<typename Message::inner, host_members>::type;
  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> arguments(message);
    std::apply(
        [&](const host_members& members, const auto&... argument) {
          for (const auto& [pe, numbers] : members) post(here, pe, message.collection, numbers, argument...);
        },
        arguments.values());
  }
  static void post(sched::pe& here, int pe, std::uint32_t collection, const std::vector<std::uint64_t>& numbers,
                   const auto&... arguments) {
    const member_list list(buffer<std::uint64_t>::copy_of(numbers));
    post_packed(here, pe, Message::handler, collection, 0,
                pack_arguments<typename Message::tuple>(here, here.is_in_this_process(pe), false, list, arguments...));
  }
  static inline const std::uint32_t handler =
      register_handler_of<tuple>(&deliver, "for a host: " + sched::handler_table()[Message::handler].name);
};

/// Sends the members of a list that are not here one by one, as messages of `handler` with a copy of the arguments.
template <class Tuple, class... A>
void follow_member(sched::pe& here, std::uint32_t collection, std::uint64_t number, std::uint32_t handler,
                   const A&... arguments) {
  post_to_element(here, collection, number, handler, nullptr, [&](bool same_process, bool needs_block) {
    return pack_arguments<Tuple>(here, same_process, needs_block, arguments...);
  });
}

inline element_base* ready_member(branch& home, std::uint64_t number) {
  element_base* const element = home.find(number);
  return element != nullptr && element->is_ready() ? element : nullptr;
}

template <auto Method>
struct multicast_method {
  using facts = method_facts<Method>;
  using inner = typename facts::arguments;
  using tuple = typename prepend<inner, member_list>::type;
  static void deliver(sched::pe& here, sched::envelope& message) {
    pe_objects& objects = pe_objects::of(here);
    branch* const home = objects.find_branch(message.collection);
    if (home == nullptr) {
      objects.hold_for_creation(message);
      return;
    }
    unpacked_arguments<tuple> arguments(message);
    const member_list members = std::get<0>(arguments.values());
    for (const std::uint64_t number : members) {
      // Each member gets a message of its own here, so that what waits for it (when, migration, forwarding) is the
      // usual path.
      sched::envelope single{};
      single.element = number;
      single.collection = message.collection;
      single.handler = entry_method<Method>::handler;
      single.source = message.source;
      std::apply(
          [&](const member_list&, const auto&... argument) {
            pack_arguments<typename facts::arguments>(here, true, false, argument...).store(single);
          },
          arguments.values());
      entry_method<Method>::deliver(here, single);
    }
  }
  static inline const std::uint32_t handler =
      register_handler_of<tuple>(&deliver, "multicast of " + method_name<Method>());
};

template <auto Method, class Reducer>
struct reducing_multicast {
  using member = reduced_member<Method, Reducer>;
  using part = typename member::part;
  using inner = typename member::tuple;
  using tuple = typename prepend<inner, member_list>::type;
  static void deliver(sched::pe& here, sched::envelope& message) {
    pe_objects& objects = pe_objects::of(here);
    branch* const home = objects.find_branch(message.collection);
    if (home == nullptr) {
      objects.hold_for_creation(message);
      return;
    }
    method_scope scope(objects);
    unpacked_arguments<tuple> arguments(message);
    const auto inner =
        std::apply([](const member_list&, const auto&... argument) { return typename member::tuple(argument...); },
                   arguments.values());
    std::optional<typename part::partial> combined;
    std::uint32_t count = 0;
    for (const std::uint64_t number : std::get<0>(arguments.values())) {
      element_base* const element = ready_member(*home, number);
      if (element == nullptr) {
        std::apply(
            [&](const auto&... argument) {
              follow_member<typename member::tuple>(here, message.collection, number, member::handler, argument...);
            },
            inner);
        continue;
      }
      const owner_scope owner(&element->coroutines());
      try {
        auto one = Reducer::start(number, member::invoke(*element, inner));
        if (combined.has_value())
          Reducer::combine(*combined, std::move(one));
        else
          combined.emplace(std::move(one));
        ++count;
      } catch (...) {
        report_escaped(here, *element, method_name<Method>(), std::current_exception());
      }
    }
    if (count > 0)
      part::send(here, std::get<1>(arguments.values()), count, part_header::not_a_base, std::move(*combined));
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(
      &deliver, "reducing multicast of " + method_name<Method>() + " by " + type_name<Reducer>());
};

}  // namespace objects

/// Some elements of an array. Copyable; may be sent in messages.
template <class T>
class section {
 public:
  section() = default;
  section(array<T> of, std::vector<std::uint64_t> members) : array_(of), members_(std::move(members)) {}

  std::size_t size() const { return members_.size(); }
  const array<T>& whole() const { return array_; }

  /// Invokes a method on every member; one message to each PE of this host, and to each other host, that has some.
  template <auto Method, class... A>
  void multicast(const A&... arguments) const {
    using message = objects::multicast_method<Method>;
    static_assert(objects::method_facts<Method>::copyable_arguments,
                  "multicast: the arguments go to many elements and must be copyable");
    post<message>(objects::entry_method<Method>::handler, arguments...);
  }
  /// Invokes a method on every member and reduces what it returns, to a future on this PE.
  template <auto Method, class Reducer, class... A>
  auto reduce(Reducer, const A&... arguments) const {
    using message = objects::reducing_multicast<Method, Reducer>;
    using contribution = typename message::member::contribution;
    objects::refuse_awaited_method<Method>("section::reduce");
    if (members_.empty()) throw std::logic_error("section::reduce: a reduction over no elements has no value");
    auto& here = sched::this_pe();
    future<objects::result_of_reduction<Reducer, contribution>> result;
    objects::reduction_root<Reducer, contribution>::start(
        here, "section reduction of " + objects::method_name<Method>(), 0, static_cast<std::int64_t>(members_.size()),
        result.get_promise(),
        [&](const objects::root_name& root) { post<message>(message::member::handler, root, arguments...); });
    return result;
  }

  template <class Archive>
  void save(Archive& archive) const {
    archive(cereal::binary_data(&array_, sizeof array_), members_);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(cereal::binary_data(&array_, sizeof array_), members_);
  }

 private:
  template <class Message, class... A>
  void post(std::uint32_t single_handler, const A&... arguments) const {
    using to_host = objects::host_multicast<Message>;
    auto& here = sched::this_pe();
    if (objects::pe_objects::of(here).is_ending()) return;
    objects::branch* const home = objects::pe_objects::of(here).find_branch(array_.id());
    if (home == nullptr) throw std::logic_error("trireme: this section belongs to no array that exists here");
    std::map<int, std::vector<std::uint64_t>> by_pe;
    for (const std::uint64_t number : members_) {
      const objects::pe_number pe = home->route(number);
      if (pe >= 0)
        by_pe[pe].push_back(number);
      else
        objects::follow_member<typename Message::inner>(here, array_.id(), number, single_handler, arguments...);
    }
    const sched::runtime& job = here.job();
    std::map<int, objects::host_members> by_host;
    for (auto& [pe, numbers] : by_pe)
      if (job.is_on_own_host(pe))
        to_host::post(here, pe, array_.id(), numbers, arguments...);
      else
        by_host[job.host_of(pe)].emplace_back(pe, std::move(numbers));
    for (const auto& [host, members] : by_host)
      objects::post_packed(here, job.first_pe_of(host), to_host::handler, array_.id(), 0,
                           objects::pack_arguments<typename to_host::tuple>(here, false, false, members, arguments...));
  }
  array<T> array_;
  std::vector<std::uint64_t> members_;  // element numbers
};

template <class T>
template <class Element>
section<T> array<T>::select(std::vector<typename Element::index_type> members) const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(members.size());
  for (const auto& where : members) numbers.push_back(objects::number_of(shape_, where));
  return section<T>(*this, std::move(numbers));
}

}  // namespace tri
