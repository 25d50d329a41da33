// What a PE knows of a global array: its name, and where the pieces of its host are. The pieces lie in the arena, so
// every PE of the host reads and writes them directly; those of other hosts are reached by messages to their PEs
// (requests.hpp). Each PE has its own table of arrays, which grows with the arrays it has met, not with the job.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/detail/arrays/array_shape.hpp"
#include "trireme/detail/arrays/copy_box.hpp"
#include "trireme/detail/arrays/halo_plan.hpp"
#include "trireme/detail/arrays/layout.hpp"
#include "trireme/detail/objects/type_name.hpp"
#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/sched/pe.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::arrays {
class array_table;
class direct_accesses;
struct host_pieces;
}  // namespace tri::arrays

#pragma GCC visibility push(default)

namespace tri::arrays {

class halo_exchanges;

/// Name of an array in the whole job: a partition in the upper 24 bits, a running number in the lower 40. Partition 0
/// is that of arrays made by all PEs, which count them alike; partition p + 1 that of PE p. Numbers are not used again,
/// so a name never means a second array (a handle of the thesis has an index that is used again, 5.2.2).
using array_id = std::uint64_t;
inline constexpr int partition_shift = 40;
constexpr array_id id_of(std::uint64_t partition, std::uint64_t number) {
  return partition << partition_shift | number;
}
constexpr std::uint64_t partition_of(array_id id) { return id >> partition_shift; }
constexpr std::uint64_t number_in_partition(array_id id) { return id & ((std::uint64_t{1} << partition_shift) - 1); }
std::string describe(array_id id);

/// On one PE, used by its thread. Base of typed_array, which has the layout.
class local_array {
 public:
  local_array(const local_array&) = delete;
  local_array& operator=(const local_array&) = delete;
  virtual ~local_array();

  array_id id() const { return id_; }
  /// The PE that may use it.
  const sched::pe& home() const { return home_; }
  std::size_t bytes_of_element() const { return bytes_of_element_; }
  int dimensions() const { return dimensions_; }
  /// The piece of this PE; null: not made, or freed.
  std::byte* own_piece() const { return own_piece_; }
  const void* type() const { return type_; }

  /// The piece of a PE of this host. Null: it must be asked by messages, because it is of another host, has not made or
  /// has freed its piece, or messages from before it was made may still be under way to it.
  std::byte* piece_of(std::int32_t pe) {
    const auto on_host = static_cast<std::uint32_t>(pe - first_pe_of_host_);
    if (on_host >= pes_of_host_) return nullptr;
    std::byte* const seen = seen_[on_host];
    return seen != nullptr ? seen : look_for_piece(on_host);
  }
  bool is_on_this_host(std::int32_t pe) const {
    return static_cast<std::uint32_t>(pe - first_pe_of_host_) < pes_of_host_;
  }
  /// Accesses to elements of other hosts without messages (direct_access.hpp); null: there are none in this job.
  direct_accesses* direct() const { return direct_; }
  /// Of what all PEs must have given alike.
  virtual std::uint64_t digest() const = 0;
  virtual array_shape shape() const = 0;
  /// Of the name of its elements' type.
  virtual std::uint64_t type_digest() const = 0;
  /// Goes with requests.
  std::uint32_t short_digest() const { return short_digest_; }
  /// Throws std::logic_error when the array was freed.
  void check_usable() const {
    if (freed_) [[unlikely]]
      report_freed();
  }
  [[noreturn]] void report_freed() const;
  /// The PE of this host in whose piece this address is.
  std::int32_t owner_of(const std::byte* element) const;
  /// The exchanges of its ghost cells that are under way.
  halo_exchanges& halos();
  bool has_halos() const { return halos_ != nullptr; }

  /// Of element number `number` in row-major order.
  virtual place place_of_number(std::int64_t number) const = 0;
  virtual std::int64_t element_count() const = 0;
  virtual std::int64_t elements_on(std::int32_t pe) const = 0;

