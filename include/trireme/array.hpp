// Arrays of objects (Charm++: chare array): creation, the typed base of elements, and the handle through which elements
// are addressed.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/callback.hpp"
#include "trireme/detail/objects/balance_call.hpp"
#include "trireme/detail/objects/element_ref.hpp"
#include "trireme/detail/objects/load_description.hpp"
#include "trireme/detail/objects/reduction.hpp"
#include "trireme/detail/objects/section_contribution.hpp"
#include "trireme/index.hpp"
#include "trireme/placement.hpp"
#include "trireme/select.hpp"

#pragma GCC visibility push(default)

namespace tri {

template <class T>
class array;
template <class T>
class section;

namespace objects {

/// Optional members of the user's class.
template <class T>
concept has_on_migrated = requires(T& object) { object.on_migrated(); };
template <class T>
concept has_describe_load = requires(T& object, load_description& load) { object.describe_load(load); };

template <class T>
concept has_on_restored = requires(T& object) { object.on_restored(); };
template <class T>
concept has_on_shrink = requires(T& object) { object.on_shrink(object); };
template <class T>
constexpr bool is_same_everywhere() {
  if constexpr (requires { T::same_everywhere; })
    return T::same_everywhere;
  else
    return false;
}

template <class T>
inline constexpr bool is_movable_between_processes = is_serializable<T>;

template <class T>
element_type describe_element_type() {
  element_type type;
  type.name = type_name<T>();
  if constexpr (is_movable_between_processes<T>) {
    type.save = [](element_base& element, output_archive& archive) {
      auto& self = static_cast<T&>(element);
      if constexpr (dimensions_of<typename T::index_type> == 0) archive(self.this_index());
      archive(element.section_contributions(), self);
    };
    type.load = [](input_archive& archive) -> std::unique_ptr<element_base> {
      if constexpr (dimensions_of<typename T::index_type> == 0) {
        typename T::index_type key;
        archive(key);
        current_construction().key = &key;
        auto loaded = std::make_unique<T>();
        archive(loaded->section_contributions(), *loaded);
        return loaded;
      } else {
        auto loaded = std::make_unique<T>();
        archive(loaded->section_contributions(), *loaded);
        return loaded;
      }
    };
  }
  if constexpr (std::is_default_constructible_v<T> && dimensions_of<typename T::index_type> != 0)
    type.make = []() -> std::unique_ptr<element_base> { return std::make_unique<T>(); };
  if constexpr (has_on_migrated<T>)
    type.on_migrated = [](element_base& element) { static_cast<T&>(element).on_migrated(); };
  if constexpr (has_describe_load<T>)
    type.describe_load = [](element_base& element, load_description& load) {
      static_cast<T&>(element).describe_load(load);
    };
  if constexpr (has_on_restored<T>)
    type.on_restored = [](element_base& element) { static_cast<T&>(element).on_restored(); };
  type.is_same_everywhere = is_same_everywhere<T>();
  if constexpr (has_on_shrink<T>)
    type.on_shrink = [](element_base& element, element_base& leaving) {
      static_cast<T&>(element).on_shrink(static_cast<T&>(leaving));
    };
  return type;
}

/// The state shared by the PEs of a host. `created`: all elements of a dense collection count from the start, as
/// contributions may overtake creation. relaxed: sent with the creation messages.
inline collection_shared* shared_by_host(const sched::runtime& job, std::uint64_t created) {
  auto* const made = collection_shared::make(job.pes_of_host());
  made->created.store(static_cast<std::int64_t>(created), std::memory_order_relaxed);
  return made;
}

/// Creates the local part of a collection on one PE, with its initial elements.
template <class T, class... A>
struct creation {
  using tuple = std::tuple<collection_facts, A...>;
  static void create(sched::pe& here, const tuple& arguments) {
    pe_objects& objects = pe_objects::of(here);
    const collection_facts& facts = std::get<0>(arguments);
    local_collection& home = objects.add_local_collection(facts, type_name<T>());
    if (facts.shape.dense) {
      method_scope scope(objects);
      const local_collection::constructor make = [&]() -> std::unique_ptr<element_base> {
        return std::apply(
            [](const collection_facts&, const auto&... argument) -> std::unique_ptr<element_base> {
              if constexpr (std::is_constructible_v<T, const std::decay_t<decltype(argument)>&...>)
                return std::make_unique<T>(argument...);
              else
                return nullptr;
            },
            arguments);
      };
      if (facts.bound_to == 0)
        home.create_initial(make);
      else
        home.create_bound(make);
    }
    objects.release_held(facts.id);
  }
  static void post(sched::pe& here, int pe, const tuple& arguments) {
    post_packed(here, pe, handler, std::get<0>(arguments).id, 0, packed(here, here.is_in_this_process(pe), arguments));
  }
  static sched::envelope for_other_hosts(sched::pe& here, std::uint64_t created, const tuple& arguments) {
    sched::envelope message{};
    message.element = created;
    message.collection = std::get<0>(arguments).id;
    message.handler = handler;
    packed(here, false, arguments).store(message);
    return message;
  }
  static void deliver(sched::pe& here, sched::envelope& message) {
    unpacked_arguments<tuple> arguments(message);
    collection_facts& facts = std::get<0>(arguments.values());
    check_collection_facts(here, message, facts);
    if (facts.shared == nullptr)
      facts.shared = reinterpret_cast<collection_shared*>(static_cast<std::uintptr_t>(message.element));
    create(here, arguments.values());
  }
  /// From another host: `element` holds the number created, then the address of the shared state of this host's PEs.
  static void at_host(const sched::runtime& job, sched::envelope& message) {
    message.element = reinterpret_cast<std::uintptr_t>(shared_by_host(job, message.element));
  }
  static inline const std::uint32_t handler = sched::with_role(
      sched::message_role::creation,
      register_handler_of<tuple>(&deliver, "creation of " + type_name<T>(), nullptr, nullptr, &at_host));

