// Global arrays: one array of 1 to 6 dimensions over all PEs of all hosts, in tiles. Every PE reads and writes every
// element; a tile lies contiguous in the memory of one PE, so that BLAS takes it.
//
//   tri::global_array<double, 2> a({n, n}, tri::tiles(64, 64));   // by all PEs, or one tile for each without tiles
//   a(i, j) = 1.5;                                                // anywhere
//   for (auto tile : a.own_tiles()) work(tile.data(), tile.leading_dimension());
//   co_await a.get({{0, j}, {n, j + 1}}, column);                 // any section, one message for each PE with a part
//
// Memory of the own host is read and written directly. What lies on other hosts goes by messages:
//   - Reading waits, by running other messages of this PE, so it is for functions given to tri::run or run_everywhere;
//     methods and coroutines use get, whose future they co_await.
//   - Writing and updating do not wait. A PE sees its own writes; others see them after tri::fence() or tri::barrier().
//
// Single elements of one word (1, 2, 4, 8 bytes) are read and written whole; sections and tiles are ordinary accesses.
// Relaxed order, as in UPC: between PEs only fences and barriers order accesses. A message orders those before a fence
// that the sender has waited for; one without may overtake them.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/detail/arrays/halo_exchange.hpp"
#include "trireme/detail/arrays/layout.hpp"
#include "trireme/detail/arrays/local_array.hpp"
#include "trireme/detail/arrays/sections.hpp"
#include "trireme/element_reference.hpp"
#include "trireme/fence.hpp"
#include "trireme/future.hpp"
#include "trireme/global_pointer.hpp"
#include "trireme/local_tile.hpp"
#include "trireme/run.hpp"
#include "trireme/team.hpp"

#pragma GCC visibility push(default)

namespace tri {

template <class T, int N>
class global_array;
namespace arrays {
/// The notification of an array that a PE has made alone.
template <class T, int N>
void create(asked_array asked, std::int32_t source, position<N> extents, distribution<N> how);
/// Makes an array of a checkpoint again, dealt to the PEs of this job.
template <class T, int N>
void restore(array_id id, const array_shape& shape);
using restore_function = void (*)(array_id id, const array_shape& shape);
/// Before main.
bool register_restorable(std::uint64_t type, int dimensions, restore_function restore);
template <class T, int N>
inline const bool is_restorable = register_restorable(digest_of_name(name_of_type<T>()), N, &restore<T, N>);
}  // namespace arrays

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
  /// without a grid tiles are dealt in turn, and blocks over the grid with the shortest edges. tri::halo: with ghost
  /// cells around each tile; tri::periodic: those at the edges show elements of the opposite edge. Requests of PEs that
  /// are ahead wait for it. Throws std::invalid_argument, arena::arena_exhausted.
  template <class... Options>
  explicit global_array(const position<N>& extents, const Options&... options)
      : global_array(arrays::next_id_of_all(), extents, distribution<N>(options...)) {
    arrays::make_piece_or_free(here());
  }

  /// The same made by the calling PE alone: all others make their pieces when they hear of it. Its handle may be sent
  /// on at once; requests that come before the notification wait.
  template <class... Options>
  static global_array made_alone(const position<N>& extents, const Options&... options) {
    global_array made(arrays::next_own_id(), extents, distribution<N>(options...));
    arrays::make_piece_or_free(made.here());
    arrays::notify_all<&arrays::create<T, N>>(made.array_->id(), extents, made.where().how());
    return made;
  }

  explicit operator bool() const { return array_ != nullptr; }
  friend bool operator==(const global_array& a, const global_array& b) {
    return a.array_ == b.array_ || (a.array_ != nullptr && b.array_ != nullptr && a.array_->id() == b.array_->id());
  }

  const position<N>& extents() const { return where().extents(); }
  std::int64_t extent(int dimension) const { return extents()[dimension]; }
  std::int64_t size() const { return where().elements(); }
  const position<N>& tile() const { return where().tile(); }
  /// The layout: which PE has what.
  const arrays::layout<N>& where() const {
    if (array_ == nullptr) [[unlikely]]
      arrays::report_nameless();
    return array_->where();
  }

