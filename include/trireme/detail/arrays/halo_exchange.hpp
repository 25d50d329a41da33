// Ghost cells, in two ways. Those of an exchange are filled by the PEs that have the elements: each sends one message
// to each neighbouring PE. The message of a PE that is ahead waits until the receiver begins the same exchange, so that
// the ghost cells keep their values while the receiver still uses them. No barrier is needed, before or after. Those
// that a PE fetches need no call by others: a request to each neighbouring PE of another host and an answer, and
// barriers of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/buffer.hpp"
#include "trireme/detail/arrays/halo_plan.hpp"
#include "trireme/detail/arrays/requests.hpp"
#include "trireme/detail/arrays/sections.hpp"
#include "trireme/detail/os/unique_function.hpp"

#pragma GCC visibility push(default)

namespace tri::arrays {

/// The exchanges of one array on one PE: they are counted, and those with one number belong together. Several may be
/// under way. No I/O; used by its PE's thread.
class halo_exchanges {
 public:
  using taker = os::unique_function<void(std::int32_t pe, const buffer<std::byte>& cells)>;
  /// Without a fault the text is empty.
  using ending = os::unique_function<void(std::string_view fault)>;
  /// The next exchange; returns its number. `take` gets the cells of each neighbour, those that came early at once;
  /// then `done` runs.
  std::uint64_t begin(std::size_t neighbours, taker take, ending done);
  /// The cells of a neighbour have come. False: that exchange has ended.
  bool arrive(std::uint64_t number, std::int32_t pe, buffer<std::byte> cells);
  /// Those under way end with this fault: the array is no more.
  void end_all(std::string_view fault);
  /// None is under way, and no neighbour has sent cells for one that is to come.
  bool are_complete() const { return under_way_.empty() && early_.empty(); }
  /// Neighbours that the oldest exchange under way waits for; 0: none is under way.
  std::size_t missing() const { return under_way_.empty() ? 0 : under_way_.front().missing; }

 private:
  struct early {
    std::int32_t pe;
    buffer<std::byte> cells;
  };
  struct exchange {
    std::uint64_t number;
    std::size_t missing;
    taker take;
    ending done;
  };

  std::uint64_t begun_ = 0;
  std::deque<exchange> under_way_;
  std::map<std::uint64_t, std::vector<early>> early_;  // by number
};

/// The message. An array that has not been made here yet, or that is another one, is handled as by requests; cells for
/// one that was freed are dropped.
void take_halo(asked_array id, std::int32_t source, std::uint64_t number, buffer<std::byte> cells);
/// Ends the job when cells of another width have come.
void check_halo_length(const local_array& array, std::int32_t pe, std::size_t come, std::size_t expected);

/// The parts of a message with ghost cells, one behind the other: calls f(part, bytes before it), returns the bytes.
template <int N, class F>
std::size_t for_each_part(const std::vector<halo_part<N>>& parts, std::size_t bytes_of_element, F&& f) {
  std::size_t before = 0;
  for (const halo_part<N>& part : parts) {
    f(part, before);
    before += static_cast<std::size_t>(part.extents.volume()) * bytes_of_element;
  }
  return before;
}

template <int N>
bool lie_in_piece(const layout<N>& where, std::int32_t pe, const std::vector<halo_part<N>>& parts) {
  const std::int64_t elements = where.elements_on(pe);
  return std::ranges::all_of(parts, [&](const halo_part<N>& part) {
    position<N> last = part.extents;
    for (int d = 0; d < N; ++d)
      if (--last[d] < 0 || last[d] >= where.tile()[d]) return false;
    return part.there >= 0 && part.there < elements - dot(last, where.strides_in_tile());
  });
}

/// Elements that a PE fetches for its ghost cells. `parts`: as that PE has them; they may be from a faulty process.
template <int N>
void serve_halo_get(asked_array id, std::int32_t source, std::vector<halo_part<N>> parts, std::uint64_t number) {
  const std::int32_t owner = sched::this_pe().serves();
  with_piece(id, source, [=, parts = std::move(parts)](local_array* array, const std::byte* piece, std::string fault) {
    const auto* const typed = as_typed<N>(array, {}, fault);
    if (typed != nullptr && !lie_in_piece(typed->where(), owner, parts))
      fault = "ghost cells show elements outside of " + describe(id.id);
    if (!fault.empty()) return tri::send<&take_acknowledgement>(source, number, std::move(fault));
    const std::size_t size = array->bytes_of_element();
    const auto nothing = [](const halo_part<N>&, std::size_t) {};
    buffer<std::byte> cells(for_each_part(parts, size, nothing));
    for_each_part(parts, size, [&](const halo_part<N>& part, std::size_t before) {
      copy_box<N>(cells.data() + before, row_major_strides(part.extents),
                  piece + part.there * static_cast<std::int64_t>(size), typed->where().strides_in_tile(), part.extents,
                  size);
    });
    tri::send<&take_section>(source, number, owner, std::move(cells));
  });
}
/// Ghost cells that are being fetched. The array may be freed meanwhile.
template <int N>
class halo_get final : public section_transfer {
 public:
  /// `plan`: of the array.
  halo_get(promise<void> done, std::shared_ptr<typed_array<N>> array, const halo_plan<N>& plan)
      : section_transfer(done), array_(std::move(array)), plan_(plan) {}
  void unpack(std::int32_t pe, std::uint64_t, const std::byte* bytes, std::size_t count) override {
    if (array_->own_piece() == nullptr) return;  // freed
    const auto neighbour = std::ranges::find(plan_.neighbours, pe, &halo_plan<N>::neighbour::pe);
    const std::size_t size = array_->bytes_of_element();
    check_halo_length(*array_, pe, count, static_cast<std::size_t>(neighbour->elements_received) * size);
    for_each_part(neighbour->received, size, [&](const halo_part<N>& part, std::size_t before) {
      copy_box<N>(array_->own_piece() + part.offset * static_cast<std::int64_t>(size),
                  array_->where().strides_in_tile(), bytes + before, row_major_strides(part.extents), part.extents,
                  size);
    });
  }

