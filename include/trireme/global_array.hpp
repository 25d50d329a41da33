// Global arrays: one array of 1 to 6 dimensions over all PEs of all hosts, in tiles. Every PE reads and writes every
// element; a tile lies contiguous in the memory of one PE, so that BLAS takes it.
//
//   tri::global_array<double, 2> a({n, n}, tri::tiles(64, 64));   // by all PEs, or one tile for each without tiles
//   a(i, j) = 1.5;                                                // anywhere
//   for (auto tile : a.own_tiles()) work(tile.data(), tile.leading_dimension());
//   co_await a.get({{0, j}, {n, j + 1}}, column);                 // any section, one message for each PE that has a
//   part
//
// Memory of the own host is read and written directly. What lies on other hosts goes by messages:
//   - Reading waits, by running other messages of this PE, so it is for functions given to tri::run or run_everywhere;
//     methods and coroutines use get, whose future they co_await.
//   - Writing and updating do not wait. A PE sees its own writes; others see them after tri::fence() or tri::barrier().
//
// Elements of one word (1, 2, 4, 8 bytes) are read and written whole. Relaxed order, as in UPC: between PEs only
// fences, barriers and messages order accesses.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/detail/arrays/layout.hpp"
#include "trireme/detail/arrays/local_array.hpp"
#include "trireme/detail/arrays/requests.hpp"
#include "trireme/future.hpp"
#include "trireme/run.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Ready when all writes and updates that this PE made before have been carried out, wherever they went.
inline future<void> fence() { return arrays::fence_of_pe(); }
/// A fence of every PE; ready when all PEs have called it. Collective over all PEs, in the same order on each.
inline future<void> barrier() { return arrays::barrier_of_all(); }

/// An element of a global array, as `a(i, j)` returns it: for use at once, not to be kept. Not on this host: reading it
/// waits (see above), and throws std::logic_error in methods and coroutines.
template <class T>
class element_reference {
 public:
  element_reference(T* here, arrays::local_array& array, const arrays::place& where)
      : here_(here), array_(&array), where_(where) {}
  element_reference(const element_reference&) = delete;

  operator T() const { return read(); }  // NOLINT(google-explicit-constructor): as a reference
  T read() const {
    if (here_ != nullptr) [[likely]]
      return arrays::load(here_);
    return get().get();
  }
  future<T> get() const {
    future<T> result;
    if (here_ != nullptr)
      result.get_promise().set(arrays::load(here_));
    else
      arrays::request<&arrays::serve_get<T>>(where_.pe, array_->id(), where_.offset, result.get_promise());
    return result;
  }
  const element_reference& operator=(const T& value) const {
    if (here_ != nullptr) [[likely]] {
      arrays::store(here_, value);
      return *this;
    }
    arrays::request<&arrays::serve_put<T>>(where_.pe, array_->id(), where_.offset, value);
    arrays::note_unfenced(where_.pe);
    return *this;
  }
  const element_reference& operator=(const element_reference& other) const { return *this = other.read(); }

  // Updates: atomic, one message, no answer.
  const element_reference& operator+=(T value) const { return update(arrays::update::add, value); }
  const element_reference& operator-=(T value) const { return update(arrays::update::add, static_cast<T>(-value)); }
  const element_reference& operator&=(T value) const { return update(arrays::update::bit_and, value); }
  const element_reference& operator|=(T value) const { return update(arrays::update::bit_or, value); }
  const element_reference& operator^=(T value) const { return update(arrays::update::bit_xor, value); }