 private:
  static packed_arguments packed(sched::pe& here, bool same_process, const tuple& arguments) {
    return std::apply([&](const auto&... each) { return pack_arguments<tuple>(here, same_process, false, each...); },
                      arguments);
  }
};

/// The class that its base knows as that of the elements: otherwise objects that move would arrive as the base class.
template <class T>
constexpr void check_own_class() {
  static_assert(std::is_same_v<decltype(std::declval<const T&>().this_element()), element_ref<T>>,
                "the class of the elements derives from another element class: let it derive from "
                "tri::derived_element<Self, Base> instead");
}

/// What a collection is beside its shape.
struct collection_kind {
  bool one_per_pe = false;
  creation_on_demand on_demand = creation_on_demand::no;
  std::uint32_t bound_to = 0;
};

/// Of the array to which another is to be bound. Throws std::logic_error if that cannot be.
const collection_facts& facts_of_leader(sched::pe& here, std::uint32_t collection);

/// Creates a collection on all PEs; returns when it exists on this one.
template <class T, class... A>
collection_facts create_collection(array_shape shape, placement where, const collection_kind& kind,
                                   const A&... arguments) {
  check_own_class<T>();
  auto& here = sched::this_pe();
  auto& job = here.job();
  if (const std::string fault = fault_of_shape(shape); !fault.empty())  // the elements wrap around in 64 bits, perhaps
    throw std::invalid_argument(type_name<T>() + ": " + fault);
  collection_facts facts;
  facts.id = static_cast<std::uint32_t>(here.repeatable(job.new_collection_number()));
  facts.placement = where.number;
  facts.map = where.map;
  facts.bound_to = kind.bound_to;
  facts.shape = shape;
  facts.one_per_pe = kind.one_per_pe;
  facts.on_demand = kind.on_demand;
  facts.element_type = element_type_entry<T>::number;
  facts.creator = here.number();
  using made = creation<T, A...>;
  const std::uint64_t created = shape.dense ? shape.elements() : 0;
  typename made::tuple packed(facts, arguments...);
  {
    sched::envelope to_hosts{};
    if (job.hosts() > 1) to_hosts = made::for_other_hosts(here, created, packed);
    const sched::creation_in_host in_host(here, job.hosts() > 1 ? &to_hosts : nullptr);
    facts.shared = shared_by_host(job, created);
    std::get<0>(packed) = facts;
    const int first = job.first_pe_of_host();
    for (int pe = first; pe < first + job.pes_of_host(); ++pe)
      if (pe != here.number()) made::post(here, pe, packed);
  }
  made::create(here, packed);
  return facts;
}

/// Ends the job when the PE in it is not the sender.
void check_insertion_origin(sched::pe& here, const sched::envelope& message, const insertion_origin& origin);

/// Creates one element of a sparse array, or a single object, where the message arrives. Single objects have no
/// broadcasts, hence no origin.
template <class T, bool HasOrigin, class Index, class... A>
struct insertion {
  using tuple = std::conditional_t<HasOrigin, std::tuple<insertion_origin, Index, A...>, std::tuple<Index, A...>>;
  static void deliver(sched::pe& here, sched::envelope& message) {
    local_collection* const home = pe_objects::of(here).find_or_hold(message);
    if (home == nullptr) return;
    unpacked_arguments<tuple> arguments(message);
    auto kept = std::make_shared<tuple>(std::move(arguments.values()));
    insertion_origin origin;
    if constexpr (HasOrigin) origin = std::get<0>(*kept);
    check_insertion_origin(here, message, origin);
    const auto make = [kept] { return std::apply([](auto&... each) { return made(each...); }, *kept); };
    home->insert(message.element, make, origin);
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&deliver, "insertion into " + type_name<T>());

