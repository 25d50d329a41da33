// Sections: boxes of elements, copied where they are directly accessible, packed into one message for each PE that has
// a part elsewhere; large parts into several, so that one is packed while another travels and a third is unpacked.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trireme/buffer.hpp"
#include "trireme/detail/arrays/copy_box.hpp"
#include "trireme/detail/arrays/requests.hpp"
#include "trireme/future.hpp"
#include "trireme/run.hpp"

#pragma GCC visibility push(default)

namespace tri::arrays {

/// Ends the job when a section has come with another number of bytes than its region has.
void check_length(std::size_t come, std::size_t expected);

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
/// What one message of a section carries at most, if elements are no larger: more would be packed, sent and unpacked
/// one after the other, and be held in memory meanwhile.
constexpr std::size_t most_bytes_of_message = std::size_t{256} << 10;

/// Calls f(part) for the boxes that together hold the part of a section on one PE, each for a message of its own.
template <int N, class F>
void for_each_message(const layout<N>& where, const region<N>& box, std::int32_t pe, std::size_t bytes_of_element,
                      F&& f) {
  const std::size_t bytes = bytes_of_section(where, box, pe, bytes_of_element);
  if (bytes == 0) return;
  const position<N> extents = box.extents();
  int d = 0;
  while (d < N && extents[d] == 1) ++d;
  if (bytes <= most_bytes_of_message || d == N) return f(box);
  region<N> before = box, behind = box;  // cut between two tiles, if there are several
  std::int64_t cut = box.first[d] + extents[d] / 2;
  const std::int64_t tile = where.tile()[d], at_tile = cut / tile * tile;
  if (at_tile > box.first[d])
    cut = at_tile;
  else if (at_tile + tile < box.last[d])
    cut = at_tile + tile;
  before.last[d] = behind.first[d] = cut;
  for_each_message(where, before, pe, bytes_of_element, f);
  for_each_message(where, behind, pe, bytes_of_element, f);
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

/// The part of a section on one PE as runs of bytes that lie without gaps there and here, for direct accesses.
class section_runs {
 public:
  /// `local`: of the first element of the section, row by row.
  template <int N>
  section_runs(const layout<N>& where, const region<N>& box, std::int32_t pe, std::size_t bytes_of_element,
               std::byte* local) {
    const position<N> strides = row_major_strides(box.extents());
    where.for_each_piece(box, [&](const tile_piece<N>& part) {
      if (part.pe == pe && !are_too_many_) add(part, strides, where.strides_in_tile(), bytes_of_element, local);
    });
  }
  /// There are more than direct accesses are worth.
  bool are_too_many() const { return are_too_many_; }
  std::span<const direct_run> all() const { return {runs_.data(), count_}; }

 private:
  template <int N>
  void add(const tile_piece<N>& part, const position<N>& strides, const position<N>& strides_there,
           std::size_t bytes_of_element, std::byte* local) {
    const auto size = static_cast<std::int64_t>(bytes_of_element);
    std::int64_t run = part.extents[N - 1];
    int outer = N - 1;  // dimensions between whose elements there are gaps
    while (outer > 0 && strides[outer - 1] == run && strides_there[outer - 1] == run) run *= part.extents[--outer];
    if (run == 0 || part.extents.volume() / run > static_cast<std::int64_t>(most_direct_runs - count_)) {
      are_too_many_ = run != 0;
      return;
    }
    position<N> at;
    do
      runs_[count_++] = {static_cast<std::uint64_t>((part.offset + dot(at, strides_there)) * size),
                         local + (part.region_offset + dot(at, strides)) * size,
                         static_cast<std::uint64_t>(run * size)};
    while (next_position(at, part.extents, outer));
  }
  std::array<direct_run, most_direct_runs> runs_;
  std::size_t count_ = 0;
  bool are_too_many_ = false;
};

/// A section under way, on the PE that asked for it.
class section_transfer {
 public:
  explicit section_transfer(promise<void> done) : done_(done) {}
  section_transfer(const section_transfer&) = delete;
  section_transfer& operator=(const section_transfer&) = delete;
  virtual ~section_transfer() = default;
  /// The part with the number that went with its request, from a PE.
  virtual void unpack(std::int32_t pe, std::uint64_t part, const std::byte* bytes, std::size_t count) = 0;
  /// One answer more.
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

/// Enters it into the table of this PE; its number goes with the requests, with that of a part above it.
std::uint64_t add_transfer(std::unique_ptr<section_transfer> transfer);
constexpr int bits_of_transfer = 40;  // 2^24 parts: 4 TiB
/// The answers.
void take_section(std::uint64_t number, std::int32_t pe, buffer<std::byte> bytes);
void take_acknowledgement(std::uint64_t number, std::string fault);
/// Those where addresses are cached: they end the reading, and bring an address if there is one.
void take_section_and_address(std::uint64_t number, address_in_reply address, buffer<std::byte> bytes);
void take_fault_of_section(std::uint64_t number, std::string fault, std::int32_t pe);

template <int N>
class section_get final : public section_transfer {
 public:
  /// `array`: as any PE has it.
  section_get(promise<void> done, std::shared_ptr<const typed_array<N>> array, const region<N>& box, std::byte* to)
      : section_transfer(done), array_(std::move(array)), box_(box), to_(to) {}
  /// Asks a PE for its part, directly or by requests; one answer of it is expected already. `array`: as this PE has it.
  void ask(std::uint64_t number, std::int32_t pe, typed_array<N>& array);
  void unpack(std::int32_t pe, std::uint64_t part, const std::byte* bytes, std::size_t count) override {
    const std::size_t size = array_->bytes_of_element();
    const position<N> strides = row_major_strides(box_.extents());
    if (part >= parts_.size()) refuse("an answer has the number of no part of its section");
    const region<N>& band = parts_[part];
    const auto to = [&](const tile_piece<N>& piece) {
      const position<N> in_band = position_of(piece.region_offset, band.extents());
      return to_ + (dot(band.first, strides) - dot(box_.first, strides) + dot(in_band, strides)) *
                       static_cast<std::int64_t>(size);
    };
    unpack_section(array_->where(), band, pe, size, strides, to, bytes, count);
  }

 private:
  std::shared_ptr<const typed_array<N>> array_;
  region<N> box_;
  std::byte* to_;
  std::vector<region<N>> parts_;  // by their numbers
};

class section_put final : public section_transfer {
 public:
  using section_transfer::section_transfer;
  void unpack(std::int32_t, std::uint64_t, const std::byte*, std::size_t) override {}
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
buffer<std::byte> pack_own_part(const typed_array<N>& array, const region<N>& box, std::int32_t owner,
                                const std::byte* piece) {
  const auto size = array.bytes_of_element();
  const auto from = [&](const tile_piece<N>& part) { return piece + part.offset * static_cast<std::int64_t>(size); };
  return pack_section(array.where(), box, owner, size, array.where().strides_in_tile(), from);
}
template <int N>
void serve_section_get(asked_array id, std::int32_t source, region<N> box, std::uint64_t number) {
  const std::int32_t owner = sched::this_pe().serves();
  with_piece(id, source, [=](local_array* array, std::byte* piece, std::string fault) {
    const auto* const typed = as_typed<N>(array, box, fault);
    if (typed == nullptr) return tri::send<&take_acknowledgement>(source, number, std::move(fault));
    tri::send<&take_section>(source, number, owner, pack_own_part(*typed, box, owner, piece));
  });
}
template <int N>
void serve_section_get_with_address(asked_array id, std::int32_t source, region<N> box, std::uint64_t number,
                                    std::uint32_t chunk) {
  const std::int32_t owner = sched::this_pe().serves();
  with_piece(id, source, [=](local_array* array, std::byte* piece, std::string fault) {
    const auto* const typed = as_typed<N>(array, box, fault);
    if (typed == nullptr) return tri::send<&take_fault_of_section>(source, number, std::move(fault), owner);
    address_in_reply address = address_for(source, id.id, owner, chunk);
    address.pe = owner;
    tri::send<&take_section_and_address>(source, number, address, pack_own_part(*typed, box, owner, piece));
  });
}
template <int N>
void section_get<N>::ask(std::uint64_t number, std::int32_t pe, typed_array<N>& array) {
  std::uint32_t wanted = no_chunk;
  if (array.direct() != nullptr) {
    direct_attempt attempt;
    if (const section_runs runs(array.where(), box_, pe, array.bytes_of_element(), to_); !runs.are_too_many())
      attempt = begin_get(array, pe, runs.all(), [number] { take_acknowledgement(number, {}); });
    if (attempt.has_begun) return;
    wanted = attempt.wanted;
  }
  // On this host later stores could be direct, and overtake it.
  if (array.is_on_this_host(pe)) note_unfenced(pe);
  bool is_first = true;
  for_each_message(array.where(), box_, pe, array.bytes_of_element(), [&](const region<N>& band) {
    if (!std::exchange(is_first, false)) expect();
    const std::uint64_t part = number | std::uint64_t{parts_.size()} << bits_of_transfer;
    parts_.push_back(band);
    constexpr bool answer_is_large = true;
    if (array.direct() == nullptr) return request<&serve_section_get<N>, answer_is_large>(pe, array, band, part);
    request<&serve_section_get_with_address<N>, answer_is_large>(pe, array, band, part,
                                                                 std::exchange(wanted, no_chunk));
    note_reading(array, pe);
  });
}
/// Puts a part of a section directly; false: it takes a request.
template <int N>
bool put_section_directly(std::int32_t pe, typed_array<N>& array, const region<N>& box, const std::byte* from,
                          std::uint64_t number) {
  if (array.direct() == nullptr) return false;
  const section_runs runs(array.where(), box, pe, array.bytes_of_element(), const_cast<std::byte*>(from));
  if (runs.are_too_many()) return false;
  const direct_attempt attempt = begin_put(array, pe, runs.all(), [number] { take_acknowledgement(number, {}); });
  if (!attempt.has_begun) want_address_with_fence(array, pe, attempt.wanted);
  return attempt.has_begun;
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
