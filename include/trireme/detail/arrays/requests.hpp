// Requests for elements of other hosts: messages to the PE that has them. Each names the array and a position, never an
// address. A PE's requests to another arrive in the order in which it made them, so a get sees the same PE's puts.
//   get, compare-exchange, fetching updates   one message there and one back
//   put, updates                              one message; tri::fence() asks each PE that got some whether it has run
//                                             them all
//   sections                                  one message for each PE that has a part, whatever their strides; packed
//                                             and unpacked by both ends
// Requests for an array that their PE has not made yet wait there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/buffer.hpp"
#include "trireme/detail/arrays/local_array.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/future.hpp"
#include "trireme/run.hpp"

#pragma GCC visibility push(default)

namespace tri::arrays {

enum class update : std::uint8_t { add, bit_and, bit_or, bit_xor, minimum, maximum, exchange };

template <class T>
inline constexpr bool is_word =
    std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
/// What can be added and compared atomically; and what has bits.
template <class T>
inline constexpr bool is_number = is_word<T> && std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool has_bits = is_number<T> && std::is_integral_v<T>;

// Elements of one word are accessed atomically, so PEs of a host see old or new values. relaxed: order comes from
// fences, barriers and messages.
template <class T>
T load(const T* place) {
  if constexpr (is_word<T>)
    return std::atomic_ref<T>(*const_cast<T*>(place)).load(std::memory_order_relaxed);
  else
    return *place;
}
template <class T>
void store(T* place, const T& value) {
  if constexpr (is_word<T>)
    std::atomic_ref<T>(*place).store(value, std::memory_order_relaxed);
  else
    *place = value;
}

/// Applies an operation that T has atomically; returns the value before.
template <class T>
T apply(update what, T* place, T value) {
  static_assert(is_word<T>, "updates are for elements of 1, 2, 4 or 8 bytes");
  const std::atomic_ref<T> word(*place);
  if (what == update::exchange) return word.exchange(value, std::memory_order_relaxed);
  if constexpr (has_bits<T>) {
    if (what == update::bit_and) return word.fetch_and(value, std::memory_order_relaxed);
    if (what == update::bit_or) return word.fetch_or(value, std::memory_order_relaxed);
    if (what == update::bit_xor) return word.fetch_xor(value, std::memory_order_relaxed);
  }
  T before = word.load(std::memory_order_relaxed);
  if constexpr (is_number<T>) {
    if (what == update::add) return word.fetch_add(value, std::memory_order_relaxed);
    while ((what == update::minimum ? value < before : before < value) &&
           !word.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
    }
  }
  return before;
}

/// Returns the value before: `desired` was stored if that equals `expected`.
template <class T>
T compare_exchange(T* place, T expected, T desired) {
  static_assert(is_word<T>, "compare_exchange is for elements of 1, 2, 4 or 8 bytes");
  std::atomic_ref<T>(*place).compare_exchange_strong(expected, desired, std::memory_order_relaxed);
  return expected;
}

/// What a request names: the array, and the shape that it has for the PE that asks.
struct asked_array {
  array_id id;
  std::uint32_t digest;
};

/// Runs `use(array, piece, fault)` with the piece of the PE whose request is served, as soon as it is made: `fault` is
/// empty, or says why there is none.
using piece_use = os::unique_function<void(local_array*, std::byte* piece, const std::string& fault)>;
void with_piece(const asked_array& asked, int source, piece_use use);
/// Whether this PE can serve it in place of its receiver: both know the array, and the piece is there.
bool may_serve(const sched::pe& here, const sched::envelope& request, int receiver);
/// The fault of `count` elements from `offset` on, of this type, in the piece of a PE; empty: none.
std::string fault_of_access(const local_array& array, const void* type, std::int32_t pe, std::int64_t offset,
                            std::int64_t count);
/// Ends the job: no future waits for this request.
[[noreturn]] void refuse(const std::string& fault);
/// Ends the job when a section has come with another number of bytes than its region has.
void check_length(std::size_t come, std::size_t expected);

/// A message that asks the PE of a piece: a function of the array, the PE that asks, and plain or serializable values.
template <class F>
struct request_facts;
template <class... P>
struct request_facts<void (*)(asked_array, std::int32_t, P...)> {
  using arguments = std::tuple<std::decay_t<P>...>;
};
template <auto Function>
struct request_handler {
  using tuple = typename request_facts<decltype(Function)>::arguments;
  static void deliver(sched::pe&, sched::envelope& message) {
    objects::unpacked_arguments<tuple> arguments(message);
    std::apply(
        [&](auto&... argument) {
          const asked_array asked{message.element, message.collection};
          Function(asked, static_cast<std::int32_t>(message.source), std::move(argument)...);
        },
        arguments.values());
  }
  static std::uint32_t registered(sched::service_function may_be_served) {
    return sched::register_handler(&deliver, objects::method_name<Function>(), nullptr, &objects::drop_arguments<tuple>,
                                   nullptr, objects::remote_form_of<tuple>(), nullptr, objects::form_of<tuple>(),
                                   may_be_served);
  }
  static inline const std::uint32_t handler = registered(&may_serve);
  static inline const std::uint32_t notice = registered(nullptr);  // only its receiver runs it
};
template <auto Function, class... A>
void request(std::int32_t pe, const local_array& array, A&&... arguments) {
  auto& here = sched::this_pe();
  using handled = request_handler<Function>;
  objects::post_packed(here, pe, handled::handler, array.short_digest(), array.id(),
                       objects::pack_arguments<typename handled::tuple>(here, here.is_in_this_process(pe), false,
                                                                        std::forward<A>(arguments)...));
}

/// The same to every other PE of the job, to other hosts along a tree; not a request that others may serve.
template <auto Function, class... A>
void notify_all(array_id id, const A&... arguments) {
  using handled = request_handler<Function>;
  auto& here = sched::this_pe();
  const auto pack = [&](bool same_process) {
    return objects::pack_arguments<typename handled::tuple>(here, same_process, false, arguments...);
  };
  for (int pe = here.job().first_pe_of_host(); pe < here.job().first_pe_of_host() + here.job().pes_of_host(); ++pe)
    if (pe != here.number()) objects::post_packed(here, pe, handled::notice, 0, id, pack(here.is_in_this_process(pe)));
  if (here.job().hosts() == 1) return;
  sched::envelope message{};
  message.element = id;
  message.handler = handled::notice;
  message.source = static_cast<std::uint32_t>(here.number());
  pack(false).store(message);
  here.send_to_other_hosts(message);
}

template <class T, class Use>
void at_element(const asked_array& id, std::int32_t source, std::int64_t offset, Use&& use) {
  const std::int32_t owner = sched::this_pe().serves();
  with_piece(id, source, [=](local_array* array, std::byte* piece, std::string fault) {
    if (fault.empty()) fault = fault_of_access(*array, &type_mark<T>, owner, offset, 1);
    use(fault.empty() ? reinterpret_cast<T*>(piece) + offset : nullptr, fault);
  });
}

template <class T>
void serve_get(asked_array id, std::int32_t source, std::int64_t offset, promise<T> to) {
  at_element<T>(id, source, offset, [to](T* place, const std::string& fault) {
    if (place == nullptr) return to.fail(fault);
    to.set(load(place));
  });
}
template <class T>
void serve_put(asked_array id, std::int32_t source, std::int64_t offset, T value) {
  at_element<T>(id, source, offset, [value](T* place, const std::string& fault) {
    if (place == nullptr) refuse(fault);
    store(place, value);
  });
}
template <class T>
void serve_update(asked_array id, std::int32_t source, std::int64_t offset, T value, update what) {
  at_element<T>(id, source, offset, [value, what](T* place, const std::string& fault) {
    if (place == nullptr) refuse(fault);
    apply(what, place, value);
  });
}
template <class T>
void serve_fetching_update(asked_array id, std::int32_t source, std::int64_t offset, T value, promise<T> to,
                           update what) {
  at_element<T>(id, source, offset, [value, what, to](T* place, const std::string& fault) {
    if (place == nullptr) return to.fail(fault);
    to.set(apply(what, place, value));
  });
}
template <class T>
void serve_compare_exchange(asked_array id, std::int32_t source, std::int64_t offset, T expected, T desired,
                            promise<T> to) {
  at_element<T>(id, source, offset, [=](T* place, const std::string& fault) {
    if (place == nullptr) return to.fail(fault);
    to.set(compare_exchange(place, expected, desired));
  });
}

/// A program may wait in a loop for the value of an element: now and then such an access runs messages of this PE.
void run_some_messages();
inline void access_that_may_be_waited_for() {
  constexpr std::uint32_t between = 4096;
  static thread_local std::uint32_t accesses = 0;
  if (++accesses % between == 0) [[unlikely]]
    run_some_messages();
}

/// A fence has to ask this PE.
void note_unfenced(std::int32_t pe);
/// Ready when all puts and updates of this PE have been run where they went.
future<void> fence_of_pe();
future<void> barrier_of_all();
/// Every PE frees its piece when it hears of it.
future<void> free_by_one(array_id id);
/// Ready when all PEs have called it; this PE's piece is freed then.
future<void> free_by_all(array_id id);

// ---- sections

/// Copies a box of elements; steps in elements.
template <int N>
void copy_box(std::byte* to, const position<N>& to_strides, const std::byte* from, const position<N>& from_strides,
              const position<N>& extents, std::size_t bytes_of_element) {
  const auto bytes = static_cast<std::int64_t>(bytes_of_element);
  const std::int64_t run = extents[N - 1];
  const auto copy_rows = [&](std::byte* target, const std::byte* source, std::int64_t rows, std::int64_t target_step,
                             std::int64_t source_step) {
    if (run == 1 && bytes == 8) {  // a column: a call of memcpy for each would cost more than the copy
      for (std::int64_t row = 0; row < rows; ++row)
        std::memcpy(target + row * target_step, source + row * source_step, 8);
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row)
      std::memcpy(target + row * target_step, source + row * source_step, static_cast<std::size_t>(run * bytes));
  };
  if constexpr (N == 1) {
    copy_rows(to, from, 1, 0, 0);
  } else {
    position<N> at;
    do
      copy_rows(to + dot(at, to_strides) * bytes, from + dot(at, from_strides) * bytes, extents[N - 2],
                to_strides[N - 2] * bytes, from_strides[N - 2] * bytes);
    while (next_position(at, extents, N - 2));
  }
}

/// Calls f(position of its first element, length) for each row of a box.
template <int N, class F>
void for_each_row(const position<N>& extents, F&& f) {
  if (extents.volume() == 0) return;
  position<N> at;
  do f(at, extents[N - 1]);
  while (next_position(at, extents, N - 1));
}

/// The parts of a section on one PE, as a message carries them, one behind the other in the order of their tiles: calls
/// f(part, bytes before it), and returns the bytes of all.
template <int N, class F>
std::int64_t for_each_packed_part(const layout<N>& where, const region<N>& box, std::int32_t pe,
                                  std::size_t bytes_of_element, F&& f) {
  std::int64_t bytes = 0;
  where.for_each_piece(box, [&](const tile_piece<N>& part) {
    if (part.pe != pe) return;
    f(part, bytes);
    bytes += part.extents.volume() * static_cast<std::int64_t>(bytes_of_element);
  });
  return bytes;
}
template <int N>
std::size_t bytes_of_section(const layout<N>& where, const region<N>& box, std::int32_t pe,
                             std::size_t bytes_of_element) {
  return static_cast<std::size_t>(
      for_each_packed_part(where, box, pe, bytes_of_element, [](const tile_piece<N>&, std::int64_t) {}));
}
/// `from(part)`: where its first element is; `strides`: of the elements there.
template <int N, class From>
buffer<std::byte> pack_section(const layout<N>& where, const region<N>& box, std::int32_t pe,
                               std::size_t bytes_of_element, const position<N>& strides, From&& from) {
  buffer<std::byte> packed(bytes_of_section(where, box, pe, bytes_of_element));
  for_each_packed_part(where, box, pe, bytes_of_element, [&](const tile_piece<N>& part, std::int64_t before) {
    copy_box<N>(packed.data() + before, row_major_strides(part.extents), from(part), strides, part.extents,
                bytes_of_element);
  });
  return packed;
}
/// Ends the job when `count` bytes are not those of the section.
template <int N, class To>
void unpack_section(const layout<N>& where, const region<N>& box, std::int32_t pe, std::size_t bytes_of_element,
                    const position<N>& strides, To&& to, const std::byte* bytes, std::size_t count) {
  check_length(count, bytes_of_section(where, box, pe, bytes_of_element));
  for_each_packed_part(where, box, pe, bytes_of_element, [&](const tile_piece<N>& part, std::int64_t before) {
    copy_box<N>(to(part), strides, bytes + before, row_major_strides(part.extents), part.extents, bytes_of_element);
  });
}

/// A section under way, on the PE that asked for it.
class section_transfer {
 public:
  explicit section_transfer(promise<void> done) : done_(done) {}
  section_transfer(const section_transfer&) = delete;
  section_transfer& operator=(const section_transfer&) = delete;
  virtual ~section_transfer() = default;
  virtual void unpack(std::int32_t pe, const std::byte* bytes, std::size_t count) = 0;
  void expect() { ++expected_; }
  bool take_answer(const std::string& fault) {
    if (fault_.empty()) fault_ = fault;
    return --expected_ == 0;
  }
  void finish() {
    if (fault_.empty())
      done_.set();
    else
      done_.fail(fault_);
  }