 private:
  const std::shared_ptr<typed_array<N>> array_;
  const halo_plan<N>& plan_;
};

/// One side of an exchange.
template <int N>
void exchange_halo(typed_array<N>& array, const position<N>& widths, const promise<void>& done) {
  const halo_plan<N>& plan = array.plan_of_halo(widths);
  const position<N>& strides = array.where().strides_in_tile();
  const std::size_t size = array.bytes_of_element();
  std::byte* const piece = array.own_piece();
  const auto place = [piece, size](std::int64_t offset) { return piece + offset * static_cast<std::int64_t>(size); };
  for (const auto& part : plan.own)
    copy_box<N>(place(part.offset), strides, place(part.there), strides, part.extents, size);
  std::vector<buffer<std::byte>> messages;  // all before the first is sent: memory may end
  for (const auto& neighbour : plan.neighbours) {
    auto& cells = messages.emplace_back(static_cast<std::size_t>(neighbour.elements_sent) * size);
    std::byte* to = cells.data();
    for (const auto& part : neighbour.sent) {
      copy_box<N>(to, row_major_strides(part.extents), place(part.offset), strides, part.extents, size);
      to += part.extents.volume() * static_cast<std::int64_t>(size);
    }
  }
  const auto take = [&array, &plan, place, size](std::int32_t pe, const buffer<std::byte>& cells) {
    const auto neighbour = std::ranges::find(plan.neighbours, pe, &halo_plan<N>::neighbour::pe);
    const bool is_known = neighbour != plan.neighbours.end();
    check_halo_length(array, pe, cells.size(),
                      is_known ? static_cast<std::size_t>(neighbour->elements_received) * size : 0);
    if (!is_known) return;
    const std::byte* from = cells.data();
    for (const auto& part : neighbour->received) {
      copy_box<N>(place(part.offset), array.where().strides_in_tile(), from, row_major_strides(part.extents),
                  part.extents, size);
      from += part.extents.volume() * static_cast<std::int64_t>(size);
    }
  };
  const auto end = [done](std::string_view fault) { fault.empty() ? done.set() : done.fail(std::string(fault)); };
  const std::uint64_t number = array.halos().begin(plan.neighbours.size(), take, end);
  for (std::size_t i = 0; i < messages.size(); ++i)
    inform<&take_halo>(plan.neighbours[i].pe, array, number, std::move(messages[i]));
}

}  // namespace tri::arrays

#pragma GCC visibility pop