  /// An element of any PE. Throws std::out_of_range outside of the extents, std::logic_error after free.
  template <std::integral... I>
    requires(sizeof...(I) == N)
  [[gnu::always_inline]] element_reference<T> operator()(I... i) const {
    return (*this)[position<N>(i...)];
  }
  [[gnu::always_inline]] element_reference<T> operator[](const position<N>& at) const {
    typed& array = here();
    std::byte* element = array.known(at, sizeof(T));
    if (element == nullptr) [[unlikely]] {
      element = find(array, at);
      if (element == nullptr) return {array, array.where().place_of(at)};
    }
    return {reinterpret_cast<T*>(element), array};
  }
  /// The address of an element of this host; null elsewhere, or when its PE has not made the array yet.
  T* local(const position<N>& at) const {
    typed& array = here();
    std::byte* const element = array.known(at, sizeof(T));
    if (element != nullptr) return reinterpret_cast<T*>(element);
    check_inside(at);
    return reinterpret_cast<T*>(array.find(at));
  }
  /// Throws std::out_of_range when a region does not lie in the extents, std::logic_error after free.
  void check_region(const region<N>& box) const {
    here().check_usable();
    if (box.intersection(region<N>({}, extents())) != box) [[unlikely]]
      arrays::report_region(box.first.at.data(), box.last.at.data(), extents().at.data(), N);
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
    pieces_of_section pieces(here());
    const position<N> strides = arrays::row_major_strides(box.extents());
    where().for_each_piece(box, [&](const arrays::tile_piece<N>& piece) {
      const std::byte* const there = pieces.of(piece.pe);
      if (there == nullptr) return;
      arrays::copy_box<N>(reinterpret_cast<std::byte*>(to + piece.region_offset), strides,
                          there + piece.offset * static_cast<std::int64_t>(sizeof(T)), where().strides_in_tile(),
                          piece.extents, sizeof(T));
    });
    arrays::section_get<N>& asked = *transfer;
    ask(std::move(transfer), pieces.others(),
        [&](std::int32_t pe, std::uint64_t number) { asked.ask(number, pe, here()); });
    return result;
  }
  /// Ready when the elements have the new values.
  future<void> put(const region<N>& box, const T* from) const { return put_section(box, from, false); }
  /// Adds to each element, atomically for each.
  future<void> accumulate(const region<N>& box, const T* from) const
    requires arrays::is_number<T>
  {
    return put_section(box, from, true);
  }

  /// Gives all elements of this PE a value; no message. Others see it as they see single elements.
  void fill(const T& value) const {
    for (const local_tile<T, N> tile : own_tiles())
      arrays::for_each_row<N>(tile.elements().extents(), [&](const position<N>& at, std::int64_t length) {
        T* const row = tile.data() + arrays::dot(at, where().strides_in_tile());
        for (std::int64_t i = 0; i < length; ++i) arrays::store(row + i, value);
      });
  }

  /// Fills the ghost cells of this PE's tiles (tri::halo) with the elements that they show: faces, edges, corners.
  /// Every PE with tiles calls it, and each sends one message to each neighbouring PE, with its elements as they are at
  /// the call. Ready when the own ghost cells are filled. No barrier is needed around it: no PE's ghost cells change
  /// before it calls this. Ghost cells behind the edge of an array that is not periodic keep what the program has
  /// written there. `width`: that of the halo, or less, the same on all PEs. Throws std::logic_error when the array has
  /// no halo, std::out_of_range when it is narrower, arena::arena_exhausted (then nothing was sent). When the array is
  /// freed before all cells have come, the future fails: remote_error.
  future<void> exchange_halo() const { return exchange_halo_of(where().how().halo); }
  future<void> exchange_halo(int width) const {
    position<N> widths = where().how().halo;
    if (width < 0 || std::ranges::all_of(widths.at, [width](std::int64_t there) { return there < width; }))
      arrays::report_width(width, widths.at.data(), N);
    for (int d = 0; d < N; ++d) widths[d] = std::min<std::int64_t>(widths[d], width);
    return exchange_halo_of(widths);
  }