  // Boxes of elements as checkpoints have them (src/arrays/array_state.hpp): first and last, each of `dimensions`
  // numbers; the elements row by row, without ghost cells and padding.
  using use_of_box = os::function_ref<void(const std::int64_t* first, const std::int64_t* last)>;
  using use_of_part = os::function_ref<void(std::int32_t pe, const std::int64_t* first, const std::int64_t* last)>;
  /// All elements of this PE, in boxes of one tile each and of at most so many elements.
  virtual void for_each_own_box(std::int64_t most, use_of_box use) const = 0;
  /// The parts of a box, each in one tile. The box must be inside.
  virtual void for_each_part(const std::int64_t* first, const std::int64_t* last, use_of_part use) const = 0;
  /// Of a box in one tile of this PE. Its piece must be made.
  virtual void copy_from(const std::int64_t* first, const std::int64_t* last, std::byte* to) const = 0;
  virtual void copy_to(const std::int64_t* first, const std::int64_t* last, const std::byte* from) = 0;
  /// A part of a box whose elements lie row by row, to where the part's do.
  virtual void copy_part(const std::int64_t* first_of_box, const std::int64_t* last_of_box, const std::byte* box,
                         const std::int64_t* first, const std::int64_t* last, std::byte* to) const = 0;
  virtual bool contains_box(const std::int64_t* first, const std::int64_t* last) const = 0;

 protected:
  local_array(array_id id, const void* type, std::size_t bytes_of_element, int dimensions);
  /// The pieces may no longer be accessed.
  virtual void forget_addresses() {}

 private:
  friend class array_table;
  std::byte* look_for_piece(std::uint32_t on_host);
  const sched::pe& home_;
  const array_id id_;
  const void* const type_;  // &type_mark of the elements
  const std::size_t bytes_of_element_;
  const int dimensions_;
  std::int32_t first_pe_of_host_ = 0;
  std::uint32_t pes_of_host_ = 0;
  std::atomic<std::byte*>* pieces_ = nullptr;  // of the host's PEs, in the arena
  std::unique_ptr<std::byte*[]> seen_;         // those that this PE accesses directly
  host_pieces* shared_ = nullptr;
  std::byte* own_piece_ = nullptr;         // of this PE
  std::unique_ptr<halo_exchanges> halos_;  // made at its first use
  direct_accesses* direct_ = nullptr;
  bool freed_ = false;
  std::uint32_t short_digest_ = 0;
};

template <class T>
inline char type_mark = 0;

std::uint64_t digest_of(std::uint64_t before, std::uint64_t number);
std::uint64_t digest_of_name(std::string_view name);
/// The same in all processes, as type_mark is not.
template <class T>
constexpr std::string_view name_of_type() {
  return objects::detail::after_equals(objects::detail::pretty_type<T>());
}

template <int N>
class typed_array final : public local_array {
 public:
  /// `name_of_type` is a constant.
  typed_array(array_id id, const void* type, std::size_t bytes_of_element, std::string_view name_of_type,
              const layout<N>& where)
      : local_array(id, type, bytes_of_element, N), name_of_type_(name_of_type), layout_(where) {}
  const layout<N>& where() const { return layout_; }
  /// What this PE exchanges for ghost cells of these widths; made at its first use.
  const halo_plan<N>& plan_of_halo(const position<N>& widths) {
    for (const auto& known : plans_)
      if (known->widths == widths) return *known;
    plans_.push_back(std::make_unique<halo_plan<N>>(layout_, home().number(), widths));
    return *plans_.back();
  }
  place place_of_number(std::int64_t number) const override {
    return layout_.place_of(position_of(number, layout_.extents()));
  }
  std::int64_t element_count() const override { return layout_.elements(); }
  std::int64_t elements_on(std::int32_t pe) const override { return layout_.elements_on(pe); }
  std::uint64_t digest() const override {
    const distribution<N>& how = layout_.how();
    std::uint64_t sum = digest_of(digest_of_name(name_of_type_), N);
    for (const position<N>& one : {layout_.extents(), how.tile, how.host_tile, how.grid, how.halo,
                                   position<N>::all(how.first_pe), position<N>::all(how.rings)})
      for (const std::int64_t number : one.at) sum = digest_of(sum, static_cast<std::uint64_t>(number));
    return sum;
  }
  array_shape shape() const override { return shape_of(layout_, name_of_type_); }
  std::uint64_t type_digest() const override { return digest_of_name(name_of_type_); }

