#include "arrays/array_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays/array_table.hpp"
#include "arrays/direct/direct_accesses.hpp"
#include "objects/checkpoint/pe_state.hpp"
#include "os/hash.hpp"
#include "trireme/archive.hpp"
#include "trireme/global_array.hpp"

namespace tri::arrays {
namespace {

using objects::archive_error;
using objects::input_archive;
using objects::output_archive;

// ---- which arrays there are

using restorable_type = std::pair<std::uint64_t, int>;  // digest of its name, dimensions
std::map<restorable_type, restore_function>& restorable_types() {
  static std::map<restorable_type, restore_function> all;
  return all;
}

struct described_array {
  array_id id = 0;
  std::uint64_t type = 0;
  array_shape shape;
};
struct freed_arrays {
  std::uint64_t partition = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// An array whose piece PE 0 has not made is known from a handle only.
void describe_arrays(output_archive& to) {
  const array_table& table = array_table::here();
  std::vector<described_array> arrays;
  for (const auto& each : table.all())
    if (each->own_piece() != nullptr) arrays.push_back({each->id(), each->type_digest(), each->shape()});
  std::vector<freed_arrays> freed;
  table.visit_freed([&](std::uint64_t partition, std::uint64_t first, std::uint64_t last) {
    freed.push_back({partition, first, last});
  });
  to(arrays, freed);
}

void create_arrays(input_archive& described) {
  std::vector<described_array> arrays;
  std::vector<freed_arrays> freed;
  described(arrays, freed);
  array_table& table = array_table::here();
  for (const freed_arrays& each : freed) {
    if (each.first < 1 || each.last < each.first || each.last != number_in_partition(each.last))
      throw archive_error(fmt::format("the freed arrays {} to {} of partition {}: no numbers of arrays", each.first,
                                      each.last, each.partition));
    table.freed_before(each.partition, each.first, each.last);
  }
  for (described_array& each : arrays) {
    if (each.shape.dimensions < 1 || each.shape.dimensions > most_array_dimensions)
      throw archive_error(fmt::format("{} has {} dimensions", describe(each.id), each.shape.dimensions));
    each.shape.type.back() = '\0';
    const auto found = restorable_types().find({each.type, each.shape.dimensions});
    if (found == restorable_types().end())
      throw archive_error(
          fmt::format("{} ({}) has a type that this program does not have", describe(each.id), describe(each.shape)));
    try {
      found->second(each.id, each.shape);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{} ({}) does not fit the PEs of this job: {}", describe(each.id),
                                              describe(each.shape), error.what()));
    }
  }
}

// ---- boxes of elements

constexpr std::int64_t most_bytes_of_box = 1 << 20;

/// A record: first and last position, then the elements.
class box_record {
 public:
  static std::size_t bytes_of_head(const local_array& of) {
    return 2 * static_cast<std::size_t>(of.dimensions()) * sizeof(std::int64_t);
  }
  static std::size_t bytes(const local_array& of, const std::int64_t* first, const std::int64_t* last) {
    return bytes_of_head(of) + elements(of, first, last) * of.bytes_of_element();
  }
  /// Returns where the elements belong.
  static std::byte* begin(const local_array& of, const std::int64_t* first, const std::int64_t* last, char* room) {
    const std::size_t half = bytes_of_head(of) / 2;
    std::memcpy(room, first, half);
    std::memcpy(room + half, last, half);
    return reinterpret_cast<std::byte*>(room + 2 * half);
  }

  /// Throws archive_error when it does not fit the array.
  box_record(const local_array& of, std::span<const char> record) {
    const std::size_t head = bytes_of_head(of);
    if (record.size() >= head) {
      std::memcpy(first_.data(), record.data(), head / 2);
      std::memcpy(last_.data(), record.data() + head / 2, head / 2);
    }
    if (record.size() < head || !of.contains_box(first(), last()) || record.size() != bytes(of, first(), last()))
      throw archive_error(
          fmt::format("a box of {} ({}) is none of its elements", describe(of.id()), describe(of.shape())));
    elements_ = reinterpret_cast<const std::byte*>(record.data() + head);
  }
  const std::int64_t* first() const { return first_.data(); }
  const std::int64_t* last() const { return last_.data(); }
  const std::byte* elements() const { return elements_; }

