// Node groups: one object per process, whose messages are run by any idle PE of the process (Mei 2012, M58-M60).
// Several methods may run at the same time, unless the class says which exclude each other. No migration.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include "trireme/array.hpp"
#include "trireme/detail/objects/multicast.hpp"
#include "trireme/detail/objects/node_relay.hpp"
#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/sched/priority.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Names methods in a class: `using exclusive_methods = tri::methods<&T::a, &T::b>;`
template <auto... Method>
struct methods {};

namespace objects {

class node_object {
 public:
  node_object();
  virtual ~node_object();
  node_object(const node_object&) = delete;
  node_object& operator=(const node_object&) = delete;
  /// The number of its class.
  virtual std::uint32_t node_type() const = 0;

  /// Before an exclusive method. False: another one runs; the message, whose payload is taken over, is sent again when
  /// that has ended. Any PE of the process.
  [[nodiscard]] bool begin_exclusive(sched::pe& here, const sched::envelope& message);
  /// Any PE of the process.
  void end_exclusive(sched::pe& here);
  /// At the end of the job.
  void drop_waiting(sched::pe& here);

 private:
  struct exclusion;
  std::unique_ptr<exclusion> exclusion_;
};

template <auto Method>
struct method_tag {};
template <class List, auto Method>
inline constexpr bool is_listed = false;
template <auto... Listed, auto Method>
inline constexpr bool is_listed<methods<Listed...>, Method> =
    (std::is_same_v<method_tag<Listed>, method_tag<Method>> || ...);
template <class T, auto Method>
constexpr bool is_exclusive() {
  if constexpr (requires { typename T::exclusive_methods; })
    return is_listed<typename T::exclusive_methods, Method>;
  else
    return false;
}

/// While a method of a node group runs: if it is exclusive, no other exclusive one of the member does. A coroutine
/// takes its turn along, to its end.
template <auto Method>
class node_turn {
 public:
  node_turn(sched::pe& here, node_object& object, const sched::envelope& message) : here_(here), object_(object) {
    if constexpr (excludes) has_it_ = object.begin_exclusive(here, message);
  }
  ~node_turn() {
    if (excludes && has_it_) object_.end_exclusive(here_);
  }
  node_turn(const node_turn&) = delete;
  node_turn& operator=(const node_turn&) = delete;
  bool has_it() const { return has_it_; }
  /// The method has become a coroutine, at whose end end() is called.
  void outlives_message() { has_it_ = false; }
  static void end(node_object& object) {
    if constexpr (excludes) object.end_exclusive(sched::this_pe());
  }

