// Single objects: created anywhere, at any time, without an array around them. All single objects of the job form one
// sparse collection, number 0, that exists from the start; an object's number names the PE it was created for.
//
// One that is made without a place is a seed until it begins: a message that waits on its maker's PE, or on another one
// that takes it (sched/seeds/). Its number names the PE where it waited first, which holds its messages until then.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "trireme/array.hpp"
#include "trireme/detail/sched/seed.hpp"

#pragma GCC visibility push(default)

namespace tri {

namespace objects {

/// PE it was created for (16 bits), PE that created it (16 bits), running number of this pair.
struct object_key {
  std::uint64_t number = 0;
  friend bool operator==(const object_key&, const object_key&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};
inline std::string describe_key(const object_key& key) {
  std::string text("#");
  return text.append(std::to_string(key.number & 0xffffffffu))
      .append(" (made by PE ")
      .append(std::to_string((key.number >> 32) & 0xffffu))
      .append(" for PE ")
      .append(std::to_string(key.number >> 48))
      .append(")");
}

struct object_home_map {
  int operator()(std::uint64_t number, std::uint64_t, int pes, const array_shape&) const {
    const int pe = static_cast<int>(number >> 48);
    return pe < pes ? pe : pe % pes;  // made before a restart on fewer PEs
  }
};

}  // namespace objects
}  // namespace tri

template <>
struct std::hash<tri::objects::object_key> {
  std::size_t operator()(const tri::objects::object_key& key) const { return key.number; }
};

namespace tri {

/// Where a new object without a place begins.
enum class seed_strategy : std::uint8_t {
  here,       ///< on the PE that makes it, in its turn among the messages there
  random,     ///< on any PE of the job, each with the same chance
  neighbour,  ///< like stealing, but it waits on the one of five PEs next to each other that has the fewest waiting
  stealing,   ///< on the PE that makes it, the newest first, unless an idle PE takes it before that, the oldest first
};

/// What may be said of a new object without a place.
struct seed_options {
  std::optional<seed_strategy> strategy = std::nullopt;  ///< none: that of the job, `--tri-seeds`
  /// Of the seeds that wait on a PE those with the smallest priority begin first, but for a few that others may take
  /// just then. Where some have a priority and some have not, no order is kept between these.
  std::optional<priority> urgency = std::nullopt;
};

/// Base of single objects. They may migrate like elements of arrays.
template <class Self>
class object : public array_element<Self, objects::object_key> {
 public:
  element_ref<Self> this_object() const { return this->this_element(); }
};

namespace objects {

/// The number of a new object that is made here for a PE.
inline object_key new_object_key(sched::pe& here, int pe) {
  return {(static_cast<std::uint64_t>(pe) << 48) | (static_cast<std::uint64_t>(here.number()) << 32) |
          pe_objects::of(here).next_single_for(pe)};
}

/// Where an object that is made now waits. Not a seed: it begins there in its turn.
struct place_of_object {
  int pe;
  bool is_seed;
};
/// `stays`: its arguments cannot leave the process.
place_of_object place_without_wish(sched::pe& here, const seed_options& options, bool stays);

/// Creates an object that was made without a place where its seed begins.
template <class T, class... A>
struct seed {
  using tuple = std::tuple<A...>;
  static void begin(sched::pe& here, sched::envelope& message) {
    local_collection* const home = pe_objects::of(here).find_or_hold(message);
    if (home == nullptr) return;
    unpacked_arguments<tuple> arguments(message);
    const object_key key{message.element};
    home->begin_seed(message.element, [&]() -> std::unique_ptr<element_base> {
      current_construction().key = &key;
      return std::apply(
          [](auto&... argument) -> std::unique_ptr<element_base> {
            return std::make_unique<T>(std::move(argument)...);
          },
          arguments.values());
    });
  }
  static inline const std::uint32_t arrival = [] {
    const std::uint32_t first = register_handler_of<tuple>(&sched::seed_arrived, "arrival of a new " + type_name<T>());
    register_handler_of<tuple>(&begin, "creation of a " + type_name<T>());  // gets the next number
    return first;
  }();
};

template <class A>
inline constexpr bool is_seed_option =
    std::is_same_v<std::decay_t<A>, seed_options> || std::is_same_v<std::decay_t<A>, seed_strategy>;
template <class... A>
inline constexpr bool begins_with_seed_option = false;
template <class First, class... A>
inline constexpr bool begins_with_seed_option<First, A...> = is_seed_option<First>;

}  // namespace objects

/// Creates a single object on a PE and returns its handle at once; messages sent to it arrive after its constructor.
template <class T, class... A>
element_ref<T> make_object_on(int pe, A&&... arguments) {
  objects::check_own_class<T>();
  auto& here = sched::this_pe();
  if (pe < 0 || pe >= here.job().pes())
    throw std::out_of_range(objects::type_name<T>() + ": asked to be created on PE " + std::to_string(pe) +
                            "; there are PEs 0.." + std::to_string(here.job().pes() - 1));
  const objects::object_key key = objects::new_object_key(here, pe);
  using inserted = objects::insertion<T, false, objects::object_key, std::decay_t<A>...>;
  objects::post_packed(here, pe, inserted::handler, 0, key.number,
                       objects::pack_arguments<typename inserted::tuple>(here, here.is_in_this_process(pe), false, key,
                                                                         std::forward<A>(arguments)...));
  return element_ref<T>(0, key.number);
}

/// Creates a single object on whichever PE is free for it, and returns its handle at once; messages sent to it arrive
/// after its constructor. Until that begins, an idle PE may take it; the object then lives where it has begun. Objects
/// of one maker begin in no order that programs may rely on. Arguments that cannot leave a process (neither plain data
/// nor with a serialize function) keep the object on its maker's PE in a job of several processes.
template <class T, class... A>
element_ref<T> make_object(const seed_options& options, A&&... arguments) {
  auto& here = sched::this_pe();
  using made = objects::seed<T, std::decay_t<A>...>;
  using tuple = typename made::tuple;
  constexpr bool stays = !objects::tuple_facts<tuple>::all_plain && !objects::tuple_facts<tuple>::all_serializable;
  const objects::place_of_object place = objects::place_without_wish(here, options, stays);
  if (!place.is_seed) return make_object_on<T>(place.pe, std::forward<A>(arguments)...);
  const objects::object_key key = objects::new_object_key(here, place.pe);
  // Any process of the host may have to unpack them.
  const bool same_process = here.job().processes_of_host(here.job().host()) == 1;
  sched::envelope message{};
  message.element = key.number;
  objects::pack_arguments<tuple>(here, same_process, options.urgency.has_value(), std::forward<A>(arguments)...)
      .store(message);
  if (options.urgency.has_value()) {
    message.flags = sched::envelope::has_priority;
    message.block().urgency = *options.urgency;
  }
  message.handler = place.pe == here.number() ? sched::begin_handler(made::arrival) : made::arrival;
  objects::post_or_drop(here, message, [&] {
    if (place.pe == here.number())
      here.send_seed(message);
    else
      here.send_copy(place.pe, message);
  });
  return element_ref<T>(0, key.number);
}
template <class T, class... A>
element_ref<T> make_object(seed_strategy strategy, A&&... arguments) {
  return make_object<T>(seed_options{.strategy = strategy}, std::forward<A>(arguments)...);
}
/// The same with the strategy of the job.
template <class T, class... A>
  requires(!objects::begins_with_seed_option<A...>)
element_ref<T> make_object(A&&... arguments) {
  return make_object<T>(seed_options{}, std::forward<A>(arguments)...);
}

}  // namespace tri

#pragma GCC visibility pop