 private:
  static std::unique_ptr<element_base> made(Index& key, auto&... argument) {
    current_construction().key = &key;
    return std::make_unique<T>(std::move(argument)...);
  }
  static std::unique_ptr<element_base> made(insertion_origin&, Index& key, auto&... argument) {
    return made(key, argument...);
  }
};

/// The text form of a user key in error messages; overload it in the namespace of your key type.
template <class Index>
std::string describe_key(const Index& key) {
  std::string text("[");
  if constexpr (std::is_convertible_v<Index, std::string>)
    text.append(key);
  else if constexpr (std::is_arithmetic_v<Index>)
    text.append(std::to_string(key));
  else
    text.append(type_name<Index>());
  return text.append("]");
}

}  // namespace objects

/// Base of the elements of an array. `Index` is tri::index<1..6> or a key type of your own: hashable with std::hash,
/// comparable, copyable, and serializable if elements cross processes. An element is found by the hash of its key
/// alone: keys of one array must not share a hash (all 64 bits count; h(x) ^ h(y) is not a hash of a pair).
template <class Self, class Index>
class array_element : public objects::element_base {
 public:
  using index_type = Index;

  /// This element's index. Valid from the constructor on.
  const Index& this_index() const { return key_; }
  /// The array this element belongs to.
  array<Self> this_array() const { return array<Self>(home().facts().id, home().facts().shape); }
  std::uint32_t type() const override { return objects::element_type_entry<Self>::number; }
  element_ref<Self> this_element() const { return element_ref<Self>(home().facts().id, number()); }

  std::string describe() const override {
    if constexpr (objects::dimensions_of<Index> == 0) {
      using objects::describe_key;
      return objects::type_name<Self>().append(describe_key(key_));
    } else {
      return home().describe(number());
    }
  }

 protected:
  array_element() {
    if constexpr (objects::dimensions_of<Index> == 0)
      key_ = *static_cast<const Index*>(objects::current_construction().key);
    else
      key_ = objects::index_of<Index>(home().facts().shape, number());
  }

  /// Moves this element to another PE of the job once the running method has ended. Messages follow; none is lost, and
  /// the order of each sender is kept. Moving to another process requires a default constructor and serialize. After
  /// the move `on_migrated()` is called if the class has it.
  /// While the element cannot move (can_migrate_now) the move is delayed; a later request replaces it, and one to the
  /// own PE cancels it.
  void migrate_to(int pe) { home().migrate(*this, pe); }
  /// Deletes this element once the running method has ended. From then on messages to it end the job with an error, and
  /// calls fail with remote_error, as do those that it has not answered by then. Messages that no coroutine of it has
  /// awaited are dropped.
  void erase_this() { home().erase(*this); }

  /// Takes part in a reduction over the whole array: every element contributes once per reduction, in the same order of
  /// reductions; the result goes to `target`. May be called in the constructor.
  template <class T, class Reducer>
  void contribute(T&& value, Reducer, callback<objects::result_of_reduction<Reducer, std::decay_t<T>>> target) {
    objects::contribute<Reducer>(*this, std::forward<T>(value), std::move(target));
  }