 private:
  static constexpr bool excludes = is_exclusive<typename method_facts<Method>::object, Method>();
  sched::pe& here_;
  node_object& object_;
  bool has_it_ = true;
};

/// What checkpoints need of a class; as element_type. Null: the class cannot.
struct node_object_type {
  std::string name;
  void (*save)(const node_object&, output_archive&) = nullptr;
  std::unique_ptr<node_object> (*load)(input_archive&) = nullptr;
  std::unique_ptr<node_object> (*make)() = nullptr;  // by the default constructor
  void (*on_restored)(node_object&) = nullptr;
  void (*on_shrink)(node_object&, node_object& leaving) = nullptr;
  bool is_same_everywhere = false;
};
std::uint32_t register_node_object_type(node_object_type type);
const node_object_type& node_object_type_of(std::uint32_t number);
std::uint32_t node_object_types();  ///< the number of them
/// The members of this process, in the order of their creation. Not during this a member may be created.
void for_each_node_object(os::function_ref<void(std::uint32_t group, node_object&)> visit);

template <class T>
node_object_type describe_node_object_type() {
  node_object_type type;
  type.name = type_name<T>();
  if constexpr (is_serializable<T> && std::is_default_constructible_v<T>) {
    type.save = [](const node_object& object, output_archive& archive) { archive(static_cast<const T&>(object)); };
    type.make = []() -> std::unique_ptr<node_object> { return std::make_unique<T>(); };
    type.load = [](input_archive& archive) -> std::unique_ptr<node_object> {
      auto loaded = std::make_unique<T>();
      archive(*loaded);
      return loaded;
    };
  }
  if constexpr (has_on_restored<T>)
    type.on_restored = [](node_object& object) { static_cast<T&>(object).on_restored(); };
  type.is_same_everywhere = is_same_everywhere<T>();
  if constexpr (has_on_shrink<T>)
    type.on_shrink = [](node_object& object, node_object& leaving) {
      static_cast<T&>(object).on_shrink(static_cast<T&>(leaving));
    };
  return type;
}
template <class T>
struct node_object_type_entry {
  static inline const std::uint32_t number = register_node_object_type(describe_node_object_type<T>());
};

/// Creates the member of this process if no other PE of it has; returns when it exists. Messages that arrived earlier
/// are sent again.
void install_node_object(sched::pe& here, std::uint32_t group, os::function_ref<std::unique_ptr<node_object>()> make);
/// The member of this process; null when its creation has not arrived, and then the message is kept for it.
node_object* find_node_object(sched::pe& here, sched::envelope& message);
/// Without a message. Throws std::logic_error when there is no member.
node_object& node_object_here(std::uint32_t group);
/// The same, or null.
const node_object* known_node_object(std::uint32_t group);
/// At the end of the job, when the PEs of the process have destroyed their own.
void drop_node_objects();
/// At the end of the job: drops messages whose member was never created.
void drop_early_node_messages(sched::pe& here);
[[noreturn]] void report_escaped_node(sched::pe& here, const std::string& type, const std::string& method,
                                      std::exception_ptr error);
/// The same as text, for a caller's future.
std::string describe_escaped_node(sched::pe& here, const std::string& type, const std::string& method,
                                  std::exception_ptr error);

/// Ends the job when another host creates a group with a number that is not its own.
void check_node_number(sched::pe& here, const sched::envelope& message);

template <class T, class... A>
struct node_creation {
  using tuple = std::tuple<A...>;
  static void deliver(sched::pe& here, sched::envelope& message) {
    check_node_number(here, message);
    unpacked_arguments<tuple> arguments(message);
    install_node_object(here, message.collection, [&]() -> std::unique_ptr<node_object> {
      return std::apply([](auto&... argument) { return std::make_unique<T>(std::move(argument)...); },
                        arguments.values());
    });
  }
  static inline const std::uint32_t handler = sched::with_role(
      sched::message_role::creation, register_handler_of<tuple>(&deliver, "creation of node group " + type_name<T>()));
};

/// Runs a method and answers with its value, if requested. `Reply` is a callable taking the value (or nothing).
template <auto Method>
struct node_method {
  using facts = method_facts<Method>;
  using result = typename facts::result;
  using value = typename result_of_method<result>::type;
  using plain_tuple = typename facts::arguments;
  using call_tuple = typename call_arguments<value, plain_tuple>::type;
  using inner = plain_tuple;  // see node_relay

