// Bases of the user's objects. An element knows its number, its collection and its PE; the typed bases below add its
// index. User classes derive from tri::array_element<Self, Index>, tri::group_member<Self>, tri::nodegroup_member<Self>
// or tri::object<Self>.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/detail/objects/element_type.hpp"
#include "trireme/detail/objects/message_waiter.hpp"
#include "trireme/detail/objects/method.hpp"
#include "trireme/detail/objects/pe_objects.hpp"
#include "trireme/detail/objects/type_name.hpp"
#include "trireme/index.hpp"
#include "trireme/task.hpp"

namespace tri::objects {
class awaited_messages;
class collection_manager;
}  // namespace tri::objects

#pragma GCC visibility push(default)

namespace tri {

template <class T>
class array;

namespace objects {

class local_collection;

/// The identity of an element that is being constructed or has just arrived.
struct construction {
  local_collection* home;
  std::uint64_t number;
  const void* key;  // user keys: the key itself
};
construction& current_construction();

class element_base {
 public:
  /// The rest of the constructor runs as a method of this element, until the construction ends.
  element_base() : home_(current_construction().home), number_(current_construction().number), coroutines_(*this) {
    running_owner = &coroutines_;
  }
  element_base(const element_base&) = delete;
  element_base& operator=(const element_base&) = delete;
  virtual ~element_base() = default;

  std::uint64_t number() const { return number_; }
  /// The element as error messages name it, e.g. "Cell(1,2,3)".
  virtual std::string describe() const = 0;
  /// The number of its class (element_type.hpp).
  virtual std::uint32_t type() const = 0;
  /// False while messages that came earlier are still on their way here; then others have to wait (location protocol).
  bool is_ready() const { return ready_; }
  void take_undelivered(std::vector<sched::envelope>&& messages) { undelivered_ = std::move(messages); }
  std::uint64_t seen_broadcasts() const { return seen_broadcasts_; }
  local_collection& home() const { return *home_; }
  coroutine_owner& coroutines() { return coroutines_; }
  /// The number of the next contribution to a section, and those of all sections to which it has contributed.
  std::uint64_t& section_contributions(std::uint64_t section);
  std::vector<std::pair<std::uint64_t, std::uint64_t>>& section_contributions() { return section_contributions_; }
  awaited_messages& awaited();
  bool has_awaited() const { return awaited_ != nullptr; }
  /// A coroutine of this element waits for something other than messages (a future): then it cannot leave its PE now.
  bool waits_for_results() const { return coroutines_.waits_for_result(); }
  /// A message for an awaited method came; see awaited_messages.
  void awaited_message_arrived(const message_key& key, sched::envelope& message);
  /// A coroutine requests messages: consumes kept ones. True: it need not wait.
  bool satisfy_waiters(const std::vector<message_waiter*>& wanted);
  /// The same for one of several alternatives: all that it needs, or none.
  bool satisfy_waiter_at_once(message_waiter& wanted);
  /// Afterwards, if it has to: for all, or for any of them.
  void wait_for_messages(std::vector<message_waiter*> wanted, std::coroutine_handle<> coroutine);
  void wait_for_any_message(std::vector<message_waiter*> wanted, std::coroutine_handle<> coroutine);
  /// A coroutine that waited for messages will not be resumed any more.
  void forget_waiter(const message_waiter& any);

  /// The element's destination; nothing when no move was requested, it has arrived, or the request was cancelled.
  std::optional<int> pending_migration() const {
    return moving_to_ == stays ? std::nullopt : std::optional<int>(moving_to_);
  }
  /// Whether a move to that PE would start at once. A wait for a future keeps an element on its PE; a suspended
  /// coroutine, or a future that it has made and whose value was not taken yet, keeps it in its process. Also false for
  /// a PE to which it cannot move at all.
  bool can_migrate_now(int pe) const;