  // Atomic, with the value before as the result.
  T fetch_add(T value) const { return fetch(arrays::update::add, value); }
  T fetch_and(T value) const { return fetch(arrays::update::bit_and, value); }
  T fetch_or(T value) const { return fetch(arrays::update::bit_or, value); }
  T fetch_xor(T value) const { return fetch(arrays::update::bit_xor, value); }
  T fetch_min(T value) const { return fetch(arrays::update::minimum, value); }
  T fetch_max(T value) const { return fetch(arrays::update::maximum, value); }
  T exchange(T value) const { return fetch(arrays::update::exchange, value); }
  /// The same for coroutines: a future of the value before.
  future<T> fetch_add_async(T value) const { return fetch_async(arrays::update::add, value); }
  /// Returns the value before: it was stored if that equals `expected`.
  T compare_exchange(T expected, T desired) const {
    static_assert(arrays::is_word<T>, "compare_exchange is for elements of 1, 2, 4 or 8 bytes");
    if (here_ != nullptr) {
      T before = expected;
      std::atomic_ref<T>(*here_).compare_exchange_strong(before, desired, std::memory_order_relaxed);
      return before;
    }
    future<T> result;
    arrays::request<&arrays::serve_compare_exchange<T>>(where_.pe, array_->id(), where_.offset, expected, desired,
                                                        result.get_promise());
    return result.get();
  }

  /// The PE that has it.
  int owner() const { return where_.pe; }
  /// Its address, or null: it is on another host.
  T* local() const { return here_; }

 private:
  const element_reference& update(arrays::update what, T value) const {
    if (here_ != nullptr) [[likely]] {
      arrays::apply(what, here_, value);
      return *this;
    }
    arrays::request<&arrays::serve_update<T>>(where_.pe, array_->id(), where_.offset, value, what);
    arrays::note_unfenced(where_.pe);
    return *this;
  }
  T fetch(arrays::update what, T value) const {
    if (here_ != nullptr) [[likely]]
      return arrays::apply(what, here_, value);
    return fetch_async(what, value).get();
  }
  future<T> fetch_async(arrays::update what, T value) const {
    future<T> result;
    if (here_ != nullptr)
      result.get_promise().set(arrays::apply(what, here_, value));
    else
      arrays::request<&arrays::serve_fetching_update<T>>(where_.pe, array_->id(), where_.offset, value,
                                                         result.get_promise(), what);
    return result;
  }
  T* here_;
  arrays::local_array* array_;
  arrays::place where_;
};

/// A tile in the memory of this host: `elements()` of the array lie row by row from data() on, with the leading
/// dimension (steps between rows) of a whole tile.
template <class T, int N>
class local_tile {
 public:
  local_tile(T* data, const region<N>& elements, const position<N>& tile)
      : data_(data), elements_(elements), strides_(arrays::row_major_strides(tile)) {}
  T* data() const { return data_; }
  const region<N>& elements() const { return elements_; }
  std::int64_t extent(int dimension) const { return elements_.last[dimension] - elements_.first[dimension]; }
  std::int64_t stride(int dimension) const { return strides_[dimension]; }
  std::int64_t leading_dimension() const { return N == 1 ? extent(0) : strides_[N == 1 ? 0 : N - 2]; }
  /// The element at this position in the tile.
  template <std::convertible_to<std::int64_t>... I>
    requires(sizeof...(I) == N)
  T& operator()(I... i) const {
    return data_[arrays::dot(position<N>(i...), strides_)];
  }

 private:
  T* data_;
  region<N> elements_;
  position<N> strides_;
};

template <class T, int N>
class global_array {
 public:
  static_assert(std::is_trivially_copyable_v<T>, "global arrays hold plain data: T must be trivially copyable");
  static_assert(alignof(T) <= 64, "global arrays align to a cache line, no further");
  using value_type = T;
  static constexpr int dimensions = N;

  /// Names no array.
  global_array() = default;
  /// A new array of zeros. Collective: every PE makes it, in the same order, with the same arguments; that takes no
  /// message. Options: tri::tiles, tri::host_tiles, tri::grid; without tiles each PE of the grid gets one block,
  /// without a grid tiles are dealt in turn, and blocks over the grid with the shortest edges. Requests of PEs that are
  /// ahead wait for it. Throws std::invalid_argument, arena::arena_exhausted.
  template <class... Options>
  explicit global_array(const position<N>& extents, const Options&... options)
      : global_array(arrays::next_id_of_all(), extents, distribution<N>(options...)) {
    arrays::make_piece(*array_);
  }