  static void deliver(sched::pe& here, sched::envelope& message) {
    auto* const self = find_node_object(here, message);
    if (self == nullptr) return;
    node_turn<Method> turn(here, *self, message);
    if (!turn.has_it()) return;
    unpacked_arguments<plain_tuple> arguments(message);
    method_scope scope(pe_objects::of(here));
    try {
      auto& object = object_of<typename facts::object>(*self);
      if constexpr (is_task<result>) {
        const owner_scope owner(&pe_objects::of(here).node_coroutines());
        auto started = facts::invoke(object, arguments.values());
        turn.outlives_message();
        keep(here, std::move(started), *self, [](std::exception_ptr error, stored<value>*) {
          if (error != nullptr)
            report_escaped_node(sched::this_pe(), type_name<typename facts::object>(), method_name<Method>(), error);
        });
      } else {
        static_cast<void>(facts::invoke(object, arguments.values()));
      }
    } catch (...) {
      report_escaped_node(here, type_name<typename facts::object>(), method_name<Method>(), std::current_exception());
    }
  }
  static void deliver_call(sched::pe& here, sched::envelope& message) {
    auto* const self = find_node_object(here, message);
    if (self == nullptr) return;
    node_turn<Method> turn(here, *self, message);
    if (!turn.has_it()) return;
    unpacked_arguments<call_tuple> arguments(message);
    method_scope scope(pe_objects::of(here));
    const promise<value> reply = std::get<0>(arguments.values());
    const auto call = [&]() -> decltype(auto) {
      return std::apply(
          [&](auto&, auto&... argument) -> decltype(auto) {
            return (object_of<typename facts::object>(*self).*Method)(std::move(argument)...);
          },
          arguments.values());
    };
    try {
      if constexpr (is_task<result>) {
        const owner_scope owner(&pe_objects::of(here).node_coroutines());
        auto started = call();
        turn.outlives_message();
        keep(here, std::move(started), *self,
             [reply](std::exception_ptr error, stored<value>* returned) { answer(reply, std::move(error), returned); });
      } else if constexpr (std::is_void_v<value>) {
        call();
        reply.set();
      } else {
        reply.set(call());
      }
    } catch (...) {
      fail(reply, std::current_exception());
    }
  }
  // The coroutine goes on where it has begun, on behalf of that PE.
  static void keep(sched::pe& here, auto started, node_object& self, auto completed) {
    started.detach(pe_objects::of(here).node_coroutines(),
                   [&self, completed](std::exception_ptr error, stored<value>* returned) {
                     node_turn<Method>::end(self);
                     completed(std::move(error), returned);
                   });
  }
  static void fail(const promise<value>& reply, std::exception_ptr error) {
    reply.fail(describe_escaped_node(sched::this_pe(), type_name<typename facts::object>(), method_name<Method>(),
                                     std::move(error)));
  }
  // The coroutine has ended: an exception from here has nowhere to go.
  static void answer(const promise<value>& reply, std::exception_ptr error, stored<value>* returned) {
    if (error != nullptr) return fail(reply, std::move(error));
    if (returned == nullptr) return fail(reply, deleted_too_early());
    try {
      if constexpr (std::is_void_v<value>)
        reply.set();
      else
        reply.set(std::move(*returned));
    } catch (...) {
      fail(reply, std::current_exception());
    }
  }
  static std::string name() { return "node " + method_name<Method>(); }
  static void expect(const auto&...) {}
  static void post(sched::pe& here, int process, std::uint32_t group, int, const auto&... arguments) {
    post_to_node<plain_tuple>(here, process, handler, group, arguments...);
  }
  static inline const std::uint32_t handler = register_handler_of<plain_tuple>(&deliver, name());
  static inline const std::uint32_t call_handler =
      register_handler_of<call_tuple>(&deliver_call, "node call of " + method_name<Method>());
};

/// A method of every member, its value sent as a part of a reduction.
template <auto Method, class Reducer>
struct node_reduction {
  using facts = method_facts<Method>;
  static_assert(!is_task<typename facts::result>, "reduce: a coroutine of a node group cannot be reduced over");
  using contribution = std::decay_t<typename facts::result>;
  using part = host_part_handler<Reducer, contribution>;
  using inner = typename prepend<typename facts::arguments, root_name>::type;
  using tuple = typename prepend<inner, pe_number>::type;  // the PE that combines on this host
  static void deliver(sched::pe& here, sched::envelope& message) {
    auto* const self = find_node_object(here, message);
    if (self == nullptr) return;
    const node_turn<Method> turn(here, *self, message);
    if (!turn.has_it()) return;
    unpacked_arguments<tuple> arguments(message);
    const auto [combining_pe, root] = std::tie(std::get<0>(arguments.values()), std::get<1>(arguments.values()));
    check_root(here, message, root);
    if (combining_pe != no_pe) check_pe_of_multicast(here, message, combining_pe);
    method_scope scope(pe_objects::of(here));
    try {
      auto one = std::apply(
          [&](pe_number, const root_name&, auto&... argument) {
            return (object_of<typename facts::object>(*self).*Method)(std::move(argument)...);
          },
          arguments.values());
      part::send_part(here, combining_pe, root, 1,
                      Reducer::start(static_cast<std::uint64_t>(here.job().process()), std::move(one)));
    } catch (...) {
      report_escaped_node(here, type_name<typename facts::object>(), method_name<Method>(), std::current_exception());
    }
  }
  static std::string name() { return "node reduction of " + method_name<Method>() + " by " + type_name<Reducer>(); }
  static void expect(sched::pe& here, const sched::envelope& message, const part_of_subtree& coming,
                     const root_name& root, const auto&...) {
    check_root(here, message, root);
    part::expect(here, root, coming);
  }
  static void post(sched::pe& here, int process, std::uint32_t group, int to, const root_name& root,
                   const auto&... arguments) {
    post_to_node<tuple>(here, process, handler, group, to, root, arguments...);
  }
  static inline const std::uint32_t handler = register_handler_of<tuple>(&deliver, name());
};

}  // namespace objects

