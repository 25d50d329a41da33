// How the arguments of an entry method travel in an envelope:
//   - all plain and at most 32 bytes together: in the envelope itself;
//   - otherwise, to a PE of the same process or all plain: as C++ objects in one block of the arena, moved into place;
//   - otherwise (another process): as an archive in a block.
// The receiver moves them out; nothing is copied twice. When a message leaves for another host, arguments that are
// valid only here (a tri::buffer is an address in the arena) are also archived.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "trireme/buffer.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/objects/serialization.hpp"
#include "trireme/detail/objects/type_name.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// A value that stays inside its process whatever its type: sending it to another process is a run-time error. Declares
/// this for copyable types without a serialize function.
template <class T>
struct local_only {
  T value;
};

namespace objects {

/// Its archive owns something besides its block: a message with one that never runs is read to be dropped.
template <class T>
inline constexpr bool owns_when_archived = false;

template <class T>
inline constexpr bool is_local_only = false;
template <class T>
inline constexpr bool is_local_only<local_only<T>> = true;

/// Whether a value can be copied. std::is_copy_constructible is also true for a std::vector of non-copyable elements.
template <class T>
inline constexpr bool is_copyable = std::is_copy_constructible_v<T>;
template <class T>
  requires(!std::is_same_v<typename T::value_type, T>)
inline constexpr bool is_copyable<T> =
    std::is_copy_constructible_v<T> && is_copyable<std::remove_cv_t<typename T::value_type>>;
template <template <class...> class Product, class... T>
  requires(std::is_same_v<Product<T...>, std::pair<T...>> || std::is_same_v<Product<T...>, std::tuple<T...>> ||
           std::is_same_v<Product<T...>, std::variant<T...>>)
inline constexpr bool is_copyable<Product<T...>> = (is_copyable<std::remove_cv_t<T>> && ...);

/// Copyable user types must define how they are sent to another process; move-only types may stay local.
template <class T>
constexpr bool may_be_argument() {
  return is_plain<T> || is_serializable<T> || is_local_only<T> || !std::is_copy_constructible_v<T> ||
         std::is_pointer_v<T>;
}

template <class Tuple>
struct tuple_facts;
template <class... T>
struct tuple_facts<std::tuple<T...>> {
  static constexpr bool all_plain = (is_plain<T> && ...);
  static constexpr bool all_serializable = ((is_plain<T> || is_serializable<T>)&&...);
  static constexpr bool fits_inline =
      all_plain && sizeof(std::tuple<T...>) <= sched::inline_payload_bytes && alignof(std::tuple<T...>) <= 16;
  /// The bytes of a packed message may be used for several; a tri::shared_buffer counts its users.
  static constexpr bool own_nothing = (std::is_trivially_copyable_v<T> && ...);
  static constexpr bool any_owns_when_archived = (owns_when_archived<T> || ...);
  /// The bytes mean the same on any host.
  static constexpr bool same_everywhere = all_plain && own_nothing;
  static std::string first_not_serializable() {
    std::string name;
    ((name.empty() && !is_plain<T> && !is_serializable<T> ? void(name = type_name<T>()) : void()), ...);
    return name;
  }
};

template <class T>
void serialize_value(output_archive& archive, const T& value) {
  if constexpr (is_serializable<T>)
    archive(value);
  else
    archive.write(&value, sizeof value);
}
template <class T>
void deserialize_value(input_archive& archive, T& value) {
  if constexpr (is_serializable<T>)
    archive(value);
  else
    archive.read(&value, sizeof value);
}

/// Calls read(archive) with the archive of a message; an error in it ends the job.
template <class Read>
void read_archive(const sched::envelope& message, Read&& read) {
  try {
    input_archive archive(message.block().block, message.block().bytes);
    read(archive);
  } catch (const archive_error& wrong) {
    refuse_arguments(message, wrong.what());
  }
}

/// The parts of an envelope that carry the arguments; made before the place in the receiver's queue is claimed, because
/// making it may throw and may allocate.
struct packed_arguments {
  alignas(16) std::byte payload[sched::inline_payload_bytes];
  std::uint16_t bytes = 0;
  sched::payload_kind kind = sched::payload_kind::direct;

