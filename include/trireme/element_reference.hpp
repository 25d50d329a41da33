// An element of a global array: read, written and updated wherever it lies.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "trireme/detail/arrays/requests.hpp"
#include "trireme/future.hpp"

#pragma GCC visibility push(default)

namespace tri {

template <class T>
class strict_reference;

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
      return result;
    }
    arrays::direct_attempt attempt;
    if (array_->direct() != nullptr) attempt = get_directly(result.get_promise());
    if (!attempt.has_begun) arrays::request_value(*array_, where_, result.get_promise(), attempt.wanted);
    return result;
  }
  [[gnu::always_inline]] const element_reference& operator=(const T& value) const {
    if (here_ != nullptr) [[likely]]
      arrays::store(here_, value);
    else
      put(value);
    return *this;
  }
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): an element assigned to itself keeps its value
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
  const element_reference& operator++() const
    requires arrays::is_number<T>
  {
    return update(arrays::update::add, T{1});
  }
  const element_reference& operator--() const
    requires arrays::is_number<T>
  {
    return update(arrays::update::add, static_cast<T>(-1));
  }

  // Atomic, with the value before as the result.
  T operator++(int) const
    requires arrays::is_number<T>
  {
    return fetch(arrays::update::add, T{1});
  }
  T operator--(int) const
    requires arrays::is_number<T>
  {
    return fetch(arrays::update::add, static_cast<T>(-1));
  }
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
  /// Returns the value before: `desired` was stored if that equals `expected`.
  T compare_exchange(T expected, T desired) const {
    if (here_ != nullptr) {
      arrays::access_that_may_be_waited_for();
      return arrays::compare_exchange(here_, expected, desired);
    }
    return compare_exchange_async(expected, desired).get();
  }

  // The same without a wait, for methods and coroutines: a future of the value before.
  future<T> fetch_add_async(T value) const
    requires arrays::is_number<T>
  {
    return fetch_async(arrays::update::add, value);
  }
  future<T> fetch_and_async(T value) const
    requires arrays::has_bits<T>
  {
    return fetch_async(arrays::update::bit_and, value);
  }
  future<T> fetch_or_async(T value) const
    requires arrays::has_bits<T>
  {
    return fetch_async(arrays::update::bit_or, value);
  }
  future<T> fetch_xor_async(T value) const
    requires arrays::has_bits<T>
  {
    return fetch_async(arrays::update::bit_xor, value);
  }
  future<T> fetch_min_async(T value) const
    requires arrays::is_number<T>
  {
    return fetch_async(arrays::update::minimum, value);
  }
  future<T> fetch_max_async(T value) const
    requires arrays::is_number<T>
  {
    return fetch_async(arrays::update::maximum, value);
  }
  future<T> exchange_async(T value) const { return fetch_async(arrays::update::exchange, value); }
  future<T> compare_exchange_async(T expected, T desired) const {
    future<T> result;
    if (here_ != nullptr) {
      result.get_promise().set(arrays::compare_exchange(here_, expected, desired));
    } else {
      arrays::note_unfenced(where_.pe);
      arrays::request<&arrays::serve_compare_exchange<T>>(where_.pe, *array_, where_.offset, expected, desired,
                                                          result.get_promise());
    }
    return result;
  }

  /// The PE that has it.
  int owner() const {
    return here_ == nullptr ? where_.pe : array_->owner_of(reinterpret_cast<const std::byte*>(here_));
  }
  /// Its address, or null: it is on another host.
  T* local() const { return here_; }

 private:
  friend class strict_reference<T>;
  struct same_element {};
  element_reference(const element_reference& of, same_element)
      : here_(of.here_), array_(of.array_), where_(of.where_) {}
  /// Aligned, so that words are accessed whole; those of several parts, such as complex numbers, want less themselves.
  struct bytes_of_value {
    static constexpr std::size_t of_word = arrays::is_word<T> ? sizeof(T) : 1;
    alignas(std::max(of_word, alignof(T))) std::array<std::byte, sizeof(T)> all;
  };
  arrays::direct_run run_of(std::byte* local) const {
    return {static_cast<std::uint64_t>(where_.offset) * sizeof(T), local, sizeof(T)};
  }
  arrays::direct_attempt get_directly(promise<T> to) const {
    if (arrays::are_immediate(*array_)) {
      bytes_of_value bytes;
      const arrays::direct_attempt attempt = arrays::get_now(*array_, where_.pe, run_of(bytes.all.data()));
      if (attempt.has_begun) to.set(std::bit_cast<T>(bytes.all));
      return attempt;
    }
    auto bytes = std::make_unique<bytes_of_value>();
    const arrays::direct_run run = run_of(bytes->all.data());
    return arrays::begin_get(*array_, where_.pe, {&run, 1},
                             [to, bytes = std::move(bytes)] { to.set(std::bit_cast<T>(bytes->all)); });
  }
  // Requests are not part of the code of each access.
  [[gnu::noinline]] T ask() const {
    arrays::direct_attempt attempt;
    // Not in methods, where a miss could not be waited for: whether they fail must not depend on a cache.
    if (array_->direct() != nullptr && !sched::this_pe().in_handler()) {
      if (arrays::are_immediate(*array_))
        arrays::access_that_may_be_waited_for();
      else
        arrays::run_some_messages();  // one read takes as long as many messages
      bytes_of_value bytes;
      attempt = arrays::get_now(*array_, where_.pe, run_of(bytes.all.data()));
      if (attempt.has_begun) return std::bit_cast<T>(bytes.all);
    }
    future<T> result;
    arrays::request_value(*array_, where_, result.get_promise(), attempt.wanted);
    return result.get();
  }
  [[gnu::noinline]] void put(const T& value) const {
    if (array_->direct() != nullptr) {
      bytes_of_value bytes{std::bit_cast<std::array<std::byte, sizeof(T)>>(value)};
      const arrays::direct_attempt attempt = arrays::put_value(*array_, where_.pe, run_of(bytes.all.data()));
      if (attempt.has_begun) return;
      arrays::want_address_with_fence(*array_, where_.pe, attempt.wanted);
    }
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