 private:
  friend class collection_manager;
  local_collection* home_;
  std::uint64_t number_;
  static constexpr std::size_t nowhere = ~std::size_t{0};
  static constexpr std::int32_t stays = -1;
  bool ready_ = true;
  std::int32_t moving_to_ = stays;     // requested, and still here
  std::size_t local_index_ = nowhere;  // in the local collection's list of local elements
  std::uint64_t seen_broadcasts_ = 0;  // at its last arrival; earlier ones are not for it any more
  std::uint64_t contributions_ = 0;    // number of the next contribute()
  std::vector<std::pair<std::uint64_t, std::uint64_t>> section_contributions_;  // of the next one, by section
  std::vector<sched::envelope>
      undelivered_;  // on a migration: messages that reached the old place and did not run there
  struct delete_awaited {
    void operator()(awaited_messages* all) const;
  };
  std::unique_ptr<awaited_messages, delete_awaited> awaited_;
  coroutine_owner coroutines_;  // last: destroyed first, while the messages its coroutines refer to is still there
};

/// The element as an object of the class that has a method: a base of the elements' class, which need not be one of
/// ours.
template <class Object, class Element>
Object& object_of(Element& element) {
  if constexpr (std::is_base_of_v<Element, Object>)
    return static_cast<Object&>(element);
  else
    return dynamic_cast<Object&>(element);
}

template <class Object, class Element>
Object* pointer_as(Element* element) {
  if constexpr (std::is_base_of_v<Element, Object>)
    return static_cast<Object*>(element);
  else
    return dynamic_cast<Object*>(element);
}

/// Argument of when() for a method without a reference number.
struct no_reference {};

/// The first parameter of a method is its reference number if it is an integer or an enumeration.
template <class Arguments>
inline constexpr bool has_reference = false;
template <class First, class... Others>
inline constexpr bool has_reference<std::tuple<First, Others...>> = std::is_integral_v<First> || std::is_enum_v<First>;

template <class T>
constexpr auto integer_of(T value) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<std::underlying_type_t<T>>(value);
  else
    return value;
}

/// A value that the coroutine names, as an argument of the method's parameter type has it. Throws std::out_of_range
/// when the parameter cannot have that value: then no message could ever match.
template <auto Method, class Parameter, class Given>
Parameter as_parameter(const Given& given) {
  if constexpr ((std::is_integral_v<Given> || std::is_enum_v<Given>)&&(std::is_integral_v<Parameter> ||
                                                                       std::is_enum_v<Parameter>)) {
    const auto number = integer_of(given);
    const auto converted = integer_of(static_cast<Parameter>(given));
    if (static_cast<decltype(number)>(converted) != number || (converted < 0) != (number < 0)) [[unlikely]]
      throw std::out_of_range("tri::when: " + method_name<Method>() + " cannot have the reference number " +
                              std::to_string(number) + ": its first parameter is of " + type_name<Parameter>());
    return static_cast<Parameter>(given);
  } else {
    return Parameter(given);
  }
}

/// The reference number as messages of the method carry it (peek_reference).
template <auto Method, class Reference>
std::uint64_t reference_of(Reference given) {
  using arguments = typename method_facts<Method>::arguments;
  constexpr bool is_given = !std::is_same_v<Reference, no_reference>;
  static_assert(is_given || !has_reference<arguments>,
                "write when<&T::method>(reference), or when_n<&T::method>(count, reference): the first parameter of "
                "this method is an integer, and a message is awaited by its value; where any message will do, let "
                "something else be the first parameter");
  static_assert(!is_given || has_reference<arguments>,
                "write when<&T::method>(), or when_n<&T::method>(count): the first parameter of this method is no "
                "integer, so its messages have no reference number");
  if constexpr (is_given && has_reference<arguments>) {
    static_assert(std::is_integral_v<Reference> || std::is_enum_v<Reference>,
                  "when: the reference number must be an integer or an enumeration, as the method's first parameter");
    if constexpr (std::is_integral_v<Reference> || std::is_enum_v<Reference>)
      return static_cast<std::uint64_t>(as_parameter<Method, std::tuple_element_t<0, arguments>>(given));
  }
  return 0;
}

struct no_filter {};

/// Of messages with a reference number those whose next arguments have given values.
template <class... T>
struct argument_filter {
  std::tuple<T...> wanted;
  template <class Reference, class... P>
  bool operator()(const Reference&, const P&... arguments) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto given = std::tie(arguments...);
      return ((std::get<I>(given) == std::get<I>(wanted)) && ...);
    }(std::index_sequence_for<T...>());
  }
};
template <auto Method, class... Given>
auto filter_of(const Given&... given) {
  using arguments = typename method_facts<Method>::arguments;
  static_assert(sizeof...(Given) < std::tuple_size_v<arguments>,
                "when: more values are given than the method has parameters");
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return argument_filter<std::tuple_element_t<I + 1, arguments>...>{
        {as_parameter<Method, std::tuple_element_t<I + 1, arguments>>(given)...}};
  }(std::index_sequence_for<Given...>());
}