  /// Fills the ghost cells of this PE's tiles as exchange_halo does, without a call by others: what is on this host is
  /// copied, and each neighbouring PE of another host is asked once. The program orders it against the writes of those
  /// PEs, with a barrier before it, and one before they write again. Errors as of exchange_halo. Of an array that is
  /// freed before the future is ready, the cells are dropped, or the future fails: remote_error.
  future<void> get_halo() const {
    typed& array = array_for_halo();
    future<void> result;
    const arrays::halo_plan<N>& plan = array.plan_of_halo(where().how().halo);
    const auto copy_part = [&](const arrays::halo_part<N>& part, const std::byte* from) {
      constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
      arrays::copy_box<N>(array.own_piece() + part.offset * bytes, where().strides_in_tile(), from + part.there * bytes,
                          where().strides_in_tile(), part.extents, sizeof(T));
    };
    for (const auto& part : plan.own) copy_part(part, array.own_piece());
    std::vector<std::int32_t> others;
    for (const auto& neighbour : plan.neighbours) {
      if (neighbour.received.empty()) continue;
      if (const std::byte* const piece = array.piece_of(neighbour.pe); piece == nullptr)
        others.push_back(neighbour.pe);
      else
        for (const auto& part : neighbour.received) copy_part(part, piece);
    }
    ask(std::make_unique<arrays::halo_get<N>>(result.get_promise(), known_here(array.id()), plan), others,
        [&](std::int32_t pe, std::uint64_t number) {
          const auto asked = std::ranges::find(plan.neighbours, pe, &arrays::halo_plan<N>::neighbour::pe);
          arrays::request<&arrays::serve_halo_get<N>, true>(pe, array, asked->received, number);
          // As of sections. Nor may direct puts to other hosts overtake it.
          if (array.is_on_this_host(pe) || array.direct() != nullptr) arrays::note_unfenced(pe);
        });
    return result;
  }

  /// The tiles of this PE, as an input range of local_tile. Makes its piece if the notification of the array has not
  /// come yet.
  auto own_tiles() const {
    typed& array = here();
    array.check_usable();
    arrays::make_piece(array);
    return tile_range(where(), array.own_piece(), sched::this_pe().number());
  }
  /// The tiles of a PE of this host; std::logic_error for another.
  auto tiles_of(int pe) const {
    typed& array = here();
    std::byte* const piece = array.piece_of(pe);
    if (piece == nullptr) {
      array.check_usable();
      throw std::logic_error("global array: the tiles of PE " + std::to_string(pe) +
                             " are not accessible here: it is on another host, or has not made the array yet");
    }
    return tile_range(where(), piece, pe);
  }
  /// The tile that has this element, of any PE of this host. Throws std::logic_error for one of another host.
  local_tile<T, N> tile_at(const position<N>& at) const {
    const int pe = place_of(at).pe;
    typed& array = here();
    std::byte* const piece = array.piece_of(pe);
    if (piece == nullptr) {
      array.check_usable();
      throw std::logic_error("global array: a tile of PE " + std::to_string(pe) +
                             " is not accessible here: it is on another host, or its PE has not made the array yet");
    }
    const position<N> tile = where().tile_with(at);
    return {reinterpret_cast<T*>(piece) + where().place_of_tile(tile).offset, where().elements_of(tile),
            where().strides_in_tile()};
  }
  /// The PEs that differ from this one in a coordinate of the processor grid only: along dimension 1 those of its row,
  /// along 0 those of its column. Names no team on PEs outside of the grid. Collective over all PEs. Throws
  /// std::logic_error when the array has no grid.
  future<team> team_along(int dimension) const {
    const position<N>& grid = where().how().grid;
    if (grid == position<N>())
      throw std::logic_error("global array: it has no grid of PEs (tri::grid), so there are no teams along it");
    const int own = (this_pe() - where().how().first_pe + pe_count()) % pe_count();
    if (own >= grid.volume()) return team::world().split(no_colour, 0);
    position<N> at = arrays::position_of(own, grid);
    const auto rank = static_cast<int>(std::exchange(at[dimension], 0));
    return team::world().split(static_cast<int>(arrays::dot(at, arrays::row_major_strides(grid))), rank);
  }
  future<team> row_team() const
    requires(N == 2)
  {
    return team_along(1);
  }
  future<team> column_team() const
    requires(N == 2)
  {
    return team_along(0);
  }