  void for_each_own_box(std::int64_t most, use_of_box use) const override {
    const std::int32_t pe = home().number();
    for (std::int64_t slot = 0; slot < layout_.slots_of(pe); ++slot)
      if (const auto tile = layout_.tile_in(pe, slot)) in_halves(layout_.elements_of(*tile), most, use);
  }
  void for_each_part(const std::int64_t* first, const std::int64_t* last, use_of_part use) const override {
    const region<N> box = box_of(first, last);
    const position<N> strides = row_major_strides(box.extents());
    layout_.for_each_piece(box, [&](const tile_piece<N>& piece) {
      region<N> part;
      std::int64_t rest = piece.region_offset;
      for (int d = 0; d < N; ++d) {
        part.first[d] = box.first[d] + rest / strides[d];
        part.last[d] = part.first[d] + piece.extents[d];
        rest %= strides[d];
      }
      use(piece.pe, part.first.at.data(), part.last.at.data());
    });
  }
  void copy_from(const std::int64_t* first, const std::int64_t* last, std::byte* to) const override {
    const region<N> box = box_of(first, last);
    copy_box<N>(to, row_major_strides(box.extents()), memory_of(box), layout_.strides_in_tile(), box.extents(),
                bytes_of_element());
  }
  void copy_to(const std::int64_t* first, const std::int64_t* last, const std::byte* from) override {
    const region<N> box = box_of(first, last);
    copy_box<N>(memory_of(box), layout_.strides_in_tile(), from, row_major_strides(box.extents()), box.extents(),
                bytes_of_element());
  }
  void copy_part(const std::int64_t* first_of_box, const std::int64_t* last_of_box, const std::byte* box,
                 const std::int64_t* first, const std::int64_t* last, std::byte* to) const override {
    const region<N> whole = box_of(first_of_box, last_of_box);
    const region<N> part = box_of(first, last);
    const position<N> strides = row_major_strides(whole.extents());
    const std::int64_t before = dot(part.first, strides) - dot(whole.first, strides);
    copy_box<N>(to, row_major_strides(part.extents()), box + before * static_cast<std::int64_t>(bytes_of_element()),
                strides, part.extents(), bytes_of_element());
  }
  bool contains_box(const std::int64_t* first, const std::int64_t* last) const override {
    const region<N> box = box_of(first, last);
    // That first: any numbers may have come.
    return box.intersection(region<N>({}, layout_.extents())) == box && box.volume() > 0;
  }

  /// The address of an element whose tile is known; null: ask find.
  [[gnu::always_inline]] std::byte* known(const position<N>& at, std::size_t bytes_of_element) const {
    std::uint64_t offset = 0;
    for (int d = 0; d < N; ++d) {
      const std::uint64_t from_first = static_cast<std::uint64_t>(at[d]) - static_cast<std::uint64_t>(known_.first[d]);
      if (from_first >= static_cast<std::uint64_t>(known_.extents[d])) return nullptr;
      offset += d == N - 1 ? from_first : from_first * static_cast<std::uint64_t>(known_.strides[d]);
    }
    return known_.memory + offset * bytes_of_element;
  }
  /// The same for one that is not; null: it must be asked by messages. The position must be inside.
  std::byte* find(const position<N>& at) {
    const position<N> tile = layout_.tile_of(at);
    const place where = layout_.place_in_tile(at, tile);
    std::byte* const piece = piece_of(where.pe);
    if (piece == nullptr) return nullptr;
    if (tile == last_tile_)
      know_tile_of(at, where, piece);
    else
      last_tile_ = tile;
    return piece + where.offset * static_cast<std::int64_t>(bytes_of_element());
  }