/// Base of the members of a node group. Their methods may run at the same time on several PEs of the process, but for
/// those that the class lists: `using exclusive_methods = tri::methods<&T::a, &T::b>;` (Charm++: [exclusive]). Of these
/// one runs at a time on a member, and no PE waits for another: a message whose turn it is not is kept, and sent again.
/// A method may be a coroutine; it goes on on the PE on which it began, and an exclusive one has its turn until its
/// end.
template <class Self>
class nodegroup_member : public objects::node_object {
 public:
  std::uint32_t node_type() const override { return objects::node_object_type_entry<Self>::number; }
};

/// Handle of one member.
template <class T>
class node_ref {
 public:
  node_ref(std::uint32_t group, int process) : group_(group), process_(process) {}
  template <auto Method, class... A>
  void send(A&&... arguments) const {
    post<typename objects::node_method<Method>::plain_tuple>(nullptr, objects::node_method<Method>::handler,
                                                             std::forward<A>(arguments)...);
  }
  template <auto Method, class... A>
  auto call(A&&... arguments) const {
    return call_with<Method>(nullptr, std::forward<A>(arguments)...);
  }
  /// The same member with a priority for the next send or call: among the messages that wait for a PE of its process,
  /// those before 0 run before those without, the others after them.
  auto with(priority urgency) const { return prioritised{*this, urgency}; }
  std::uint32_t group() const { return group_; }
  int process() const { return process_; }

 private:
  struct prioritised {
    node_ref target;
    priority urgency;
    template <auto Method, class... A>
    void send(A&&... arguments) const {
      using method = objects::node_method<Method>;
      target.template post<typename method::plain_tuple>(&urgency, method::handler, std::forward<A>(arguments)...);
    }
    template <auto Method, class... A>
    auto call(A&&... arguments) const {
      return target.template call_with<Method>(&urgency, std::forward<A>(arguments)...);
    }
  };
  template <auto Method, class... A>
  auto call_with(const priority* urgency, A&&... arguments) const {
    using method = objects::node_method<Method>;
    future<typename method::value> result;
    post<typename method::call_tuple>(urgency, method::call_handler, result.get_promise(),
                                      std::forward<A>(arguments)...);
    return result;
  }
  template <class Tuple, class... A>
  void post(const priority* urgency, std::uint32_t handler, A&&... arguments) const {
    auto& here = sched::this_pe();
    auto message =
        objects::node_message(handler, group_,
                              objects::pack_arguments<Tuple>(here, process_ == here.job().process(), urgency != nullptr,
                                                             std::forward<A>(arguments)...));
    if (urgency != nullptr) {
      message.flags |= sched::envelope::has_priority;
      message.block().urgency = *urgency;
    }
    objects::post_or_drop(here, message, [&] { here.send_to_node(process_, message); });
  }
  std::uint32_t group_;
  int process_;
};

/// Handle of a node group: plain data. `group[process]` addresses a member.
template <class T>
class nodegroup {
 public:
  nodegroup() = default;
  explicit nodegroup(std::uint32_t id) : id_(id) {}