 private:
  promise<void> done_;
  int expected_ = 0;
  std::string fault_;
};

/// Enters it into the table of this PE; its number goes with the requests.
std::uint64_t add_transfer(std::unique_ptr<section_transfer> transfer);
/// The answers.
void take_section(std::uint64_t number, std::int32_t pe, buffer<std::byte> bytes);
void take_acknowledgement(std::uint64_t number, std::string fault);

template <int N>
class section_get final : public section_transfer {
 public:
  section_get(promise<void> done, std::shared_ptr<const typed_array<N>> array, const region<N>& box, std::byte* to)
      : section_transfer(done), array_(std::move(array)), box_(box), to_(to) {}
  void unpack(std::int32_t pe, const std::byte* bytes, std::size_t count) override {
    const std::size_t size = array_->bytes_of_element();
    const auto to = [&](const tile_piece<N>& part) {
      return to_ + part.region_offset * static_cast<std::int64_t>(size);
    };
    unpack_section(array_->where(), box_, pe, size, row_major_strides(box_.extents()), to, bytes, count);
  }

 private:
  std::shared_ptr<const typed_array<N>> array_;
  region<N> box_;
  std::byte* to_;
};

class section_put final : public section_transfer {
 public:
  using section_transfer::section_transfer;
  void unpack(std::int32_t, const std::byte*, std::size_t) override {}
};

/// The array as one of N dimensions whose region `box` is; null, and a fault: it is another.
template <int N>
typed_array<N>* as_typed(local_array* array, const region<N>& box, std::string& fault) {
  if (!fault.empty()) return nullptr;
  if (array->dimensions() != N) {
    fault = describe(array->id()) + " has " + std::to_string(array->dimensions()) +
            " dimensions; it was accessed as one of " + std::to_string(N);
    return nullptr;
  }
  auto* const typed = static_cast<typed_array<N>*>(array);
  const region<N> all({}, typed->where().extents());
  if (box.intersection(all) == box) return typed;
  fault = "a section lies outside of " + describe(array->id());
  return nullptr;
}

template <int N>
void serve_section_get(asked_array id, std::int32_t source, region<N> box, std::uint64_t number) {
  const std::int32_t owner = sched::this_pe().serves();
  with_piece(id, source, [=](local_array* array, std::byte* piece, std::string fault) {
    const auto* const typed = as_typed<N>(array, box, fault);
    if (typed == nullptr) return tri::send<&take_acknowledgement>(source, number, std::move(fault));
    const std::size_t size = array->bytes_of_element();
    const auto from = [&](const tile_piece<N>& part) { return piece + part.offset * static_cast<std::int64_t>(size); };
    tri::send<&take_section>(source, number, owner,
                             pack_section(typed->where(), box, owner, size, typed->where().strides_in_tile(), from));
  });
}

/// Adds the values of a section to its elements.
template <class T, int N>
void add_section(const layout<N>& where, const region<N>& box, std::int32_t pe, std::byte* piece,
                 const std::byte* bytes, std::size_t count) {
  check_length(count, bytes_of_section(where, box, pe, sizeof(T)));
  for_each_packed_part(where, box, pe, sizeof(T), [&](const tile_piece<N>& part, std::int64_t before) {
    const position<N> packed_strides = row_major_strides(part.extents);
    for_each_row<N>(part.extents, [&](const position<N>& at, std::int64_t length) {
      T* const row = reinterpret_cast<T*>(piece) + part.offset + dot(at, where.strides_in_tile());
      const std::byte* const values = bytes + before + dot(at, packed_strides) * std::int64_t{sizeof(T)};
      for (std::int64_t i = 0; i < length; ++i) {
        T value;
        std::memcpy(&value, values + i * std::int64_t{sizeof(T)}, sizeof(T));
        apply(update::add, row + i, value);
      }
    });
  });
}

template <class T, int N>
void serve_section_put(asked_array id, std::int32_t source, region<N> box, std::uint64_t number, bool accumulates,
                       const shared_buffer<std::byte>& bytes) {
  const std::int32_t owner = sched::this_pe().serves();
  with_piece(id, source, [=](local_array* array, std::byte* piece, std::string fault) {
    const auto* const typed = as_typed<N>(array, box, fault);
    if (typed != nullptr && array->type() != &type_mark<T>) fault = fault_of_access(*array, &type_mark<T>, owner, 0, 0);
    if (fault.empty()) {
      const layout<N>& where = typed->where();
      const auto to = [&](const tile_piece<N>& part) { return piece + part.offset * std::int64_t{sizeof(T)}; };
      if (!accumulates)
        unpack_section(where, box, owner, sizeof(T), where.strides_in_tile(), to, bytes.data(), bytes.size());
      else if constexpr (is_number<T>)
        add_section<T>(where, box, owner, piece, bytes.data(), bytes.size());
    }
    tri::send<&take_acknowledgement>(source, number, std::move(fault));
  });
}

}  // namespace tri::arrays

#pragma GCC visibility pop
