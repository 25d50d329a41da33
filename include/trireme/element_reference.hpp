// An element of a global array: read, written and updated wherever it lies.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include "trireme/detail/arrays/requests.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// An element of a global array, as `a(i, j)` returns it: for use at once, not to be kept. Not on this host: reading it
/// waits (see above), and throws std::logic_error in methods and coroutines.
template <class T>
class element_reference {
 public:
  /// One of this host, and one to be asked for by messages.
  [[gnu::always_inline]] element_reference(T* here, arrays::local_array& array) : here_(here), array_(&array) {}
  element_reference(arrays::local_array& array, const arrays::place& where)
      : here_(nullptr), array_(&array), where_(where) {}
  element_reference(const element_reference&) = delete;
  ~element_reference() {}  // NOLINT(modernize-use-equals-default): so that it cannot go through `...`, as to printf

  [[gnu::always_inline]] operator T() const { return read(); }  // NOLINT(google-explicit-constructor): as a reference
  [[gnu::always_inline]] T read() const {
    if (here_ != nullptr) [[likely]] {
      arrays::access_that_may_be_waited_for();
      return arrays::load(here_);
    }
    return ask();
  }
  future<T> get() const {
    future<T> result;
    if (here_ != nullptr) {
      result.get_promise().set(arrays::load(here_));
    } else {
      arrays::request<&arrays::serve_get<T>>(where_.pe, *array_, where_.offset, result.get_promise());
      // On this host later stores could be direct, and overtake it.
      if (array_->is_on_this_host(where_.pe)) arrays::note_unfenced(where_.pe);
    }
    return result;
  }
  [[gnu::always_inline]] const element_reference& operator=(const T& value) const {
    if (here_ != nullptr) [[likely]]
      arrays::store(here_, value);
    else
      put(value);
    return *this;
  }
  const element_reference& operator=(const element_reference& other) const { return *this = other.read(); }

  // Updates: atomic, one message, no answer.
  const element_reference& operator+=(T value) const
    requires arrays::is_number<T>
  {
    return update(arrays::update::add, value);
  }
  const element_reference& operator-=(T value) const
    requires arrays::is_number<T>
  {
    return update(arrays::update::add, static_cast<T>(-value));
  }
  const element_reference& operator&=(T value) const
    requires arrays::has_bits<T>
  {
    return update(arrays::update::bit_and, value);
  }
  const element_reference& operator|=(T value) const
    requires arrays::has_bits<T>
  {
    return update(arrays::update::bit_or, value);
  }
  const element_reference& operator^=(T value) const
    requires arrays::has_bits<T>
  {
    return update(arrays::update::bit_xor, value);
  }

  // Atomic, with the value before as the result.
  T fetch_add(T value) const
    requires arrays::is_number<T>
  {
    return fetch(arrays::update::add, value);
  }
  T fetch_and(T value) const
    requires arrays::has_bits<T>
  {
    return fetch(arrays::update::bit_and, value);
  }
  T fetch_or(T value) const
    requires arrays::has_bits<T>
  {
    return fetch(arrays::update::bit_or, value);
  }
  T fetch_xor(T value) const
    requires arrays::has_bits<T>
  {
    return fetch(arrays::update::bit_xor, value);
  }
  T fetch_min(T value) const
    requires arrays::is_number<T>
  {
    return fetch(arrays::update::minimum, value);
  }
  T fetch_max(T value) const
    requires arrays::is_number<T>
  {
    return fetch(arrays::update::maximum, value);
  }
  T exchange(T value) const { return fetch(arrays::update::exchange, value); }
  /// The same for coroutines: a future of the value before.
  future<T> fetch_add_async(T value) const
    requires arrays::is_number<T>
  {
    return fetch_async(arrays::update::add, value);
  }
  /// Returns the value before: it was stored if that equals `expected`.
  T compare_exchange(T expected, T desired) const {
    if (here_ != nullptr) {
      arrays::access_that_may_be_waited_for();
      return arrays::compare_exchange(here_, expected, desired);
    }
    future<T> result;
    arrays::note_unfenced(where_.pe);
    arrays::request<&arrays::serve_compare_exchange<T>>(where_.pe, *array_, where_.offset, expected, desired,
                                                        result.get_promise());
    return result.get();
  }

  /// The PE that has it.
  int owner() const {
    return here_ == nullptr ? where_.pe : array_->owner_of(reinterpret_cast<const std::byte*>(here_));
  }
  /// Its address, or null: it is on another host.
  T* local() const { return here_; }

 private:
  // Requests are not part of the code of each access.
  [[gnu::noinline]] T ask() const { return get().get(); }
  [[gnu::noinline]] void put(const T& value) const {
    arrays::request<&arrays::serve_put<T>>(where_.pe, *array_, where_.offset, value);
    arrays::note_unfenced(where_.pe);
  }
  [[gnu::noinline]] void ask_for(arrays::update what, T value) const {
    arrays::request<&arrays::serve_update<T>>(where_.pe, *array_, where_.offset, value, what);
    arrays::note_unfenced(where_.pe);
  }
  [[gnu::always_inline]] const element_reference& update(arrays::update what, T value) const {
    if (here_ != nullptr) [[likely]]
      arrays::apply(what, here_, value);
    else
      ask_for(what, value);
    return *this;
  }
  T fetch(arrays::update what, T value) const {
    if (here_ != nullptr) [[likely]] {
      arrays::access_that_may_be_waited_for();
      return arrays::apply(what, here_, value);
    }
    return fetch_async(what, value).get();
  }
  future<T> fetch_async(arrays::update what, T value) const {
    future<T> result;
    if (here_ != nullptr) {
      result.get_promise().set(arrays::apply(what, here_, value));
    } else {
      arrays::request<&arrays::serve_fetching_update<T>>(where_.pe, *array_, where_.offset, value, result.get_promise(),
                                                         what);
      arrays::note_unfenced(where_.pe);
    }
    return result;
  }
  T* here_;
  arrays::local_array* array_;
  arrays::place where_{-1, 0};  // of one that is not here
};

}  // namespace tri

#pragma GCC visibility pop