  explicit operator bool() const { return array_ != nullptr; }
  friend bool operator==(const global_array& a, const global_array& b) { return a.array_ == b.array_; }

  const position<N>& extents() const { return where().extents(); }
  std::int64_t extent(int dimension) const { return extents()[dimension]; }
  std::int64_t size() const { return where().elements(); }
  const position<N>& tile() const { return where().tile(); }
  /// The layout: which PE has what.
  const arrays::layout<N>& where() const { return array_->where(); }

  /// An element of any PE. Throws std::out_of_range outside of the extents, std::logic_error after free.
  template <std::convertible_to<std::int64_t>... I>
    requires(sizeof...(I) == N)
  element_reference<T> operator()(I... i) const {
    return (*this)[position<N>(i...)];
  }
  element_reference<T> operator[](const position<N>& at) const {
    const arrays::place place = place_of(at);
    std::byte* const piece = array_->piece_of(place.pe);
    if (piece == nullptr) [[unlikely]]
      array_->check_usable();
    return {piece == nullptr ? nullptr : reinterpret_cast<T*>(piece) + place.offset, *array_, place};
  }
  /// The address of an element of this host; null elsewhere, or when its PE has not made the array yet.
  T* local(const position<N>& at) const {
    const arrays::place place = place_of(at);
    std::byte* const piece = array_->piece_of(place.pe);
    return piece == nullptr ? nullptr : reinterpret_cast<T*>(piece) + place.offset;
  }
  int owner(const position<N>& at) const { return place_of(at).pe; }
  future<T> get(const position<N>& at) const { return (*this)[at].get(); }

  // Sections. `box` must lie in the extents; the data of a section lie row by row, volume() elements, and stay valid
  // and untouched until the future is ready.
  future<void> get(const region<N>& box, T* to) const {
    check_region(box);
    future<void> result;
    auto transfer =
        std::make_unique<arrays::section_get<N>>(result.get_promise(), array_, box, reinterpret_cast<std::byte*>(to));
    const position<N> strides = arrays::row_major_strides(box.extents());
    std::vector<std::int32_t> others;
    where().for_each_piece(box, [&](const arrays::tile_piece<N>& piece) {
      const std::byte* const there = array_->piece_of(piece.pe);
      if (there == nullptr) return add_once(others, piece.pe);
      arrays::copy_box<N>(reinterpret_cast<std::byte*>(to + piece.region_offset), strides,
                          there + piece.offset * static_cast<std::int64_t>(sizeof(T)), where().strides_in_tile(),
                          piece.extents, sizeof(T));
    });
    ask(std::move(transfer), others, [&](std::int32_t pe, std::uint64_t number) {
      arrays::request<&arrays::serve_section_get<N>>(pe, array_->id(), box, number);
    });
    return result;
  }
  /// Ready when the elements have the new values.
  future<void> put(const region<N>& box, const T* from) const { return put_section(box, from, false); }
  /// Adds to each element, atomically for each.
  future<void> accumulate(const region<N>& box, const T* from) const
    requires std::is_arithmetic_v<T>
  {
    return put_section(box, from, true);
  }

  /// The tiles of this PE, as an input range of local_tile.
  auto own_tiles() const { return tiles_of_pe(sched::this_pe().number()); }
  /// The tiles of a PE of this host; std::logic_error for another.
  auto tiles_of(int pe) const {
    if (array_->piece_of(pe) == nullptr) {
      array_->check_usable();
      throw std::logic_error("global array: PE " + std::to_string(pe) +
                             " is on another host, or has not made the array yet");
    }
    return tiles_of_pe(pe);
  }
  /// Frees it. Collective; ready when all PEs have called it. Handles must not be used afterwards: that throws.
  future<void> free() const { return arrays::free_by_all(array_); }