  /// A pointer to an element: plain data.
  global_pointer<T> pointer_to(const position<N>& at) const {
    (void)place_of(at);
    return {array_->id(), arrays::dot(at, arrays::row_major_strides(extents()))};
  }

  /// Frees it. Handles must not be used afterwards: that throws. One that all PEs have made: collective; ready when all
  /// PEs have called it. One of make_global_array: called by one PE, which orders it behind the accesses of others;
  /// ready when its own have been carried out.
  future<void> free() const {
    here().check_usable();
    if (arrays::partition_of(array_->id()) == 0) return arrays::free_by_all(array_->id());
    return arrays::free_by_one(array_->id());
  }

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
    archive(names_one, id, extents.at, how.tile.at, how.host_tile.at, how.grid.at, how.halo.at, how.first_pe, how.rings,
            how.chosen.tile, how.chosen.grid);
    if constexpr (Archive::is_loading::value) *this = names_one ? global_array(id, extents, how) : global_array();
  }

 private:
  using typed = arrays::typed_array<N>;

  friend void arrays::create<T, N>(arrays::asked_array, std::int32_t, position<N>, distribution<N>);
  friend void arrays::restore<T, N>(arrays::array_id, const arrays::array_shape&);

  // The array of this name as this PE knows it; enters it into the PE's table if it has not met it.
  global_array(arrays::array_id id, const position<N>& extents, const distribution<N>& how) {
    const arrays::layout<N> where(extents, how, arrays::machine_of_job(), sizeof(T));
    array_ = known_here(id);
    if (array_ == nullptr)
      array_ = entered(id, where);
    else if (array_->where().extents() != where.extents() || array_->where().how() != where.how())
      arrays::report_other_shape(*array_, arrays::shape_of(where, arrays::name_of_type<T>()));
  }
  static std::shared_ptr<typed> entered(arrays::array_id id, const arrays::layout<N>& where) {
    static_cast<void>(arrays::is_restorable<T, N>);
    auto made = std::make_shared<typed>(id, &arrays::type_mark<T>, sizeof(T), arrays::name_of_type<T>(), where);
    arrays::enter_array(made);
    return made;
  }
  /// Null: this PE has not met it.
  static std::shared_ptr<typed> known_here(arrays::array_id id) {
    auto known = arrays::find_array(id);
    if (known != nullptr && (known->type() != &arrays::type_mark<T> || known->dimensions() != N))
      arrays::report_other_type(*known, arrays::name_of_type<T>(), N);
    return std::static_pointer_cast<typed>(std::move(known));
  }
  /// What the calling PE knows of the array: the handle may have been made on another PE of the process.
  [[gnu::always_inline]] typed& here() const {
    if (array_ == nullptr) [[unlikely]]
      arrays::report_nameless();
    if (&array_->home() == sched::detail::this_pe) [[likely]]
      return *array_;
    return elsewhere();
  }
  [[gnu::noinline]] typed& elsewhere() const {
    (void)sched::this_pe();                                                            // throws on other threads
    if (const auto known = known_here(array_->id()); known != nullptr) return *known;  // kept by the table
    const auto made = entered(array_->id(), array_->where());
    made->check_usable();
    return *made;
  }

  void check_inside(const position<N>& at) const {
    if (!where().contains(at)) [[unlikely]]
      arrays::report_outside(at.at.data(), extents().at.data(), N);
  }
  arrays::place place_of(const position<N>& at) const {
    check_inside(at);
    return where().place_of(at);
  }
  /// Not part of the code of each access: most need it seldom.
  [[gnu::noinline]] std::byte* find(typed& array, const position<N>& at) const {
    check_inside(at);
    std::byte* const element = array.find(at);
    if (element == nullptr) array.check_usable();
    return element;
  }
  /// Where the pieces of the PEs of a section are, looked up once: what becomes directly accessible meanwhile must not
  /// be accessed in both ways.
  class pieces_of_section {
   public:
    explicit pieces_of_section(typed& array) : array_(array) {}
    std::byte* of(std::int32_t pe) {
      if (pe == last_.pe) return last_.piece;
      for (const found& one : found_)
        if (one.pe == pe) return (last_ = one).piece;
      found_.push_back(last_ = {pe, array_.piece_of(pe)});
      if (last_.piece == nullptr) others_.push_back(pe);
      return last_.piece;
    }
    /// Those to ask by messages.
    const std::vector<std::int32_t>& others() const { return others_; }

   private:
    struct found {
      std::int32_t pe;
      std::byte* piece;
    };
    typed& array_;
    found last_{-1, nullptr};
    std::vector<found> found_;
    std::vector<std::int32_t> others_;
  };
  template <class Send>
  static void ask(std::unique_ptr<arrays::section_transfer> transfer, const std::vector<std::int32_t>& others,
                  Send&& send) {
    if (others.empty()) return transfer->finish();
    arrays::section_transfer& asked = *transfer;
    asked.expect();  // the answer at the end of this function: all answers may be here before
    const std::uint64_t number = arrays::add_transfer(std::move(transfer));
    for (const std::int32_t pe : others) {
      asked.expect();
      try {
        send(pe, number);
      } catch (const std::exception& error) {  // others may have been asked, and will answer into the caller's buffer
        arrays::take_acknowledgement(number, error.what());
      }
    }
    arrays::take_acknowledgement(number, {});
  }
  future<void> put_section(const region<N>& box, const T* from, bool accumulates) const {
    check_region(box);
    future<void> result;
    const position<N> strides = arrays::row_major_strides(box.extents());
    const auto* const bytes = reinterpret_cast<const std::byte*>(from);
    pieces_of_section pieces(here());
    where().for_each_piece(box, [&](const arrays::tile_piece<N>& piece) {
      std::byte* const there = pieces.of(piece.pe);
      if (there == nullptr) return;
      if (!accumulates)
        return arrays::copy_box<N>(there + piece.offset * static_cast<std::int64_t>(sizeof(T)),
                                   where().strides_in_tile(), bytes + piece.region_offset * std::int64_t{sizeof(T)},
                                   strides, piece.extents, sizeof(T));
      if constexpr (arrays::is_number<T>) accumulate_piece(piece, reinterpret_cast<T*>(there), from, strides);
    });
    auto transfer = std::make_unique<arrays::section_put>(result.get_promise());
    arrays::section_transfer& asked = *transfer;
    ask(std::move(transfer), pieces.others(), [&](std::int32_t pe, std::uint64_t number) {
      if (!accumulates && arrays::put_section_directly(pe, here(), box, bytes, number)) return;
      arrays::note_unfenced(pe);
      bool is_first = true;
      arrays::for_each_message(where(), box, pe, sizeof(T), [&](const region<N>& band) {
        if (!std::exchange(is_first, false)) asked.expect();
        const auto part_of = [&](const arrays::tile_piece<N>& part) {
          const position<N> at = arrays::position_of(part.region_offset, band.extents());
          const std::int64_t elements =
              arrays::dot(band.first, strides) - arrays::dot(box.first, strides) + arrays::dot(at, strides);
          return bytes + elements * std::int64_t{sizeof(T)};
        };
        arrays::request<&arrays::serve_section_put<T, N>>(
            pe, here(), band, number, accumulates,
            shared_buffer<std::byte>(arrays::pack_section(where(), band, pe, sizeof(T), strides, part_of)));
      });
    });
    return result;
  }
  typed& array_for_halo() const {
    typed& array = here();
    array.check_usable();
    if (where().how().halo == position<N>())
      throw std::logic_error("global array: it has no ghost cells to exchange (tri::halo)");
    arrays::make_piece(array);
    return array;
  }
  future<void> exchange_halo_of(const position<N>& widths) const {
    typed& array = array_for_halo();
    future<void> result;
    arrays::exchange_halo(array, widths, result.get_promise());
    return result;
  }
  void accumulate_piece(const arrays::tile_piece<N>& piece, T* there, const T* from, const position<N>& strides) const {
    arrays::for_each_row<N>(piece.extents, [&](const position<N>& at, std::int64_t length) {
      T* const row = there + piece.offset + arrays::dot(at, where().strides_in_tile());
      const T* const values = from + piece.region_offset + arrays::dot(at, strides);
      for (std::int64_t i = 0; i < length; ++i) arrays::apply(arrays::update::add, row + i, values[i]);
    });
  }
  class tile_range {
   public:
    tile_range(const arrays::layout<N>& where, std::byte* piece, int pe)
        : where_(where), first_(reinterpret_cast<T*>(piece)), pe_(pe) {}
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
        while (slot_ < range_->slots() && !range_->where_.tile_in(range_->pe_, slot_)) ++slot_;
      }
      const tile_range* range_ = nullptr;
      std::int64_t slot_ = 0;
    };
    iterator begin() const { return {this, 0}; }
    iterator end() const { return {this, slots()}; }
    /// Tiles are numbered; some numbers may have none.
    std::int64_t slots() const { return where_.slots_of(pe_); }
    template <class F>
    void visit(std::int64_t slot, F&& f) const {
      if (where_.tile_in(pe_, slot)) f(tile(slot));
    }

   private:
    local_tile<T, N> tile(std::int64_t slot) const {
      return {first_ + slot * where_.elements_of_tile() + where_.origin_in_tile(),
              where_.elements_of(*where_.tile_in(pe_, slot)), where_.strides_in_tile()};
    }
    arrays::layout<N> where_;
    T* first_;
    int pe_;
  };

  std::shared_ptr<typed> array_;
};