  /// Load balancing at a call of all elements (trireme/balance.hpp): when all of the array have called, elements
  /// migrate, and `Method`, a method of this class without parameters, runs on each of them, at its new place. Counts
  /// as a contribution, in the same order as others.
  template <auto Method>
  void balance_then() {
    static_assert(std::tuple_size_v<typename objects::method_facts<Method>::arguments> == 0,
                  "balance_then: the method that runs after the balancing takes no parameters");
    contribute_for_balancing(objects::broadcast_method<Method>::handler);
  }
  /// The same in coroutines: `co_await balance()` goes on after the balancing. While it waits the element can move to
  /// another PE of its process; to another process only elements whose methods have ended can, see balance_then.
  auto balance() {
    contribute_for_balancing(objects::broadcast_method<&array_element::balancing_has_ended>::handler);
    return when<&array_element::balancing_has_ended>();
  }
  /// A barrier over the whole array: `target` gets a signal when every element has contributed. Counts as a
  /// contribution like those with a value.
  void contribute(callback<> target) {
    objects::contribute<objects::count_of_arrivals>(*this, objects::nothing{}, callback<objects::nothing>(target));
  }
  /// Takes part in a reduction over a section of which this element is a member: every member contributes once to each
  /// reduction of the section, in the same order of its reductions; several may be under way. A member that is deleted
  /// before it has contributed leaves its reductions waiting. Throws std::logic_error for a section without members.
  template <class T, class Reducer>
  void contribute(const section_name& of, T&& value, Reducer,
                  callback<objects::result_of_reduction<Reducer, std::decay_t<T>>> target) {
    objects::contribute_to_section<Reducer>(*this, of, std::forward<T>(value), std::move(target));
  }
  /// A barrier over a section.
  void contribute(const section_name& of, callback<> target) {
    objects::contribute_to_section<objects::count_of_arrivals>(*this, of, objects::nothing{},
                                                               callback<objects::nothing>(target));
  }

  /// In a coroutine: `co_await when<&Self::method>(reference)` waits for one message of that method whose first
  /// argument equals `reference`, runs the method with it, and yields the method's result. Messages that are not
  /// awaited yet are kept. A method that any coroutine in the program awaits runs only when awaited. Omit `reference`
  /// when the first parameter is not an integer: then any message of the method matches. Throws std::out_of_range when
  /// the parameter cannot have the value.
  ///
  /// With more values, the arguments that follow must equal these: `when<&Self::block>(row, column)`. Messages with the
  /// same reference are then looked through in order.
  template <auto Method, class Reference = objects::no_reference, class... More>
  auto when(Reference reference = {}, const More&... more) {
    return when_n_of<objects::single_result, Method>(1, reference, more...);
  }
  /// The same for `count` messages with this reference; yields a vector of the results.
  template <auto Method, class Reference = objects::no_reference, class... More>
  auto when_n(std::size_t count, Reference reference = {}, const More&... more) {
    return when_n_of<objects::many_results, Method>(count, reference, more...);
  }
  /// The same for one message, the first for whose arguments `wanted(arguments...)` holds; all messages of the method
  /// that are kept are looked through, in the order in which they came. The predicate is called for each once or more,
  /// also when a message comes; it must not throw, send or wait.
  template <auto Method, class Predicate>
  auto when_if(Predicate wanted) {
    static_assert(std::is_trivially_destructible_v<Predicate>,
                  "when_if: the predicate captures what has a destructor; capture it by reference, because gcc 12 "
                  "destroys captures in a co_await twice");
    using waiter = objects::method_waiter<Method, Predicate>;
    return objects::when_awaiter<objects::single_result, waiter>(
        *this, std::make_unique<waiter>(*this, 0, 1, objects::message_match::filter, wanted));
  }
  /// Waits for several of them at once: `auto [a, b] = co_await all(when<&Self::x>(1), when_n<&Self::y>(2, 1))`.
  template <class... Part>
  auto all(Part&&... parts) {
    return objects::all_awaiter<Part...>(*this, std::move(parts)...);
  }
  /// Waits for any one of them; see tri::select. Here, so that the C library's select is not meant.
  template <class... Alternative>
  auto select(Alternative&&... alternatives) {
    return tri::select(std::forward<Alternative>(alternatives)...);
  }