  /// A handle may travel in messages: the array is the same on every PE.
  template <class Archive>
  void serialize(Archive& archive) {
    arrays::array_id id = 0;
    position<N> extents;
    distribution<N> how;
    bool names_one = array_ != nullptr;
    if (names_one) {
      id = array_->id();
      extents = where().extents();
      how = where().how();
    }
    archive(names_one, id, extents.at, how.tile.at, how.host_tile.at, how.grid.at, how.first_pe);
    if constexpr (Archive::is_loading::value)
      if (names_one) *this = global_array(id, extents, how);
  }

 private:
  using typed = arrays::typed_array<N>;

  // The array of this name as this PE knows it; enters it into the PE's table if it has not met it.
  global_array(arrays::array_id id, const position<N>& extents, const distribution<N>& how) {
    if (auto known = arrays::find_array(id); known != nullptr) {
      if (known->type() != &arrays::type_mark<T> || known->dimensions() != N)
        throw std::logic_error(arrays::describe(id) + " has another type or other dimensions");
      array_ = std::static_pointer_cast<typed>(std::move(known));
      return;
    }
    array_ = std::make_shared<typed>(id, &arrays::type_mark<T>, sizeof(T),
                                     arrays::layout<N>(extents, how, arrays::machine_of_job(), sizeof(T)));
    arrays::enter_array(array_);
  }

  arrays::place place_of(const position<N>& at) const {
    if (!where().contains(at)) [[unlikely]]
      arrays::report_outside(at.at.data(), extents().at.data(), N);
    return where().place_of(at);
  }
  void check_region(const region<N>& box) const {
    array_->check_usable();
    if (box.intersection(region<N>({}, extents())) != box) [[unlikely]]
      arrays::report_region(box.first.at.data(), box.last.at.data(), extents().at.data(), N);
  }
  static void add_once(std::vector<std::int32_t>& list, std::int32_t pe) {
    for (const std::int32_t known : list)
      if (known == pe) return;
    list.push_back(pe);
  }
  template <class Send>
  static void ask(std::unique_ptr<arrays::section_transfer> transfer, const std::vector<std::int32_t>& others,
                  Send&& send) {
    if (others.empty()) return transfer->finish();
    for (std::size_t i = 0; i < others.size(); ++i) transfer->expect();
    const std::uint64_t number = arrays::add_transfer(std::move(transfer));
    for (const std::int32_t pe : others) send(pe, number);
  }
  future<void> put_section(const region<N>& box, const T* from, bool accumulates) const {
    check_region(box);
    future<void> result;
    const position<N> strides = arrays::row_major_strides(box.extents());
    const auto* const bytes = reinterpret_cast<const std::byte*>(from);
    std::vector<std::int32_t> others;
    where().for_each_piece(box, [&](const arrays::tile_piece<N>& piece) {
      std::byte* const there = array_->piece_of(piece.pe);
      if (there == nullptr) return add_once(others, piece.pe);
      if (!accumulates)
        return arrays::copy_box<N>(there + piece.offset * static_cast<std::int64_t>(sizeof(T)),
                                   where().strides_in_tile(), bytes + piece.region_offset * std::int64_t{sizeof(T)},
                                   strides, piece.extents, sizeof(T));
      if constexpr (std::is_arithmetic_v<T> && arrays::is_word<T>)
        accumulate_piece(piece, reinterpret_cast<T*>(there), from, strides);
    });
    ask(std::make_unique<arrays::section_put>(result.get_promise()), others,
        [&](std::int32_t pe, std::uint64_t number) {
          arrays::request<&arrays::serve_section_put<T, N>>(pe, array_->id(), box, number, accumulates,
                                                            packed_for(pe, box, bytes));
        });
    return result;
  }
  void accumulate_piece(const arrays::tile_piece<N>& piece, T* there, const T* from, const position<N>& strides) const {
    for (std::int64_t i = 0; i < piece.extents.volume(); ++i) {
      const position<N> at = arrays::position_of(i, piece.extents);
      arrays::apply(arrays::update::add, there + piece.offset + arrays::dot(at, where().strides_in_tile()),
                    from[piece.region_offset + arrays::dot(at, strides)]);
    }
  }
  // The elements of a section that go to one PE, in the order in which it takes them.
  shared_buffer<std::byte> packed_for(std::int32_t pe, const region<N>& box, const std::byte* from) const {
    std::int64_t elements = 0;
    arrays::for_each_piece_on(where(), box, pe,
                              [&](const arrays::tile_piece<N>& piece) { elements += piece.extents.volume(); });
    buffer<std::byte> packed(static_cast<std::size_t>(elements) * sizeof(T));
    std::byte* to = packed.data();
    arrays::for_each_piece_on(where(), box, pe, [&](const arrays::tile_piece<N>& piece) {
      arrays::copy_box<N>(to, arrays::row_major_strides(piece.extents),
                          from + piece.region_offset * std::int64_t{sizeof(T)},
                          arrays::row_major_strides(box.extents()), piece.extents, sizeof(T));
      to += piece.extents.volume() * std::int64_t{sizeof(T)};
    });
    return shared_buffer<std::byte>(std::move(packed));
  }

