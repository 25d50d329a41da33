#include "mpi/datatypes/layout/datatype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "mpi/datatypes/layout/checked.hpp"

namespace tri::mpi {
namespace {

std::uint64_t count_of(std::int64_t value, const char* what) {
  if (value < 0) throw std::invalid_argument(fmt::format("{} is {}; it must be 0 or more", what, value));
  return static_cast<std::uint64_t>(value);
}

void expect_as_many(std::size_t displacements, std::size_t lengths) {
  if (displacements != lengths)
    throw std::invalid_argument(
        fmt::format("there are {} displacements for {} block lengths; there must be as many", displacements, lengths));
}

struct first_and_last {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Of `count` copies at one distance, the first of them at 0.
first_and_last span_of(std::uint64_t count, std::int64_t stride) {
  if (count == 0) return {};
  const std::int64_t end = checked::multiply(checked::factor(count - 1), stride);
  return {std::min<std::int64_t>(0, end), std::max<std::int64_t>(0, end)};
}

}  // namespace

class datatype::bounds_union {
 public:
  void add(const bounds& part, std::int64_t first, std::int64_t last) {
    if (!part.any) return;
    lower_.add(checked::add(part.lower, first), part.lower_marked, std::less<>());
    upper_.add(checked::add(part.upper, last), part.upper_marked, std::greater<>());
  }
  void add_lower_marker(std::int64_t at) { lower_.add(at, true, std::less<>()); }
  void add_upper_marker(std::int64_t at) { upper_.add(at, true, std::greater<>()); }

  /// Without an upper marker the extent is what keeps an array of the type aligned.
  bounds result(std::uint32_t alignment) const {
    bounds made;
    made.any = lower_.any || upper_.any;
    made.lower = lower_.any ? lower_.value : std::min<std::int64_t>(0, upper_.value);
    made.upper = upper_.any ? upper_.value : made.lower;
    made.lower_marked = lower_.marked;
    made.upper_marked = upper_.marked;
    const std::int64_t excess = checked::subtract(made.upper, made.lower) % static_cast<std::int64_t>(alignment);
    if (!made.upper_marked && excess > 0)
      made.upper = checked::add(made.upper, static_cast<std::int64_t>(alignment) - excess);
    return made;
  }

