// Strict accesses, as those of UPC: all strict accesses of the job have one order, which agrees with the order of each
// PE's program, and nothing that a PE wrote before its strict access is seen later than that.
//
//   tri::strict(a(i)) = 1;                 // in place when the statement ends, and everything written before
//   while (tri::strict(a(j)) == 0) {}
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <atomic>

#include "trireme/element_reference.hpp"
#include "trireme/fence.hpp"
#include "trireme/task.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// An element whose reads, writes and updates are strict; made by tri::strict, for use at once. Each waits until all
/// earlier writes of this PE and then itself have been carried out, so it is for main programs (tri::run,
/// run_everywhere); methods and coroutines co_await get and put. Elements of 1, 2, 4 or 8 bytes.
template <class T>
class strict_reference {
  static_assert(arrays::is_word<T>, "strict accesses are for elements of 1, 2, 4 or 8 bytes");

 public:
  explicit strict_reference(const element_reference<T>& element)
      : element_(element, typename element_reference<T>::same_element{}) {}
  strict_reference(const strict_reference&) = delete;
  ~strict_reference() = default;

  operator T() const { return read(); }  // NOLINT(google-explicit-constructor): as a reference
  T read() const {
    return in_order([&] { return element_.read(); });
  }
  const strict_reference& operator=(const T& value) const {
    exchange(value);  // its answer says that it is in place
    return *this;
  }
  const strict_reference& operator=(const strict_reference& other) const { return *this = other.read(); }

  T exchange(T value) const {
    return in_order([&] { return element_.exchange(value); });
  }
  T compare_exchange(T expected, T desired) const {
    return in_order([&] { return element_.compare_exchange(expected, desired); });
  }
  T fetch_add(T value) const
    requires arrays::is_number<T>
  {
    return in_order([&] { return element_.fetch_add(value); });
  }
  T fetch_and(T value) const
    requires arrays::has_bits<T>
  {
    return in_order([&] { return element_.fetch_and(value); });
  }
  T fetch_or(T value) const
    requires arrays::has_bits<T>
  {
    return in_order([&] { return element_.fetch_or(value); });
  }
  T fetch_xor(T value) const
    requires arrays::has_bits<T>
  {
    return in_order([&] { return element_.fetch_xor(value); });
  }

  // For coroutines: co_await tri::strict(a(i)).put(1).
  task<T> get() const { return get_in_order({element_}); }
  task<> put(T value) const { return put_in_order({element_}, value); }

 private:
  /// Of a coroutine, which may be resumed when the reference has ended.
  struct kept_element {
    kept_element(const element_reference<T>& of)  // NOLINT(google-explicit-constructor)
        : element(of, typename element_reference<T>::same_element{}) {}
    kept_element(const kept_element& of) : kept_element(of.element) {}
    kept_element& operator=(const kept_element&) = delete;
    ~kept_element() = default;
    element_reference<T> element;
  };
  static task<T> get_in_order(kept_element of) {
    co_await fence();
    const T value = co_await of.element.get();
    order();
    co_return value;
  }
  static task<> put_in_order(kept_element of, T value) {
    co_await fence();
    co_await of.element.exchange_async(value);
    order();
  }
  // With one on each side of the access, accesses of one word are sequentially consistent (C++20, [atomics.order]);
  // what another PE does for this one lies between them, by the message there and back.
  static void order() { std::atomic_thread_fence(std::memory_order_seq_cst); }
  template <class Access>
  static T in_order(Access&& access) {
    arrays::access_that_may_be_waited_for<64>();  // flags are waited for, and a strict access takes longer anyway
    if (arrays::nothing_is_unfenced())
      order();
    else
      fence().get();
    const T value = access();
    order();
    return value;
  }
  const element_reference<T> element_;
};

/// The same element, accessed strictly: `tri::strict(a(i, j)) = x`.
template <class T>
strict_reference<T> strict(const element_reference<T>& element) {
  return strict_reference<T>(element);
}

}  // namespace tri

#pragma GCC visibility pop