/// Waits in `co_await` for `count` messages of one method; see awaited_messages.hpp. `Filter` is a predicate on the
/// arguments.
template <auto Method, class Filter = no_filter>
class method_waiter final : public message_waiter {
  using facts = method_facts<Method>;
  static_assert(!is_task<typename facts::result>,
                "when: the method that is awaited is a coroutine itself; let it return its value at once, and do what "
                "takes long in the coroutine that awaits it");
  using value = std::conditional_t<std::is_void_v<typename facts::result>, std::monostate, typename facts::result>;

 public:
  method_waiter(element_base& self, std::uint64_t reference, std::size_t count,
                message_match match = message_match::reference, Filter filter = {})
      : message_waiter(entry_method<Method>::handler, reference, count, match),
        self_(&self),
        filter_(std::move(filter)) {
    static_cast<void>(&mark_awaited<Method>::done);
    results_.reserve(count);
  }
  bool accept(sched::envelope& message, const bool& is_gone) override;
  bool accepts(sched::envelope& message) override;
  std::vector<value> take() { return std::move(results_); }
  element_base& self() const { return *self_; }

 private:
  value run(auto& arguments) {
    auto& object = object_of<typename facts::object>(*self_);
    if constexpr (std::is_void_v<typename facts::result>) {
      facts::invoke(object, arguments);
      return {};
    } else {
      return facts::invoke(object, arguments);
    }
  }
  element_base* self_;
  std::vector<value> results_;
  [[no_unique_address]] Filter filter_;
};

/// The awaitable of when() and all(): several waiters that are satisfied together.
template <class Result, class... Waiter>
class when_awaiter {
 public:
  explicit when_awaiter(element_base& self, std::unique_ptr<Waiter>... waiters)
      : self_(&self), waiters_(std::move(waiters)...) {}
  when_awaiter(when_awaiter&& other) noexcept = default;
  ~when_awaiter() {
    if (suspended_ != nullptr) self_->forget_waiter(*wanted().front());
  }
  bool await_ready() { return self_->satisfy_waiters(wanted()); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    suspended_ = coroutine;
    self_->wait_for_messages(wanted(), coroutine);
  }
  decltype(auto) await_resume() {
    suspended_ = nullptr;
    return Result::of(*std::get<std::unique_ptr<Waiter>>(waiters_)...);
  }

  std::vector<message_waiter*> wanted() {
    return std::apply([](auto&... waiter) { return std::vector<message_waiter*>{waiter.get()...}; }, waiters_);
  }
  element_base& self() const { return *self_; }

 private:
  element_base* self_;
  std::tuple<std::unique_ptr<Waiter>...> waiters_;
  std::coroutine_handle<> suspended_ = nullptr;
};

/// Waits for several when() and when_n() at once; yields a tuple of their results (std::monostate for none).
template <class... Part>
class all_awaiter {
 public:
  all_awaiter(element_base& self, Part&&... parts) : self_(&self), parts_(std::move(parts)...) {}
  ~all_awaiter() {
    if (suspended_ != nullptr) self_->forget_waiter(*wanted().front());
  }
  bool await_ready() { return self_->satisfy_waiters(wanted()); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    suspended_ = coroutine;
    self_->wait_for_messages(wanted(), coroutine);
  }
  auto await_resume() {
    suspended_ = nullptr;
    const auto result_of = [](auto& part) {
      if constexpr (std::is_void_v<decltype(part.await_resume())>) {
        part.await_resume();
        return std::monostate{};
      } else {
        return part.await_resume();
      }
    };
    return std::apply([&](auto&... part) { return std::tuple(result_of(part)...); }, parts_);
  }

 private:
  static void append(std::vector<message_waiter*>& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  }
  std::vector<message_waiter*> wanted() {
    std::vector<message_waiter*> all;
    std::apply([&](auto&... part) { (append(all, part.wanted()), ...); }, parts_);
    return all;
  }
  element_base* self_;
  std::tuple<Part...> parts_;
  std::coroutine_handle<> suspended_ = nullptr;
};

struct single_result {
  template <class W>
  static auto of(W& waiter) {
    auto results = waiter.take();
    if constexpr (std::is_same_v<decltype(results), std::vector<std::monostate>>)
      return;
    else
      return typename decltype(results)::value_type(
          std::move(results.front()));  // std::vector<bool> has no bool& to return
  }
};
struct many_results {
  template <class W>
  static auto of(W& waiter) {
    auto results = waiter.take();
    if constexpr (std::is_same_v<decltype(results), std::vector<std::monostate>>)
      return;
    else
      return results;
  }
};
}  // namespace objects
}  // namespace tri

#pragma GCC visibility pop