 private:
  static std::size_t elements(const local_array& of, const std::int64_t* first, const std::int64_t* last) {
    std::int64_t count = 1;
    for (int d = 0; d < of.dimensions(); ++d) count *= last[d] - first[d];
    return static_cast<std::size_t>(count);
  }
  array_shape::numbers first_{}, last_{};
  const std::byte* elements_ = nullptr;
};

void save_array(const local_array& array, checkpoint_files::state_writer& to) {
  const checkpoint_files::record_head head{objects::record_kind::array, 0, 0, array.id()};
  const auto most = most_bytes_of_box / static_cast<std::int64_t>(array.bytes_of_element());
  array.for_each_own_box(std::max<std::int64_t>(most, 1), [&](const std::int64_t* first, const std::int64_t* last) {
    objects::write_record(to, head, [&](output_archive& archive) {
      char* const room = archive.append(box_record::bytes(array, first, last));
      array.copy_from(first, last, box_record::begin(array, first, last, room));
    });
  });
}

void save_arrays(checkpoint_files::state_writer& to) {
  for (const auto& each : array_table::here().all())
    if (each->own_piece() != nullptr) save_array(*each, to);
}

std::shared_ptr<local_array> restored_array(array_id id) {
  std::shared_ptr<local_array> found = array_table::here().find(id);
  if (found == nullptr || found->own_piece() == nullptr)
    throw archive_error(fmt::format("a record is of {}, which does not exist", describe(id)));
  return found;
}

// A box of one tile of before may lie in several tiles now.
void place_box(std::uint64_t number, const std::vector<char>& record,
               os::function_ref<void(int pe, const std::vector<char>& part)> hand_on) {
  const std::shared_ptr<local_array> array = restored_array(number);
  const box_record box(*array, record);
  array->for_each_part(box.first(), box.last(),
                       [&](std::int32_t pe, const std::int64_t* first, const std::int64_t* last) {
                         if (std::equal(first, first + array->dimensions(), box.first()) &&
                             std::equal(last, last + array->dimensions(), box.last()))
                           return hand_on(pe, record);
                         std::vector<char> part(box_record::bytes(*array, first, last));
                         array->copy_part(box.first(), box.last(), box.elements(), first, last,
                                          box_record::begin(*array, first, last, part.data()));
                         hand_on(pe, part);
                       });
}

void take_box(std::uint64_t number, const char* part, std::size_t bytes) {
  const std::shared_ptr<local_array> array = restored_array(number);
  const box_record box(*array, {part, bytes});
  bool is_here = false;
  int parts = 0;
  array->for_each_part(box.first(), box.last(), [&](std::int32_t pe, const std::int64_t*, const std::int64_t*) {
    is_here = pe == array->home().number();
    ++parts;
  });
  if (!is_here || parts != 1)
    throw archive_error(fmt::format("a box of {} came to PE {}, which does not have it", describe(array->id()),
                                    array->home().number()));
  array->copy_to(box.first(), box.last(), box.elements());
}

// ---- numbers, and what cannot be written

std::string obstacle() {
  if (direct_accesses* const direct = direct_accesses::here()) direct->end_all();
  for (const auto& each : array_table::here().all())
    if (each->own_piece() != nullptr && each->has_halos() && !each->halos().are_complete())
      return fmt::format("an exchange of the halo of {} is not complete on PE {}", describe(each->id()),
                         each->home().number());
  return obstacle_of_locks();
}

std::uint64_t digest_of_names() {
  array_table& table = array_table::here();
  std::uint64_t digest = os::hashed_word(os::hash_of_nothing, table.ids().made_by_all());
  digest = os::hashed_word(digest, ids_of_locks().made_by_all());
  for (const auto& each : table.all())
    if (each->own_piece() != nullptr) digest = os::hashed_word(digest, each->id());
  return digest;
}

std::uint64_t last_number() { return std::max(array_table::here().ids().last(), ids_of_locks().last()); }

void begin_behind(std::uint64_t number) {
  array_table::here().ids().begin_behind(number);
  ids_of_locks().begin_behind(number);
}

constexpr objects::array_states states{.obstacle = obstacle,
                                       .last_number = last_number,
                                       .digest = digest_of_names,
                                       .describe = describe_arrays,
                                       .save = save_arrays,
                                       .begin_behind = begin_behind,
                                       .create = create_arrays,
                                       .place = place_box,
                                       .take = take_box};

}  // namespace

bool register_states() { return objects::register_array_states(&states); }

bool register_restorable(std::uint64_t type, int dimensions, restore_function restore) {
  restorable_types()[{type, dimensions}] = restore;
  return register_states();
}

}  // namespace tri::arrays