  std::uint64_t argument_bytes() const {
    return kind == sched::payload_kind::direct ? bytes : reinterpret_cast<const sched::block_payload*>(payload)->bytes;
  }
  void store(sched::envelope& message) const {
    __builtin_memcpy(message.payload, payload, sizeof payload);
    message.bytes = bytes;
    message.kind = kind;
  }
};

/// As an archive in a block.
template <class Tuple>
packed_arguments archive_arguments(sched::pe& here, const Tuple& values) {
  packed_arguments packed;
  auto& target = *new (packed.payload) sched::block_payload{};
  output_archive archive;
  std::apply([&](const auto&... value) { (serialize_value(archive, value), ...); }, values);
  const output_archive::contents written = archive.take();
  target.block = written.block;
  target.bytes = written.bytes;
  packed.kind = sched::payload_kind::serialized;
  here.counters().bytes_copied.add(target.bytes);
  return packed;
}

template <class Tuple, class... A>
packed_arguments pack_fitting_arguments(sched::pe& here, bool same_process, bool needs_block, A&&... arguments) {
  using facts = tuple_facts<Tuple>;
  packed_arguments packed;
  if constexpr (facts::fits_inline) {
    if (!needs_block) [[likely]] {
      new (packed.payload) Tuple(std::forward<A>(arguments)...);
      packed.bytes = static_cast<std::uint16_t>(sizeof(Tuple));
      if constexpr (std::tuple_size_v<Tuple> != 0) here.counters().bytes_copied.add(sizeof(Tuple));
      return packed;
    }
  }
  auto& target = *new (packed.payload) sched::block_payload{};
  if (same_process || facts::all_plain) {
    target.block = arena::allocate(sizeof(Tuple));
    target.bytes = sizeof(Tuple);
    try {
      new (target.block) Tuple(std::forward<A>(arguments)...);
    } catch (...) {
      arena::release(target.block);
      throw;
    }
    packed.kind = facts::all_plain ? sched::payload_kind::block : sched::payload_kind::objects;
  } else if constexpr (facts::all_serializable) {
    packed = archive_arguments<Tuple>(here, Tuple(std::forward<A>(arguments)...));
    return packed;  // by name, or the other ways lose their place in the caller, and sending to an own PE 3 ns
  } else {
    throw std::runtime_error(
        "trireme: an argument of type " + facts::first_not_serializable() +
        " cannot be sent to another process: it is neither plain data nor has it a serialize function");
  }
  here.counters().bytes_copied.add(target.bytes);
  return packed;
}

template <class Tuple, class... A>
packed_arguments pack_arguments(sched::pe& here, bool same_process, bool needs_block, A&&... arguments) {
  constexpr bool fit = std::is_constructible_v<Tuple, A&&...>;
  static_assert(
      fit,
      "the arguments do not fit the parameters of the entry method: their number and types must be those of the "
      "method, and a move-only argument must be passed with std::move");
  if constexpr (fit)  // otherwise the compiler would list all constructors of std::tuple
    return pack_fitting_arguments<Tuple>(here, same_process, needs_block, std::forward<A>(arguments)...);
  else
    return {};
}

/// The arguments of an arrived message; destroys them and releases their block at the end of its life.
template <class Tuple>
class unpacked_arguments {
 public:
  explicit unpacked_arguments(sched::envelope& message) {
    using facts = tuple_facts<Tuple>;
    if constexpr (facts::fits_inline) {
      if (message.kind == sched::payload_kind::direct) [[likely]] {
        values_ = std::launder(reinterpret_cast<Tuple*>(message.payload));
        return;
      }
    }
    block_ = message.block().block;
    if (message.kind != sched::payload_kind::serialized) {
      values_ = std::launder(static_cast<Tuple*>(block_));
      return;
    }
    if constexpr (facts::all_serializable && !facts::same_everywhere) {
      values_ = new (&storage_) Tuple();
      read_archive(message, [this](input_archive& archive) {
        std::apply([&](auto&... value) { (deserialize_value(archive, value), ...); }, *values_);
      });
    }
  }
  ~unpacked_arguments() {
    values_->~Tuple();
    if (block_ != nullptr) [[unlikely]]
      arena::release(block_);
  }
  unpacked_arguments(const unpacked_arguments&) = delete;
  unpacked_arguments& operator=(const unpacked_arguments&) = delete;
  Tuple& values() { return *values_; }