 private:
  struct bound {
    std::int64_t value = 0;
    bool any = false;
    bool marked = false;
    // Markers take precedence over bytes, however far out those are.
    template <class Better>
    void add(std::int64_t candidate, bool is_marked, Better better) {
      if (any && marked && !is_marked) return;
      if (!any || (is_marked && !marked) || better(candidate, value)) value = candidate;
      any = true;
      marked = marked || is_marked;
    }
  };
  bound lower_;
  bound upper_;
};

datatype::datatype(placed_shape shape, shared_signature elements, const bounds& where, std::uint32_t alignment)
    : shape_(std::move(shape)), signature_(std::move(elements)), bounds_(where), alignment_(alignment) {}

datatype datatype::copies(placed_shape shape, std::uint64_t instances, std::int64_t first, std::int64_t last,
                          const datatype& old) {
  bounds_union all;
  if (instances > 0) all.add(old.bounds_, first, last);
  return {std::move(shape), repeated(instances, old.signature_), all.result(old.alignment_), old.alignment_};
}

std::int64_t datatype::true_lower_bound() const { return shape_.empty() ? 0 : shape_.displacement + shape_.body->low; }
std::int64_t datatype::true_extent() const { return shape_.empty() ? 0 : shape_.body->high - shape_.body->low; }

datatype datatype::basic(element_kind kind) {
  if (kind >= element_kind::mixed) throw std::invalid_argument("'mixed' is not a kind of element");
  const element_facts& facts = facts_of(kind);
  bounds where;
  where.upper = facts.bytes;
  where.any = true;
  return {block_at(0, facts.bytes), run_of(kind, 1), where, facts.alignment};
}

// A single marker has a bound on one side only; `structure` gives that side to what contains it.
datatype datatype::lower_marker() {
  bounds where;
  where.lower_marked = true;
  return {{}, nullptr, where, 1};
}
datatype datatype::upper_marker() {
  bounds where;
  where.upper_marked = true;
  return {{}, nullptr, where, 1};
}

datatype datatype::contiguous(std::int64_t count, const datatype& old) { return hvector(count, 1, old.extent(), old); }

datatype datatype::vector(std::int64_t count, std::int64_t block_length, std::int64_t stride, const datatype& old) {
  return hvector(count, block_length, checked::multiply(stride, old.extent()), old);
}

datatype datatype::hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride_bytes,
                           const datatype& old) {
  const std::uint64_t blocks = count_of(count, "the count of a vector");
  const std::uint64_t length = count_of(block_length, "the block length of a vector");
  const first_and_last of_blocks = span_of(blocks, stride_bytes), inside = span_of(length, old.extent());
  return copies(repeated(blocks, stride_bytes, repeated(length, old.extent(), old.shape_)),
                checked::multiply_sizes(blocks, length), checked::add(of_blocks.first, inside.first),
                checked::add(of_blocks.last, inside.last), old);
}

datatype datatype::indexed(counts block_lengths, counts displacements, const datatype& old) {
  std::vector<std::int64_t> bytes;
  bytes.reserve(displacements.size());
  for (const std::int64_t displacement : displacements) bytes.push_back(checked::multiply(displacement, old.extent()));
  return hindexed(block_lengths, bytes, old);
}

datatype datatype::hindexed(counts block_lengths, counts displacements_bytes, const datatype& old) {
  expect_as_many(displacements_bytes.size(), block_lengths.size());
  std::vector<std::uint64_t> lengths;
  lengths.reserve(block_lengths.size());
  std::uint64_t instances = 0;
  first_and_last all;
  for (std::size_t i = 0; i < block_lengths.size(); ++i) {
    lengths.push_back(count_of(block_lengths[i], "a block length of an indexed type"));
    if (lengths[i] == 0) continue;
    const first_and_last inside = span_of(lengths[i], old.extent());
    const std::int64_t first = checked::add(displacements_bytes[i], inside.first);
    const std::int64_t last = checked::add(displacements_bytes[i], inside.last);
    all = instances == 0 ? first_and_last{first, last}
                         : first_and_last{std::min(all.first, first), std::max(all.last, last)};
    instances = checked::add_sizes(instances, lengths[i]);
  }
  return copies(
      in_runs({displacements_bytes.begin(), displacements_bytes.end()}, std::move(lengths), old.extent(), old.shape_),
      instances, all.first, all.last, old);
}

datatype datatype::indexed_block(std::int64_t block_length, counts displacements, const datatype& old) {
  return indexed(std::vector<std::int64_t>(displacements.size(), block_length), displacements, old);
}

datatype datatype::hindexed_block(std::int64_t block_length, counts displacements_bytes, const datatype& old) {
  return hindexed(std::vector<std::int64_t>(displacements_bytes.size(), block_length), displacements_bytes, old);
}

datatype datatype::structure(counts block_lengths, counts displacements_bytes, std::span<const datatype> types) {
  expect_as_many(displacements_bytes.size(), block_lengths.size());
  if (types.size() != block_lengths.size())
    throw std::invalid_argument(fmt::format("there are {} types for {} block lengths; there must be as many",
                                            types.size(), block_lengths.size()));
  std::vector<placed_shape> shapes;
  std::vector<shared_signature> signatures;
  bounds_union all;
  std::uint32_t alignment = 1;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::uint64_t length = count_of(block_lengths[i], "a block length of a struct");
    if (length == 0) continue;
    const datatype& old = types[i];
    const std::int64_t displacement = displacements_bytes[i];
    alignment = std::max(alignment, old.alignment_);
    if (!old.bounds_.any) {
      if (old.bounds_.lower_marked) all.add_lower_marker(displacement);
      if (old.bounds_.upper_marked) all.add_upper_marker(displacement);
      continue;
    }
    const first_and_last inside = span_of(length, old.extent());
    all.add(old.bounds_, checked::add(displacement, inside.first), checked::add(displacement, inside.last));
    shapes.push_back(moved(repeated(length, old.extent(), old.shape_), displacement));
    signatures.push_back(repeated(length, old.signature_));
  }
  return {in_sequence(std::move(shapes)), in_sequence(signatures), all.result(alignment), alignment};
}

datatype datatype::resized(const datatype& old, std::int64_t lower_bound, std::int64_t extent) {
  datatype made = old.with_bounds(lower_bound, extent);
  made.bounds_.any = made.bounds_.lower_marked = made.bounds_.upper_marked = true;
  return made;
}

datatype datatype::with_bounds(std::int64_t lower_bound, std::int64_t extent) const {
  datatype made = *this;
  made.bounds_.lower = lower_bound;
  made.bounds_.upper = checked::add(lower_bound, extent);
  return made;
}

}  // namespace tri::mpi