  node_ref<T> operator[](int process) const {
    const int processes = sched::this_pe().job().processes();
    if (process < 0 || process >= processes)
      throw std::out_of_range(objects::type_name<T>() + ": no process " + std::to_string(process) + "; there are 0.." +
                              std::to_string(processes - 1));
    return node_ref<T>(id_, process);
  }
  /// The member of the calling process; other PEs may be in its methods at the same time.
  T& local() const { return static_cast<T&>(objects::node_object_here(id_)); }
  template <auto Method, class... A>
  void broadcast(const A&... arguments) const {
    objects::node_relay<objects::node_method<Method>>::post(sched::this_pe(), id_, arguments...);
  }
  template <auto Method, class Reducer, class... A>
  auto reduce(Reducer reducer, const A&... arguments) const {
    future<objects::result_of_reduction<Reducer, typename objects::node_reduction<Method, Reducer>::contribution>>
        result;
    reduce_to<Method>(reducer, result.get_promise(), arguments...);
    return result;
  }
  /// The same, to a callback.
  template <auto Method, class Reducer, class... A>
  void reduce_to(
      Reducer,
      callback<objects::result_of_reduction<Reducer, typename objects::node_reduction<Method, Reducer>::contribution>>
          target,
      const A&... arguments) const {
    using reduction = objects::node_reduction<Method, Reducer>;
    auto& here = sched::this_pe();
    objects::reduction_root<Reducer, typename reduction::contribution>::start(
        here, "node reduction of " + objects::method_name<Method>(), 0, here.job().processes(), std::move(target),
        [&](const objects::root_name& root) { objects::node_relay<reduction>::post(here, id_, root, arguments...); });
  }
  std::uint32_t id() const { return id_; }

 private:
  std::uint32_t id_ = 0;
};

namespace objects {

template <auto Method, class T>
struct callback_to_node {
  using arguments = typename method_facts<Method>::arguments;
  static std::string name() { return method_name<Method>() + " of a node group of " + type_name<T>(); }
  static void send(sched::pe&, const sched::envelope& message, bool, auto&&... values) {
    node_ref<T>(message.collection, static_cast<int>(message.element))
        .template send<Method>(std::forward<decltype(values)>(values)...);
  }
};
template <auto Method, class T>
struct callback_to_all_nodes {
  using arguments = typename method_facts<Method>::arguments;
  static std::string name() { return method_name<Method>() + " of all of a node group of " + type_name<T>(); }
  static void send(sched::pe&, const sched::envelope& message, bool, const auto&... values) {
    nodegroup<T>(message.collection).template broadcast<Method>(values...);
  }
};

}  // namespace objects

/// Callbacks that invoke a method of one member, or of all members, of a node group with the value.
template <auto Method, class T>
auto to(const node_ref<T>& target) {
  return objects::make_callback<objects::callback_to_node<Method, T>>(target.group(),
                                                                      static_cast<std::uint64_t>(target.process()));
}
template <auto Method, class T>
auto to(const nodegroup<T>& target) {
  return objects::make_callback<objects::callback_to_all_nodes<Method, T>>(target.id(), 0);
}

/// Creates one member in every process, each with copies of the arguments. Every PE is notified, so that none of them
/// can learn of the group before its process has a member.
template <class T, class... A>
nodegroup<T> make_nodegroup(const A&... arguments) {
  auto& here = sched::this_pe();
  auto& job = here.job();
  const auto id = static_cast<std::uint32_t>(here.repeatable(job.new_collection_number()));
  using made = objects::node_creation<T, A...>;
  const auto message_for = [&](bool same_process) {
    auto message = objects::node_message(
        made::handler, id, objects::pack_arguments<typename made::tuple>(here, same_process, false, arguments...));
    message.source = static_cast<std::uint32_t>(here.number());
    return message;
  };
  // The own member first: if its constructor throws, no other PE has learned of the group.
  auto own = message_for(true);
  made::deliver(here, own);
  sched::envelope to_hosts{};
  if (job.hosts() > 1) to_hosts = message_for(false);
  const sched::creation_in_host in_host(here, job.hosts() > 1 ? &to_hosts : nullptr);
  const int first = job.first_pe_of_host();
  for (int pe = first; pe < first + job.pes_of_host(); ++pe) {
    if (pe == here.number()) continue;
    auto message = message_for(here.is_in_this_process(pe));
    objects::post_or_drop(here, message, [&] { here.send_copy(pe, message); });
  }
  return nodegroup<T>(id);
}

}  // namespace tri

#pragma GCC visibility pop