  class tile_range {
   public:
    tile_range(std::shared_ptr<typed> array, int pe) : array_(std::move(array)), pe_(pe) {}
    class iterator {
     public:
      using value_type = local_tile<T, N>;
      using difference_type = std::int64_t;
      iterator() = default;
      iterator(const tile_range* range, std::int64_t slot) : range_(range), slot_(slot) { skip_padding(); }
      value_type operator*() const { return range_->tile(slot_); }
      iterator& operator++() {
        ++slot_;
        skip_padding();
        return *this;
      }
      void operator++(int) { ++*this; }
      friend bool operator==(const iterator& a, const iterator& b) { return a.slot_ == b.slot_; }

     private:
      void skip_padding() {
        const arrays::layout<N>& where = range_->array_->where();
        while (slot_ < where.slots_of(range_->pe_) && !where.tile_in(range_->pe_, slot_)) ++slot_;
      }
      const tile_range* range_ = nullptr;
      std::int64_t slot_ = 0;
    };
    iterator begin() const { return {this, 0}; }
    iterator end() const { return {this, array_->where().slots_of(pe_)}; }

   private:
    local_tile<T, N> tile(std::int64_t slot) const {
      const arrays::layout<N>& where = array_->where();
      return {reinterpret_cast<T*>(array_->piece_of(pe_)) + slot * where.elements_of_tile(),
              where.elements_of(*where.tile_in(pe_, slot)), where.tile()};
    }
    std::shared_ptr<typed> array_;
    int pe_;
  };
  tile_range tiles_of_pe(int pe) const {
    array_->check_usable();
    return tile_range(array_, pe);
  }

  std::shared_ptr<typed> array_;
};

/// Calls f(position, element&) for each element of this PE, tile by tile, in row-major order inside each.
template <class T, int N, class F>
void for_each_own(const global_array<T, N>& array, F&& f) {
  for (const local_tile<T, N> tile : array.own_tiles()) {
    const position<N> extents = tile.elements().extents();
    const std::int64_t rows = extents.volume() / extents[N - 1];
    position<N> head = extents;  // the extents of the rows' numbers
    head[N - 1] = 1;
    for (std::int64_t row = 0; row < rows; ++row) {
      position<N> at = arrays::position_of(row, head);
      T* element = tile.data();
      for (int d = 0; d < N; ++d) {
        element += at[d] * tile.stride(d);
        at[d] += tile.elements().first[d];
      }
      for (std::int64_t i = 0; i < extents[N - 1]; ++i, ++at[N - 1]) f(at, element[i]);
    }
  }
}

}  // namespace tri

#pragma GCC visibility pop