namespace arrays {

template <class T, int N>
void create(asked_array asked, std::int32_t, position<N> extents, distribution<N> how) {
  if (was_freed(asked.id)) return;  // that message came first
  const global_array<T, N> array(asked.id, extents, how);
  make_piece(array.here());
}

template <class T, int N>
void restore(array_id id, const array_shape& shape) {
  position<N> extents;
  std::copy_n(shape.extents.begin(), N, extents.at.begin());
  const global_array<T, N> array(id, extents, distribution_of<N>(shape));
  make_piece(array.here());
}

}  // namespace arrays

/// An array that the calling PE makes alone (global_array::made_alone): make_global_array<double>(position<2>(n, n)).
template <class T, int N, class... Options>
global_array<T, N> make_global_array(const position<N>& extents, const Options&... options) {
  return global_array<T, N>::made_alone(extents, options...);
}

template <class T, std::integral I, class... Options>
global_array<T, 1> make_global_array(I extent, const Options&... options) {
  return global_array<T, 1>::made_alone(position<1>(extent), options...);
}

/// Calls f(position, element&) for each element of this PE, tile by tile, in row-major order inside each.
template <class T, int N, class F>
void for_each_own(const global_array<T, N>& array, F&& f) {
  for (const local_tile<T, N> tile : array.own_tiles()) {
    arrays::for_each_row<N>(tile.elements().extents(), [&](position<N> at, std::int64_t length) {
      T* element = tile.data();
      for (int d = 0; d < N; ++d) {
        element += at[d] * tile.stride(d);
        at[d] += tile.elements().first[d];
      }
      for (std::int64_t i = 0; i < length; ++i, ++at[N - 1]) f(at, element[i]);
    });
  }
}

}  // namespace tri

#pragma GCC visibility pop