 private:
  static region<N> box_of(const std::int64_t* first, const std::int64_t* last) {
    region<N> box;
    std::copy_n(first, N, box.first.at.begin());
    std::copy_n(last, N, box.last.at.begin());
    return box;
  }
  static void in_halves(const region<N>& box, std::int64_t most, use_of_box use) {
    if (box.volume() == 0) return;
    int d = 0;
    while (d < N - 1 && box.last[d] - box.first[d] == 1) ++d;
    if (box.volume() <= most || box.last[d] - box.first[d] == 1) return use(box.first.at.data(), box.last.at.data());
    const std::int64_t middle = box.first[d] + (box.last[d] - box.first[d]) / 2;
    region<N> half = box;
    half.last[d] = middle;
    in_halves(half, most, use);
    half = box;
    half.first[d] = middle;
    in_halves(half, most, use);
  }
  std::byte* memory_of(const region<N>& box) const {
    return own_piece() + layout_.place_of(box.first).offset * static_cast<std::int64_t>(bytes_of_element());
  }
  void forget_addresses() override { known_ = {}; }
  void know_tile_of(const position<N>& at, const place& where, std::byte* piece) {
    const region<N> tile = layout_.elements_of(last_tile_);
    known_.first = tile.first;
    known_.extents = tile.extents();
    known_.strides = layout_.strides_in_tile();
    known_.memory = piece + (where.offset - dot(at, known_.strides) + dot(tile.first, known_.strides)) *
                                static_cast<std::int64_t>(bytes_of_element());
  }

  // A tile of this host: most elements that a program names are in the tile of the one before, and for them neither
  // divisions nor the directory are needed. Another takes its place when two accesses outside of it go there one
  // after the other, so that random accesses to many tiles seldom pay for that.
  struct known_tile {
    position<N> first;
    position<N> extents;  // without padding; zeros: none is known
    position<N> strides;
    std::byte* memory = nullptr;  // of its first element
  };
  known_tile known_;
  position<N> last_tile_ = position<N>::all(-1);  // that find was asked for
  const std::string_view name_of_type_;
  const layout<N> layout_;
  std::vector<std::unique_ptr<halo_plan<N>>> plans_;  // one for each width that was used
};

// Errors of handles and pointers.
[[noreturn]] void report_nameless();
[[noreturn]] void report_unknown(array_id id);
/// A handle names an array that this PE knows with another shape.
[[noreturn]] void report_other_shape(const local_array& known, const array_shape& named);
[[noreturn]] void report_other_type(const local_array& known, std::string_view type, int dimensions);
[[noreturn]] void report_outside(const local_array& array, std::int64_t number);
[[noreturn]] void report_remote_cast(const local_array& array, std::int64_t number, int owner);

/// The shape that layouts of this job get.
machine_shape machine_of_job();

/// The arrays of the calling PE.
array_id next_id_of_all();
array_id next_own_id();
/// Null: not met yet.
std::shared_ptr<local_array> find_array(array_id id);
bool was_freed(array_id id);
/// Enters an array that this PE has met: made here, or named by a handle that has come in a message.
void enter_array(const std::shared_ptr<local_array>& array);
/// Allocates this PE's piece, zeroed, shows it to the PEs of the host, and runs the requests that wait for it.
/// Nothing if it has made it.
void make_piece(local_array& array);
/// The same of an array that the program makes: when it throws, this PE knows the array as freed, so that requests for
/// the piece fail and do not wait for it.
void make_piece_or_free(local_array& array);

}  // namespace tri::arrays

#pragma GCC visibility pop
