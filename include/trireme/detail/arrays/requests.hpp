// Requests for elements of other hosts: messages to the PE that has them. Each names the array and a position, never an
// address. A PE's requests to another arrive in the order in which it made them, so a get sees the same PE's puts.
//   get, compare-exchange, fetching updates   one message there and one back
//   put, updates                              one message; tri::fence() asks each PE that got some whether it has run
//                                             them all
//   sections                                  one message for each PE that has a part, whatever their strides, or one
//                                             for 256 KiB; packed and unpacked by both ends
// Requests for an array that their PE has not made yet wait there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "trireme/detail/arrays/direct_access.hpp"
#include "trireme/detail/arrays/element_access.hpp"
#include "trireme/detail/arrays/local_array.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/future.hpp"
#include "trireme/run.hpp"

#pragma GCC visibility push(default)

namespace tri::arrays {

/// What a request names: the array, and the shape that it has for the PE that asks.
struct asked_array {
  array_id id;
  std::uint32_t digest;
};

/// Runs `use(array, piece, fault)` with the piece of the PE whose request is served, as soon as it is made: `fault` is
/// empty, or says why there is none.
using piece_use = os::unique_function<void(local_array*, std::byte* piece, const std::string& fault)>;
void with_piece(const asked_array& asked, int source, piece_use use);
/// The piece at once, the usual case, which allocates nothing; null: with_piece knows why.
std::byte* piece_at_once(const asked_array& asked, local_array*& array);
/// Whether this PE can serve it in place of its receiver: both know the array, and the piece is there.
bool may_serve(const sched::pe& here, const sched::envelope& request, int receiver);
/// The fault of `count` elements from `offset` on, of this type, in the piece of a PE; empty: none.
std::string fault_of_access(const local_array& array, const void* type, std::int32_t pe, std::int64_t offset,
                            std::int64_t count);
/// Ends the job: no future waits for this request.
[[noreturn]] void refuse(const std::string& fault);

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
  static std::uint32_t registered(sched::service_function may_be_served, bool answer_is_large) {
    return sched::register_handler(&deliver, objects::method_name<Function>(), nullptr, &objects::drop_arguments<tuple>,
                                   nullptr, objects::remote_form_of<tuple>(), nullptr, objects::form_of<tuple>(),
                                   may_be_served, answer_is_large);
  }
  static inline const std::uint32_t handler = registered(&may_serve, false);
  static inline const std::uint32_t of_large = registered(&may_serve, true);
  static inline const std::uint32_t notice = registered(nullptr, false);  // only its receiver runs it
};
template <auto Function, bool answer_is_large = false, class... A>
void request(std::int32_t pe, const local_array& array, A&&... arguments) {
  auto& here = sched::this_pe();
  using handled = request_handler<Function>;
  if (array.direct() != nullptr) end_direct_accesses(array, pe);
  std::uint32_t handler = 0;
  if constexpr (answer_is_large)  // each that is named here is registered before main
    handler = handled::of_large;
  else
    handler = handled::handler;
  objects::post_packed(here, pe, handler, array.short_digest(), array.id(),
                       objects::pack_arguments<typename handled::tuple>(here, here.is_in_this_process(pe), false,
                                                                        std::forward<A>(arguments)...));
}

/// A message that its receiver alone may run, as it changes what that PE has.
template <auto Function, class... A>
void inform(std::int32_t pe, const local_array& array, A&&... arguments) {
  auto& here = sched::this_pe();
  using handled = request_handler<Function>;
  objects::post_packed(here, pe, handled::notice, array.short_digest(), array.id(),
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

/// A fence has to ask this PE.
void note_unfenced(std::int32_t pe);

template <class T, class Use>
void at_element(const asked_array& id, std::int32_t source, std::int64_t offset, Use&& use) {
  const std::int32_t owner = sched::this_pe().serves();
  const auto run = [=](local_array* array, std::byte* piece, std::string fault) {
    if (fault.empty()) fault = fault_of_access(*array, &type_mark<T>, owner, offset, 1);
    use(fault.empty() ? reinterpret_cast<T*>(piece) + offset : nullptr, fault);
  };
  local_array* array = nullptr;
  if (std::byte* const piece = piece_at_once(id, array); piece != nullptr) return run(array, piece, {});
  with_piece(id, source, run);
}

template <class T>
void serve_get(asked_array id, std::int32_t source, std::int64_t offset, promise<T> to) {
  at_element<T>(id, source, offset, [to](T* place, const std::string& fault) {
    if (place == nullptr) return to.fail(fault);
    to.set(load(place));
  });
}

// The same where addresses are cached (direct_access.hpp): the answer ends the reading, and brings an address if there
// is one.
template <class T>
void take_value(promise<T> to, T value, std::int32_t pe) {
  reading_answered(pe, nullptr);
  to.set(value);
}
template <class T>
void take_value_and_address(promise<T> to, T value, address_in_reply address) {
  reading_answered(address.pe, &address);
  to.set(value);
}
template <class T>
void take_fault(promise<T> to, std::string fault, std::int32_t pe) {
  reading_answered(pe, nullptr);
  to.fail(fault);
}
template <class T>
void serve_get_with_address(asked_array id, std::int32_t source, std::int64_t offset, promise<T> to,
                            std::uint32_t chunk) {
  const std::int32_t owner = sched::this_pe().serves();
  at_element<T>(id, source, offset, [=](T* place, const std::string& fault) {
    if (place == nullptr) return tri::send<&take_fault<T>>(source, to, fault, owner);
    const address_in_reply address = address_for(source, id.id, owner, chunk);
    if (address.key == 0)
      tri::send<&take_value<T>>(source, to, load(place), owner);
    else
      tri::send<&take_value_and_address<T>>(source, to, load(place), address);
  });
}
/// The ordinary request for an element, after the attempt at a direct access if there was one.
template <class T>
void request_value(local_array& array, const place& where, promise<T> to, std::uint32_t wanted) {
  if (array.direct() == nullptr) {
    request<&serve_get<T>>(where.pe, array, where.offset, to);
  } else {
    request<&serve_get_with_address<T>>(where.pe, array, where.offset, to, wanted);
    note_reading(array, where.pe);
  }
  // On this host later stores could be direct, and overtake it.
  if (array.is_on_this_host(where.pe)) note_unfenced(where.pe);
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
template <std::uint32_t Between = 4096>
inline void access_that_may_be_waited_for() {
  static thread_local std::uint32_t accesses = 0;
  if (++accesses % Between == 0) [[unlikely]]
    run_some_messages();
}

/// No put or update of this PE is under way.
bool nothing_is_unfenced();
/// Ready when all puts and updates of this PE have been run where they went.
future<void> fence_of_pe();
future<void> barrier_of_all();
/// Every PE frees its piece when it hears of it.
future<void> free_by_one(array_id id);
/// Ready when all PEs have called it; this PE's piece is freed then.
future<void> free_by_all(array_id id);

}  // namespace tri::arrays

#pragma GCC visibility pop