 private:
  void balancing_has_ended() {}
  void contribute_for_balancing(std::uint32_t then) {
    static_cast<void>(&objects::uses_balancing<Self>::is_noted);
    contribute(std::uint8_t{0}, bit_or,
               callback<std::uint8_t>::to_handler(objects::collection_is_ready_handler, home().facts().id, then));
  }
  template <class Result, auto Method, class Reference, class... More>
  auto when_n_of(std::size_t count, Reference reference, const More&... more) {
    const std::uint64_t number = objects::reference_of<Method>(reference);
    if constexpr (sizeof...(More) == 0) {
      using waiter = objects::method_waiter<Method>;
      return objects::when_awaiter<Result, waiter>(*this, std::make_unique<waiter>(*this, number, count));
    } else {
      using waiter = objects::method_waiter<Method, decltype(objects::filter_of<Method>(more...))>;
      return objects::when_awaiter<Result, waiter>(
          *this, std::make_unique<waiter>(*this, number, count, objects::message_match::reference_and_filter,
                                          objects::filter_of<Method>(more...)));
    }
  }
  friend objects::element_type objects::describe_element_type<Self>();
  Index key_{};
};

/// Base of the elements of an array whose class derives from that of another array: `struct cell : array_element<cell,
/// I>`, `struct wet_cell : derived_element<wet_cell, cell>`. Its arrays and elements may be used as those of the base
/// class; virtual methods then are those of the element's own class.
template <class Self, class Base>
class derived_element : public Base {
 public:
  using Base::Base;
  std::uint32_t type() const override { return objects::element_type_entry<Self>::number; }
  array<Self> this_array() const { return array<Self>(this->home().facts().id, this->home().facts().shape); }
  element_ref<Self> this_element() const { return element_ref<Self>(this->home().facts().id, this->number()); }
  std::string describe() const override {
    if constexpr (objects::dimensions_of<typename Base::index_type> == 0) {
      using objects::describe_key;
      return objects::type_name<Self>().append(describe_key(this->this_index()));
    } else {
      return this->home().describe(this->number());
    }
  }
};

/// Handle of an array: plain data that may be copied and sent anywhere. May be a member or a parameter where T is
/// incomplete (hence the template parameter `Element`, always T).
template <class T>
class array {
 public:
  array() = default;
  array(std::uint32_t id, const objects::array_shape& shape) : shape_(shape), id_(id) {}
  /// The same array as one of a base class (derived_element).
  template <class Derived>
    requires(!std::is_same_v<Derived, T> && std::is_base_of_v<T, Derived>)
  array(const array<Derived>& other)  // NOLINT(google-explicit-constructor): as for pointers
      : shape_(other.shape()), id_(other.id()) {}

  /// The element at the given coordinates. Throws std::out_of_range for coordinates outside a dense array.
  template <class... I>
    requires(sizeof...(I) > 0 && (std::is_convertible_v<I, int> && ...) &&
             objects::dimensions_of<typename T::index_type> == sizeof...(I))
  element_ref<T> operator()(I... i) const {
    return (*this)[typename T::index_type(i...)];
  }
  template <class Index>
  element_ref<T> operator[](const Index& where) const {
    return element_ref<T>(id_, objects::number_of(shape_, typename T::index_type(where)));
  }

  /// Invokes a method on every element. Arguments must be copyable (tri::shared_buffer rather than tri::buffer).
  template <auto Method, class... A>
  void broadcast(const A&... arguments) const {
    using facts = objects::method_facts<Method>;
    static_assert(facts::copyable_arguments,
                  "broadcast: the arguments go to many elements and must be copyable (tri::shared_buffer instead of "
                  "tri::buffer)");
    auto& here = sched::this_pe();
    if (objects::pe_objects::of(here).is_ending()) return;
    objects::post_broadcast<typename facts::arguments>(here, local_collection_here(here),
                                                       objects::broadcast_method<Method>::handler, arguments...);
  }
  /// Invokes a method on every element and reduces the results to a future on this PE.
  template <auto Method, class Reducer, class... A>
  auto reduce(Reducer reducer, const A&... arguments) const {
    using value = typename objects::reducing_broadcast<Method, Reducer>::contribution;
    future<objects::result_of_reduction<Reducer, value>> result;
    reduce_to<Method>(reducer, callback<objects::result_of_reduction<Reducer, value>>(result.get_promise()),
                      arguments...);
    return result;
  }
  /// The same, to a callback.
  template <auto Method, class Reducer, class... A>
  void reduce_to(
      Reducer,
      callback<
          objects::result_of_reduction<Reducer, typename objects::reducing_broadcast<Method, Reducer>::contribution>>
          target,
      const A&... arguments) const {
    using broadcast = objects::reducing_broadcast<Method, Reducer>;
    static_assert(objects::method_facts<Method>::copyable_arguments,
                  "reduce: the arguments go to many elements and must be copyable");
    objects::refuse_awaited_method<Method>("reduce");
    auto& here = sched::this_pe();
    if (objects::pe_objects::of(here).is_ending()) return;
    const objects::local_collection& home = local_collection_here(here);
    objects::reduction_root<Reducer, typename broadcast::contribution>::start(
        here, "reduction of " + objects::method_name<Method>(), here.job().pes(), 0, std::move(target),
        [&](const objects::root_name& root) {
          objects::post_broadcast<typename broadcast::tuple>(here, home, broadcast::handler, root, arguments...);
        });
  }