 private:
  struct nothing {};
  Tuple* values_ = nullptr;
  void* block_ = nullptr;
  union storage {
    storage() {}
    ~storage() {}
    nothing empty;
    std::conditional_t<tuple_facts<Tuple>::all_serializable && !tuple_facts<Tuple>::same_everywhere, Tuple, nothing>
        tuple;
  } storage_;
};

/// Destroys the arguments of a message that will never run. Most archives own nothing besides their block.
template <class Tuple>
void drop_arguments(sched::pe&, sched::envelope& message) {
  if (message.kind == sched::payload_kind::serialized && !tuple_facts<Tuple>::any_owns_when_archived)
    arena::release(message.block().block);
  else
    unpacked_arguments<Tuple> last(message);
}

/// The same for arguments that no message has taken over.
template <class Tuple>
void drop_packed(sched::pe& here, const packed_arguments& packed) {
  sched::envelope message{};
  packed.store(message);
  drop_arguments<Tuple>(here, message);
}

/// Ends the job: the arguments of a message on its way cannot be written for another process.
[[noreturn]] void refuse_to_archive(const sched::pe& here, const sched::envelope& message, const char* why);

/// See sched::handler_row::make_remote.
template <class Tuple>
void make_arguments_remote(sched::pe& here, sched::envelope& message) {
  if (message.kind == sched::payload_kind::serialized) return;
  if constexpr (tuple_facts<Tuple>::all_serializable) {
    const priority urgency = message.kind == sched::payload_kind::direct ? priority() : message.block().urgency;
    packed_arguments packed;
    try {
      unpacked_arguments<Tuple> arguments(message);
      packed = archive_arguments<Tuple>(here, arguments.values());
    } catch (const std::exception& error) {  // its sender believes that it has left
      refuse_to_archive(here, message, error.what());
    }
    packed.store(message);
    message.block().urgency = urgency;
  } else {
    here.job().fail("an argument of type " + tuple_facts<Tuple>::first_not_serializable() + " of '" +
                    sched::handler_table()[message.handler].name +
                    "' cannot be sent to another host: it is neither plain data nor has it a serialize function");
  }
}

/// The registration of a handler for messages with `Tuple` from other hosts.
template <class Tuple>
constexpr sched::handler_function remote_form_of() {
  if constexpr (tuple_facts<Tuple>::same_everywhere)
    return nullptr;
  else
    return &make_arguments_remote<Tuple>;
}

/// The required form of a message from another host that carries `Tuple`.
template <class Tuple>
constexpr sched::message_form form_of() {
  using content = sched::message_form::content;
  if constexpr (tuple_facts<Tuple>::same_everywhere) return {.what = content::plain, .bytes = sizeof(Tuple)};
  return {.what = tuple_facts<Tuple>::all_serializable ? content::archive : content::stays_in_host};
}

/// Registers a handler whose messages carry `Tuple`.
template <class Tuple>
// NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved, which the check does not see in a template
std::uint32_t register_handler_of(sched::handler_function run, std::string name,
                                  sched::handler_function make_portable = nullptr,
                                  sched::refusal_function refuse = nullptr, sched::arrival_function at_host = nullptr) {
  return sched::register_handler(run, std::move(name), make_portable, &drop_arguments<Tuple>, refuse,
                                 remote_form_of<Tuple>(), at_host, form_of<Tuple>());
}

}  // namespace objects
}  // namespace tri

#pragma GCC visibility pop
