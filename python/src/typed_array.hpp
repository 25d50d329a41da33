// any_array over tri::global_array<T, N>.
#pragma once

#include <complex>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "any_array.hpp"
#include "session.hpp"
#include "trireme/arrays.hpp"

namespace tri::python {

template <class T>
T wait_for(future<T>& result) {
  if (result.ready()) return result.get();
  const interpreter_released released;
  return result.get();
}

/// How NumPy and the buffer protocol name a type. Letters of the latter are those of C's types.
template <class T>
constexpr std::pair<const char*, const char*> names_of() {
  if constexpr (std::is_same_v<T, bool>) return {"b1", "?"};
  if constexpr (std::is_same_v<T, std::int8_t>) return {"i1", "b"};
  if constexpr (std::is_same_v<T, std::int16_t>) return {"i2", "h"};
  if constexpr (std::is_same_v<T, std::int32_t>) return {"i4", "i"};
  if constexpr (std::is_same_v<T, std::int64_t>) return {"i8", "l"};
  if constexpr (std::is_same_v<T, std::uint8_t>) return {"u1", "B"};
  if constexpr (std::is_same_v<T, std::uint16_t>) return {"u2", "H"};
  if constexpr (std::is_same_v<T, std::uint32_t>) return {"u4", "I"};
  if constexpr (std::is_same_v<T, std::uint64_t>) return {"u8", "L"};
  if constexpr (std::is_same_v<T, float>) return {"f4", "f"};
  if constexpr (std::is_same_v<T, double>) return {"f8", "d"};
  if constexpr (std::is_same_v<T, std::complex<float>>) return {"c8", "Zf"};
  if constexpr (std::is_same_v<T, std::complex<double>>) return {"c16", "Zd"};
}

template <int N>
position<N> as_position(const numbers& from) {
  position<N> to;
  for (int d = 0; d < N; ++d) to[d] = from[static_cast<std::size_t>(d)];
  return to;
}
template <int N>
numbers as_numbers(const position<N>& from) {
  return {from.at.begin(), from.at.end()};
}
template <class T>
T value_in(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T, int N>
class typed_array final : public any_array {
 public:
  explicit typed_array(global_array<T, N> array) : array_(std::move(array)) {
    kind_ = names_of<T>().first;
    format_ = names_of<T>().second;
    bytes_of_element_ = sizeof(T);
    extents_ = as_numbers<N>(array_.extents());
    tile_ = as_numbers<N>(array_.tile());
    const distribution<N>& how = array_.where().how();
    if (how.grid != position<N>()) grid_ = as_numbers<N>(how.grid);
    halo_ = as_numbers<N>(how.halo);
    for (int d = 0; d < N; ++d) periodic_.push_back(how.rings >> d & 1);
  }

  int owner(const numbers& at) const override { return array_.owner(as_position<N>(at)); }
  bool is_local(const numbers& at) const override { return array_[as_position<N>(at)].local() != nullptr; }

  void read(const numbers& at, void* result) override {
    const element_reference<T> element = array_[as_position<N>(at)];
    if (element.local() != nullptr) return keep(element.read(), result);
    future<T> value = element.get();
    keep(wait_for(value), result);
  }
  void write(const numbers& at, const void* value) override { array_[as_position<N>(at)] = value_in<T>(value); }

  void update(arrays::update what, const numbers& at, const void* value) override {
    const element_reference<T> element = array_[as_position<N>(at)];
    if constexpr (arrays::has_bits<T>) {
      if (what == arrays::update::bit_and) return (void)(element &= value_in<T>(value));
      if (what == arrays::update::bit_or) return (void)(element |= value_in<T>(value));
      if (what == arrays::update::bit_xor) return (void)(element ^= value_in<T>(value));
    }
    if constexpr (arrays::is_number<T>)
      if (what == arrays::update::add) return (void)(element += value_in<T>(value));
    refuse();
  }
  void fetch(arrays::update what, const numbers& at, const void* value, void* result) override {
    const element_reference<T> element = array_[as_position<N>(at)];
    std::optional<interpreter_released> released;
    if (element.local() == nullptr) released.emplace();
    const std::optional<T> before = fetched(element, what, value_in<T>(value));
    released.reset();
    if (!before) refuse();
    keep(*before, result);
  }
  void compare_exchange(const numbers& at, const void* expected, const void* desired, void* result) override {
    if constexpr (arrays::is_word<T>) {
      const element_reference<T> element = array_[as_position<N>(at)];
      std::optional<interpreter_released> released;
      if (element.local() == nullptr) released.emplace();
      const T before = element.compare_exchange(value_in<T>(expected), value_in<T>(desired));
      released.reset();
      return keep(before, result);
    }
    refuse();
  }

  future<void> get(const numbers& first, const numbers& last, void* to) override {
    return array_.get({as_position<N>(first), as_position<N>(last)}, static_cast<T*>(to));
  }
  future<void> put(const numbers& first, const numbers& last, const void* from) override {
    return array_.put({as_position<N>(first), as_position<N>(last)}, static_cast<const T*>(from));
  }
  future<void> accumulate(const numbers& first, const numbers& last, const void* from) override {
    if constexpr (arrays::is_number<T>)
      return array_.accumulate({as_position<N>(first), as_position<N>(last)}, static_cast<const T*>(from));
    refuse();
  }

  future<void> exchange_halo(std::optional<int> width) override {
    return width ? array_.exchange_halo(*width) : array_.exchange_halo();
  }
  future<void> get_halo() override { return array_.get_halo(); }

  std::vector<tile_in_memory> tiles_of(int pe) override {
    std::vector<tile_in_memory> found;
    const auto add = [&](const auto& tiles) {
      for (const local_tile<T, N> tile : tiles) found.push_back(in_memory(tile));
    };
    if (pe == this_pe())
      add(array_.own_tiles());
    else
      add(array_.tiles_of(pe));
    return found;
  }
  tile_in_memory tile_at(const numbers& at) override { return in_memory(array_.tile_at(as_position<N>(at))); }
  std::shared_ptr<any_array> redistribute(const asked_distribution& how) override;
  void free() override {
    future<void> done = array_.free();
    is_freed_ = true;
    wait_for(done);
  }
  void dump(const std::string& path, const file_options& options) override {
    const interpreter_released released;
    tri::dump(array_, path, options);
  }
  void load(const std::string& path, const file_options& options) override {
    const interpreter_released released;
    tri::load(array_, path, options);
  }

 private:
  static tile_in_memory in_memory(const local_tile<T, N>& tile) {
    numbers strides;
    for (int d = 0; d < N; ++d) strides.push_back(tile.stride(d) * static_cast<std::int64_t>(sizeof(T)));
    return {reinterpret_cast<std::byte*>(tile.data()), as_numbers<N>(tile.elements().first),
            as_numbers<N>(tile.elements().last), std::move(strides)};
  }
  static void keep(const T& value, void* result) { std::memcpy(result, &value, sizeof(T)); }
  [[noreturn]] static void refuse() {
    throw std::invalid_argument(std::string("elements of type ") + names_of<T>().first + " have no such operation");
  }
  /// Nothing: the type has no such update.
  static std::optional<T> fetched(const element_reference<T>& element, arrays::update what, T value) {
    using enum arrays::update;
    if constexpr (arrays::is_word<T>)
      if (what == exchange) return element.exchange(value);
    if constexpr (arrays::has_bits<T>) {
      if (what == bit_and) return element.fetch_and(value);
      if (what == bit_or) return element.fetch_or(value);
      if (what == bit_xor) return element.fetch_xor(value);
    }
    if constexpr (arrays::is_number<T>) {
      if (what == add) return element.fetch_add(value);
      if (what == minimum) return element.fetch_min(value);
      if (what == maximum) return element.fetch_max(value);
    }
    return std::nullopt;
  }
  global_array<T, N> array_;
};

/// Throws std::invalid_argument for zeros.
template <int N>
distribution<N> distribution_of(const asked_distribution& how) {
  distribution<N> made;
  if (!how.tile.empty()) made.tile = distribution<N>(tile_extents<N>{as_position<N>(how.tile)}).tile;
  if (!how.grid.empty()) made.grid = distribution<N>(processor_grid<N>{as_position<N>(how.grid)}).grid;
  if (!how.host_tile.empty())
    made.host_tile = distribution<N>(host_tile_extents<N>{as_position<N>(how.host_tile)}).host_tile;
  if (!how.halo.empty()) made.halo = as_position<N>(how.halo);
  for (std::size_t d = 0; d < how.periodic.size(); ++d)
    if (how.periodic[d] != 0) made.rings |= 1U << d;
  return made;
}

template <class T, int N>
std::shared_ptr<any_array> typed_array<T, N>::redistribute(const asked_distribution& how) {
  const auto dealt = distribution_of<N>(how);
  const interpreter_released released;
  return std::make_shared<typed_array<T, N>>(tri::redistribute(array_, dealt));
}

template <class T, int N>
std::shared_ptr<any_array> make_typed(const numbers& extents, const asked_distribution& how) {
  return std::make_shared<typed_array<T, N>>(global_array<T, N>(as_position<N>(extents), distribution_of<N>(how)));
}

/// One of N dimensions; null: there is no such kind of elements. Instantiated in a file for each N.
template <int N>
std::shared_ptr<any_array> make_array_of(const std::string& kind, const numbers& extents,
                                         const asked_distribution& how) {
  std::shared_ptr<any_array> made;
  const auto try_types = [&]<class... T>() {
    (void)((kind == names_of<T>().first && (made = make_typed<T, N>(extents, how)) != nullptr) || ...);
  };
  try_types
      .template operator()<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                           std::uint32_t, std::uint64_t, float, double, std::complex<float>, std::complex<double>>();
  return made;
}

}  // namespace tri::python