  /// Creates an element of a sparse array, on the calling PE or on `pe`. An index that exists already ends the job. The
  /// element gets exactly the broadcasts that have not begun on the calling PE yet, each once.
  template <class Element = T, class... A>
  void insert(const typename Element::index_type& where, A&&... arguments) const {
    insert_on(sched::this_pe().number(), where, std::forward<A>(arguments)...);
  }
  template <class Element = T, class... A>
  void insert_on(int pe, const typename Element::index_type& where, A&&... arguments) const {
    using inserted = objects::insertion<T, true, typename T::index_type, std::decay_t<A>...>;
    auto& here = sched::this_pe();
    objects::check_pe(here, pe, [] { return objects::type_name<T>() + ": asked to be created"; });
    const std::uint64_t number = objects::number_of(shape_, where);  // throws for an index that is too large
    objects::local_collection* const home = objects::pe_objects::of(here).find_local_collection(id_);
    const objects::insertion_origin origin = home == nullptr ? objects::insertion_origin{} : home->next_insertion();
    objects::post_packed(here, pe, inserted::handler, id_, number,
                         objects::pack_arguments<typename inserted::tuple>(
                             here, here.is_in_this_process(pe), false, origin, where, std::forward<A>(arguments)...));
    if (home != nullptr) home->insertion_begins(origin);  // when nothing can fail any more
  }

  /// Some of the elements, for multicast and reduction; see section.hpp.
  template <class Element = T>
  section<T> select(std::vector<typename Element::index_type> members) const;

  std::uint32_t id() const { return id_; }
  const objects::array_shape& shape() const { return shape_; }
  /// The elements that live on the calling PE now.
  std::vector<T*> local_elements() const {
    std::vector<T*> found;
    for (objects::element_base* const element : local_collection_here(sched::this_pe()).local_elements())
      found.push_back(objects::pointer_as<T>(element));
    return found;
  }

