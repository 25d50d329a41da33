// Sections: some elements of an array, addressed together. A multicast sends one message to each PE of the host with
// members, whatever their number, and one to each other host with members (multicast.hpp); members that have moved
// meanwhile get individual messages. The parts of a reduction return the same way: one from each other host.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "trireme/array.hpp"
#include "trireme/detail/objects/multicast.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {

/// One member of a section reduction that has moved: runs the method and sends a part of one.
template <auto Method, class Reducer>
struct reduced_member {
  using facts = method_facts<Method>;
  using contribution = std::decay_t<typename result_of_method<typename facts::result>::type>;
  using part = host_part_handler<Reducer, contribution>;
  using tuple = typename prepend<typename facts::arguments, pe_number, root_name>::type;  // first: the combining PE
  static_assert(!is_task<typename facts::result>,
                "a section is reduced over methods that return their value, not over coroutines");

  static contribution invoke(element_base& element, const auto& arguments) {
    auto& object = object_of<typename facts::object>(element);
    return std::apply(
        [&](pe_number, const root_name&, const auto&... argument) -> decltype(auto) {
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
    check_root(here, message, std::get<1>(arguments.values()));
    try {
      part::send_part(here, std::get<0>(arguments.values()), std::get<1>(arguments.values()), 1,
                      Reducer::start(self->number(), invoke(*self, arguments.values())));
    } catch (...) {
      report_escaped(here, *self, method_name<Method>(), std::current_exception());
    }
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(
      &deliver, "section reduction of " + method_name<Method>(), &make_tuple_portable<tuple>);
};

/// Sends a message of `handler` to one member, with a copy of the arguments.
template <class Tuple, class... A>
void follow_member(sched::pe& here, std::uint32_t collection, std::uint64_t number, std::uint32_t handler,
                   const A&... arguments) {
  post_to_element(here, collection, number, handler, nullptr, [&](bool same_process, bool needs_block) {
    return pack_arguments<Tuple>(here, same_process, needs_block, arguments...);
  });
}

inline element_base* ready_member(local_collection& home, std::uint64_t number) {
  element_base* const element = home.find(number);
  return element != nullptr && element->is_ready() ? element : nullptr;
}

/// Gives one member of a list a message of its own, so that it takes the usual path (when, migration, forwarding). If
/// the member is not here it is forwarded on behalf of the sender, which learns that its route is outdated.
template <class Tuple, sched::handler_function Deliver>
void deliver_to_member(sched::pe& here, std::uint32_t collection, std::uint64_t number, int sender,
                       std::uint32_t handler, const auto&... arguments) {
  sched::envelope single{};
  single.element = number;
  single.collection = collection;
  single.handler = handler;
  single.source = static_cast<std::uint32_t>(sender);
  pack_arguments<Tuple>(here, true, false, arguments...).store(single);
  Deliver(here, single);
}

template <auto Method>
struct multicast_method : multicast_handler<multicast_method<Method>> {
  using facts = method_facts<Method>;
  using inner = typename facts::arguments;
  using tuple = typename prepend<inner, member_list>::type;
  static std::string name() { return "multicast of " + method_name<Method>(); }
  static void expect(const auto&...) {}
  static void follow(sched::pe& here, std::uint32_t collection, std::uint64_t number, const auto&... arguments) {
    follow_member<inner>(here, collection, number, entry_method<Method>::handler, arguments...);
  }
  static void run(sched::pe& here, local_collection&, sched::envelope& message, tuple& arguments) {
    method_scope scope(pe_objects::of(here));  // around all members: their contributions to a section leave together
    const int sender = multicast_route::of(message).sender;
    std::apply(
        [&](const member_list& list, const auto&... argument) {
          for (const std::uint64_t number : members_of(list))
            deliver_to_member<inner, &entry_method<Method>::deliver>(here, message.collection, number, sender,
                                                                     entry_method<Method>::handler, argument...);
        },
        arguments);
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&multicast_method::deliver, name());
};

template <auto Method, class Reducer>
struct reducing_multicast : multicast_handler<reducing_multicast<Method, Reducer>> {
  using member = reduced_member<Method, Reducer>;
  using part = typename member::part;
  using inner = typename prepend<typename member::facts::arguments, root_name>::type;
  using tuple = typename prepend<inner, member_list>::type;
  static std::string name() { return "reducing multicast of " + method_name<Method>() + " by " + type_name<Reducer>(); }
  static void expect(sched::pe& here, const sched::envelope& message, const part_of_subtree& coming,
                     const root_name& root, const auto&...) {
    check_root(here, message, root);
    part::expect(here, root, coming);
  }
  static void follow(sched::pe& here, std::uint32_t collection, std::uint64_t number, const auto&... arguments) {
    follow_member<typename member::tuple>(here, collection, number, member::handler, no_pe, arguments...);
  }
  static void run(sched::pe& here, local_collection& home, sched::envelope& message, tuple& received) {
    method_scope scope(pe_objects::of(here));
    const multicast_route route = multicast_route::of(message);
    const root_name root = std::get<1>(received);
    check_root(here, message, root);
    const auto arguments =
        std::apply([&](const member_list&,
                       const auto&... argument) { return typename member::tuple(route.forwarder, argument...); },
                   received);
    std::optional<typename part::partial> combined;
    std::uint32_t count = 0;
    for (const std::uint64_t number : members_of(std::get<0>(received))) {
      element_base* const element = ready_member(home, number);
      if (element == nullptr) {
        std::apply(
            [&](const auto&... argument) {
              deliver_to_member<typename member::tuple, &member::deliver>(here, message.collection, number,
                                                                          route.sender, member::handler, argument...);
            },
            arguments);
        continue;
      }
      const owner_scope owner(&element->coroutines());
      try {
        auto one = Reducer::start(number, member::invoke(*element, arguments));
        if (combined.has_value())
          Reducer::combine(*combined, std::move(one));
        else
          combined.emplace(std::move(one));
        ++count;
      } catch (...) {
        report_escaped(here, *element, method_name<Method>(), std::current_exception());
      }
    }
    if (count > 0) part::send_part(here, route.forwarder, root, count, std::move(*combined));
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&reducing_multicast::deliver, name());
};

}  // namespace objects

/// Some elements of an array. Copyable; may be sent in messages.
template <class T>
class section {
 public:
  section() = default;
  section(array<T> of, std::vector<std::uint64_t> members, std::uint64_t id)
      : array_(of), members_(std::move(members)), id_(id) {}

  std::size_t size() const { return members_.size(); }
  /// What members need to contribute to reductions of this section: `contribute(part.name(), value, tri::sum, target)`.
  /// Two sections with the same members have different names.
  section_name name() const { return {id_, members_.size()}; }
  const std::vector<std::uint64_t>& members() const { return members_; }
  const array<T>& whole() const { return array_; }

  /// Invokes a method on every member; one message to each PE of this host, and to each other host, with members.
  template <auto Method, class... A>
  void multicast(const A&... arguments) const {
    using message = objects::multicast_method<Method>;
    static_assert(objects::method_facts<Method>::copyable_arguments,
                  "multicast: the arguments go to many elements and must be copyable");
    post<message>(arguments...);
  }
  /// Invokes a method on every member and reduces the results to a future on this PE.
  template <auto Method, class Reducer, class... A>
  auto reduce(Reducer reducer, const A&... arguments) const {
    future<objects::result_of_reduction<Reducer, typename objects::reduced_member<Method, Reducer>::contribution>>
        result;
    reduce_to<Method>(reducer, result.get_promise(), arguments...);
    return result;
  }
  /// The same, to a callback.
  template <auto Method, class Reducer, class... A>
  void reduce_to(
      Reducer,
      callback<objects::result_of_reduction<Reducer, typename objects::reduced_member<Method, Reducer>::contribution>>
          target,
      const A&... arguments) const {
    using message = objects::reducing_multicast<Method, Reducer>;
    objects::refuse_awaited_method<Method>("section::reduce");
    if (members_.empty()) throw std::logic_error("section::reduce: a reduction over no elements has no value");
    objects::reduction_root<Reducer, typename message::member::contribution>::start(
        sched::this_pe(), "section reduction of " + objects::method_name<Method>(), 0,
        static_cast<std::int64_t>(members_.size()), std::move(target),
        [&](const objects::root_name& root) { post<message>(root, arguments...); });
  }

  template <class Archive>
  void save(Archive& archive) const {
    archive(array_, members_, id_);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(array_, members_, id_);
  }

 private:
  template <class Message, class... A>
  void post(const A&... arguments) const {
    auto& here = sched::this_pe();
    if (objects::pe_objects::of(here).is_ending()) return;
    objects::local_collection* const home = objects::pe_objects::of(here).find_local_collection(array_.id());
    if (home == nullptr) throw std::logic_error("trireme: this section belongs to no array that exists here");
    objects::members_by_pe members;
    for (const std::uint64_t number : members_) {
      const objects::pe_number pe = home->route(number);
      if (pe >= 0)
        objects::add_member(members, pe, number);
      else  // not known here at the moment
        Message::follow(here, array_.id(), number, arguments...);
    }
    objects::multicast_relay<Message>::post(here, array_.id(), std::move(members), arguments...);
  }
  array<T> array_;
  std::vector<std::uint64_t> members_;  // element numbers
  std::uint64_t id_ = 0;
};

namespace objects {

/// The members of a section that is the target of a callback, on the PE where it was made.
struct callback_section {
  std::uint32_t collection = 0;
  array_shape shape;
  std::vector<std::uint64_t> members;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(collection, shape, members);
  }
};
/// Keeps them until the job ends, once for sections of the same members. Returns the number that names them here.
std::uint64_t keep_callback_section(const section_name& name, const callback_section& facts);
/// Null: the next PE may know it. Ends the job when so many were asked before that there is none: another process has
/// sent the callback.
const callback_section* find_callback_section(sched::pe& here, std::uint64_t id, std::uint64_t asked_before);

/// The value goes to the PE that has the members, which multicasts it.
template <auto Method, class T>
struct callback_to_section {
  using arguments = typename method_facts<Method>::arguments;
  using tuple = typename prepend<arguments, std::uint64_t>::type;  // the section's number
  static std::string name() { return method_name<Method>() + " of a section of " + type_name<T>(); }
  static void send(sched::pe& here, const sched::envelope& message, bool, auto&&... values) {
    post(here, static_cast<int>(message.collection % static_cast<std::uint32_t>(here.job().pes())), 0, message.element,
         std::forward<decltype(values)>(values)...);
  }
  /// `asked_before`: how many PEs did not know it.
  static void post(sched::pe& here, int to, std::uint64_t asked_before, std::uint64_t id, auto&&... values) {
    post_packed(
        here, to, handler, 0, asked_before,
        pack_arguments<tuple>(here, here.is_in_this_process(to), false, id, std::forward<decltype(values)>(values)...));
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> unpacked(message);
    std::apply(
        [&](std::uint64_t id, const auto&... values) {
          const callback_section* const found = find_callback_section(here, id, message.element);
          if (found == nullptr)
            return post(here, (here.number() + 1) % here.job().pes(), message.element + 1, id, values...);
          section<T>(array<T>(found->collection, found->shape), found->members, id)
              .template multicast<Method>(values...);
        },
        unpacked.values());
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&deliver, "value for " + name());
};

template <class T>
std::uint64_t register_callback_section(const section<T>& target) {
  return keep_callback_section(target.name(), {target.whole().id(), target.whole().shape(), target.members()});
}

}  // namespace objects

/// A callback that invokes a method of all members of a section with the value. The calling PE keeps the list of the
/// members until the job ends, once for sections of the same members, and multicasts the values.
template <auto Method, class T>
auto to(const section<T>& target) {
  return objects::make_callback<objects::callback_to_section<Method, T>>(
      static_cast<std::uint32_t>(sched::this_pe().number()), objects::register_callback_section(target));
}
template <auto Method, class T, class Reference>
auto to(const section<T>& target, Reference reference) {
  return objects::make_callback<objects::callback_to_section<Method, T>>(
      static_cast<std::uint32_t>(sched::this_pe().number()), objects::register_callback_section(target), reference);
}

template <class T>
template <class Element>
section<T> array<T>::select(std::vector<typename Element::index_type> members) const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(members.size());
  for (const auto& where : members) numbers.push_back(objects::number_of(shape_, where));
  return section<T>(*this, std::move(numbers), objects::draw_section_id());
}

}  // namespace tri

#pragma GCC visibility pop