 private:
  const objects::local_collection& local_collection_here(sched::pe& here) const {
    const objects::local_collection* const home = objects::pe_objects::of(here).find_local_collection(id_);
    // Collection 0 holds the single objects: it is not an array, but a default-constructed handle has its number.
    if (home == nullptr || id_ == 0)
      throw std::logic_error("trireme: this handle names no array that exists here (a default-constructed handle?)");
    return *home;
  }
  objects::array_shape shape_;
  std::uint32_t id_ = 0;
};

namespace objects {

template <auto Method, class T>
struct callback_to_all {
  using arguments = typename method_facts<Method>::arguments;
  static std::string name() { return method_name<Method>() + " of all elements of " + type_name<T>(); }
  static void send(sched::pe&, const sched::envelope& message, bool, const auto&... values) {
    array<T>(message.collection, {}).template broadcast<Method>(values...);
  }
};

}  // namespace objects

/// A callback that invokes a method of all elements of an array or group with the value: a broadcast, from where the
/// value is. With a reference number as for an element.
template <auto Method, class T>
auto to(const array<T>& target) {
  return objects::make_callback<objects::callback_to_all<Method, T>>(target.id(), 0);
}
template <auto Method, class T, class Reference>
auto to(const array<T>& target, Reference reference) {
  return objects::make_callback<objects::callback_to_all<Method, T>>(target.id(), 0, reference);
}

/// The extents of a dense array, 1 to 6 of them.
struct extents {
  std::vector<int> of;
  extents(std::initializer_list<int> list) : of(list) {}
};

/// Creates a dense array with one element at every index, each constructed with copies of the arguments. Any PE may
/// call it, at any time; the handle is usable at once.
template <class T, class... A>
array<T> make_array(const extents& size, placement where, const A&... arguments) {
  constexpr int n = objects::dimensions_of<typename T::index_type>;
  static_assert(n > 0, "arrays with user keys are sparse: use tri::make_sparse_array");
  static_assert(std::is_constructible_v<T, const A&...>, "the element class has no constructor for these arguments");
  if (size.of.size() != static_cast<std::size_t>(n))
    throw std::invalid_argument(objects::type_name<T>() + ": " + std::to_string(size.of.size()) +
                                " extents given; the index has " + std::to_string(n) + " dimensions");
  objects::array_shape shape;
  shape.dense = true;
  shape.dimensions = static_cast<std::uint8_t>(n);
  for (int d = 0; d < n; ++d) {
    const int extent = size.of[static_cast<std::size_t>(d)];
    if (extent < 1)
      throw std::invalid_argument(objects::type_name<T>() + ": extent " + std::to_string(extent) +
                                  " given; every extent must be at least 1");
    shape.extent[static_cast<std::size_t>(d)] = static_cast<std::uint32_t>(extent);
  }
  return array<T>(objects::create_collection<T>(shape, where, {}, arguments...).id, shape);
}
template <class T, class... A>
array<T> make_array(const extents& size, const A&... arguments) {
  return make_array<T>(size, block(), arguments...);
}

/// Creates an array bound to `other`, a dense one, with the same extents: elements of equal index are partners, always
/// on the same PE, so that `other[this_index()].local()` finds the partner at any time, in constructors and
/// on_migrated(), too. Partners are created where that of `other` is, move together (when all of them can), and are
/// deleted together: migrate_to and erase_this of one are those of all. To load balancing they are one object. Any
/// number of arrays may be bound to one, also through one that is bound itself. No element of `other` may be moving
/// meanwhile: that ends the job. Any PE may call it; the handle is usable at once. Throws std::logic_error when `other`
/// is not dense or does not exist here.
template <class T, class Other, class... A>
array<T> make_bound_array(const array<Other>& other, const A&... arguments) {
  static_assert(objects::dimensions_of<typename T::index_type> == objects::dimensions_of<typename Other::index_type>,
                "make_bound_array: both arrays need the same number of dimensions");
  static_assert(std::is_constructible_v<T, const A&...>, "the element class has no constructor for these arguments");
  const objects::collection_facts& leader = objects::facts_of_leader(sched::this_pe(), other.id());
  const objects::collection_kind kind{.bound_to = leader.id};
  return array<T>(
      objects::create_collection<T>(leader.shape, placement{leader.placement, leader.map}, kind, arguments...).id,
      leader.shape);
}

/// Argument of make_sparse_array: the first message to an index creates its element.
struct on_demand {
  objects::creation_on_demand where;
};
/// On the PE that the placement names (Charm++: [createhome]).
inline constexpr on_demand create_at_home{objects::creation_on_demand::at_home};
/// On the PE from which the message came (Charm++: [createhere]).
inline constexpr on_demand create_at_sender{objects::creation_on_demand::at_sender};

/// Creates an array without elements; they are inserted and deleted while the program runs.
template <class T>
array<T> make_sparse_array(placement homes = block()) {
  objects::array_shape shape;
  shape.dimensions = static_cast<std::uint8_t>(objects::dimensions_of<typename T::index_type>);
  return array<T>(objects::create_collection<T>(shape, homes, {}).id, shape);
}
/// The same; the first message to an index where no element ever was creates one, with its default constructor. An
/// element may be deleted; a message after that is an error, as elsewhere. Do not insert an index that a message may
/// create: what comes second ends the job.
template <class T>
array<T> make_sparse_array(on_demand missing, placement homes = block()) {
  static_assert(objects::dimensions_of<typename T::index_type> > 0,
                "elements with user keys cannot be created on demand: a message has the hash of the key, not the key");
  static_assert(std::is_default_constructible_v<T>, "elements created on demand need a default constructor");
  objects::array_shape shape;
  shape.dimensions = static_cast<std::uint8_t>(objects::dimensions_of<typename T::index_type>);
  return array<T>(objects::create_collection<T>(shape, homes, {.on_demand = missing.where}).id, shape);
}

}  // namespace tri

#pragma GCC visibility pop
