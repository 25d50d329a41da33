// Random nested datatypes: whatever layouts do is compared, byte by byte, with the type map entry by entry.
// A failure prints the seed and the description of the type.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "mpi/datatypes/layout/cursor.hpp"
#include "mpi/datatypes/layout/element_count.hpp"
#include "mpi/datatypes/layout/layout_encoder.hpp"
#include "mpi/datatypes/layout/memory_segments.hpp"
#include "mpi/datatypes/layout/transfer.hpp"
#include "mpi/datatypes/random_type.hpp"
#include "mpi/datatypes/type_map.hpp"

namespace {

using namespace tri::mpi;
using namespace tri::mpi::test_types;

// A type in all its forms.
struct subject {
  type_description description;
  type_map map;
  owned_layout flat;
  std::uint64_t count;

  subject(type_description what, std::uint64_t instances)
      : description(std::move(what)), map(map_of(description)), flat(encode(build(description))), count(instances) {}
  std::uint64_t bytes() const { return count * map.size(); }
  std::string text() const { return std::to_string(count) + " of " + to_text(description); }
  typed_buffer in(instance_memory& memory) const { return {flat.get(), count, memory.base()}; }
};

subject random_subject(random_types& random, const random_types::limits& within = {}) {
  type_description what = random.type(within);
  return {std::move(what), static_cast<std::uint64_t>(random.once_in(3) ? 1 : random.between(0, 9))};
}

subject moved_subject(const subject& what, random_types& random) {
  type_description elsewhere;
  elsewhere.made_by = constructor::hindexed_block;
  elsewhere.block_length = 1;
  elsewhere.displacements = {random.between(-300, 300)};
  elsewhere.old = {what.description};
  if (random.once_in(2)) return {what.description, what.count};
  return {elsewhere, random.once_in(4) ? what.count + 1 : what.count};
}

// Ranges that together are the stream, in order.
std::vector<std::uint64_t> random_cuts(random_types& random, std::uint64_t bytes) {
  std::vector<std::uint64_t> cuts = {0};
  const std::int64_t typical = random.between(1, static_cast<std::int64_t>(bytes / 2 + 1));
  while (cuts.back() < bytes)
    cuts.push_back(
        std::min<std::uint64_t>(bytes, cuts.back() + static_cast<std::uint64_t>(random.between(1, typical))));
  return cuts;
}

// What is asked of the packer is all that it writes.
std::vector<std::byte> pack_range(const typed_buffer& from, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> packed(bytes + 32, std::byte{0xa5});
  pack(from, offset, bytes, packed.data() + 16);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(packed[i], std::byte{0xa5});
    EXPECT_EQ(packed[bytes + 16 + i], std::byte{0xa5});
  }
  return {packed.begin() + 16, packed.end() - 16};
}

class random_layouts : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(seeds, random_layouts, testing::Range(0, 20));
constexpr int types_per_seed = 120;

TEST_P(random_layouts, know_size_bounds_and_contiguity) {
  random_types random(static_cast<std::uint64_t>(GetParam()));
  for (int i = 0; i < types_per_seed; ++i) {
    const subject one = random_subject(random);
    SCOPED_TRACE(one.text());
    const layout& flat = *one.flat;
    EXPECT_EQ(flat.size, one.map.size());
    EXPECT_EQ(flat.elements, one.map.entries.size());
    EXPECT_EQ(flat.lower_bound, one.map.lower);
    EXPECT_EQ(flat.extent, one.map.extent());
    EXPECT_EQ(flat.true_lower_bound, one.map.true_lower());
    EXPECT_EQ(flat.true_extent, one.map.true_upper() - one.map.true_lower());
    EXPECT_EQ(flat.alignment, one.map.alignment);
    bool contiguous = true;
    std::int64_t next = 0;
    for_each_byte(one.map, one.count, [&](std::uint64_t offset, std::int64_t place) {
      contiguous = contiguous && (offset == 0 || place == next);
      next = place + 1;
    });
    EXPECT_TRUE(one.count == 0 || flat.contiguous(one.count) == contiguous);
    EXPECT_EQ(layout_at(&flat, one.flat.bytes()), &flat);
    if (testing::Test::HasFailure()) return;
  }
}

TEST_P(random_layouts, pack_any_range) {
  random_types random(static_cast<std::uint64_t>(GetParam()) + 1000);
  for (int i = 0; i < types_per_seed; ++i) {
    const subject one = random_subject(random);
    SCOPED_TRACE(one.text());
    instance_memory memory(one.map, one.count, random.next());
    const std::vector<std::byte> expected = pack_naively(one.map, one.count, memory);
    ASSERT_EQ(pack_range(one.in(memory), 0, one.bytes()), expected);
    if (one.bytes() <= 96) {
      for (std::uint64_t begin = 0; begin <= one.bytes(); ++begin)
        for (std::uint64_t end = begin; end <= one.bytes(); ++end)
          ASSERT_EQ(pack_range(one.in(memory), begin, end - begin),
                    (std::vector<std::byte>(expected.begin() + static_cast<std::ptrdiff_t>(begin),
                                            expected.begin() + static_cast<std::ptrdiff_t>(end))))
              << begin << " to " << end;
    }
    const std::vector<std::uint64_t> cuts = random_cuts(random, one.bytes());
    for (std::size_t k = 1; k < cuts.size(); ++k)
      ASSERT_EQ(pack_range(one.in(memory), cuts[k - 1], cuts[k] - cuts[k - 1]),
                (std::vector<std::byte>(expected.begin() + static_cast<std::ptrdiff_t>(cuts[k - 1]),
                                        expected.begin() + static_cast<std::ptrdiff_t>(cuts[k]))))
          << cuts[k - 1] << " to " << cuts[k];
  }
}

TEST_P(random_layouts, unpack_any_range_and_touch_nothing_else) {
  random_types random(static_cast<std::uint64_t>(GetParam()) + 2000);
  for (int i = 0; i < types_per_seed; ++i) {
    const subject one = random_subject(random);
    SCOPED_TRACE(one.text());
    const std::uint64_t contents = random.next();
    instance_memory memory(one.map, one.count, contents), expected(one.map, one.count, contents);
    std::vector<std::byte> packed(one.bytes());
    for (std::byte& value : packed) value = static_cast<std::byte>(random.next() >> 56);
    const std::vector<std::uint64_t> cuts = random_cuts(random, one.bytes());
    for (std::size_t k = 1; k < cuts.size(); ++k) {
      const std::uint64_t begin = cuts[k - 1], bytes = cuts[k] - begin;
      unpack(one.in(memory), begin, bytes, packed.data() + begin);
      if (k > 8) continue;
      unpack_naively(one.map, one.count, begin, bytes, packed.data() + begin, expected);
      ASSERT_EQ(memory.bytes(), expected.bytes()) << begin << " to " << cuts[k];
    }
    unpack_naively(one.map, one.count, 0, one.bytes(), packed.data(), expected);
    ASSERT_EQ(memory.bytes(), expected.bytes());
    for (std::byte& value : packed) value = static_cast<std::byte>(random.next() >> 56);
    unpack(one.in(memory), 0, one.bytes(), packed.data());
    unpack_naively(one.map, one.count, 0, one.bytes(), packed.data(), expected);
    ASSERT_EQ(memory.bytes(), expected.bytes());
  }
}

TEST_P(random_layouts, copy_from_any_type_to_any_other) {
  random_types random(static_cast<std::uint64_t>(GetParam()) + 3000);
  for (int i = 0; i < types_per_seed; ++i) {
    const subject from = random_subject(random);
    // Often the same type, or the same somewhere else.
    const subject to = random.once_in(2) ? random_subject(random) : moved_subject(from, random);
    SCOPED_TRACE(from.text() + "\n  to " + to.text());
    const std::uint64_t contents = random.next(), bytes = std::min(from.bytes(), to.bytes());
    instance_memory source(from.map, from.count, random.next());
    instance_memory target(to.map, to.count, contents), expected(to.map, to.count, contents);
    const std::vector<std::byte> packed = pack_naively(from.map, from.count, source);
    const std::vector<std::uint64_t> cuts =
        random.once_in(2) ? random_cuts(random, bytes) : std::vector{std::uint64_t{0}, bytes};
    for (std::size_t k = 1; k < cuts.size(); ++k)
      copy(from.in(source), to.in(target), cuts[k - 1], cuts[k] - cuts[k - 1]);
    unpack_naively(to.map, to.count, 0, bytes, packed.data(), expected);
    ASSERT_EQ(target.bytes(), expected.bytes());
  }
}

TEST_P(random_layouts, give_rows_that_are_the_stream) {
  random_types random(static_cast<std::uint64_t>(GetParam()) + 4000);
  for (int i = 0; i < types_per_seed; ++i) {
    const subject one = random_subject(random);
    SCOPED_TRACE(one.text());
    instance_memory memory(one.map, one.count, random.next());
    const std::uint64_t begin = static_cast<std::uint64_t>(random.between(0, static_cast<std::int64_t>(one.bytes())));
    std::vector<std::byte> found(begin);
    cursor where(*one.flat, one.count, memory.base(), begin);
    while (where.left() > 0) {
      portion row;
      const auto limit = static_cast<std::uint64_t>(random.between(1, 600));
      where.next_row(std::min(limit, where.left()), row);
      ASSERT_EQ(row.what, portion::form::grid);
      ASSERT_EQ(row.rows, 1u);
      ASSERT_LE(row.bytes, limit);
      ASSERT_EQ(row.bytes, row.columns * row.length);
      for (std::uint64_t k = 0; k < row.columns; ++k) {
        const auto* block =
            reinterpret_cast<const std::byte*>(row.place + k * static_cast<std::uintptr_t>(row.column_stride));
        found.insert(found.end(), block, block + row.length);
      }
    }
    std::vector<std::byte> expected = pack_naively(one.map, one.count, memory);
    std::fill(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(begin), std::byte{});
    ASSERT_EQ(found, expected);
  }
}

TEST_P(random_layouts, give_segments_that_are_the_stream) {
  random_types random(static_cast<std::uint64_t>(GetParam()) + 4500);
  for (int i = 0; i < types_per_seed; ++i) {
    const subject one = random_subject(random);
    SCOPED_TRACE(one.text());
    instance_memory memory(one.map, one.count, random.next());
    const auto begin = static_cast<std::uint64_t>(random.between(0, static_cast<std::int64_t>(one.bytes())));
    const auto bytes = static_cast<std::uint64_t>(random.between(0, static_cast<std::int64_t>(one.bytes() - begin)));
    memory_segments segments(one.in(memory), begin, bytes);
    std::vector<std::byte> found;
    std::vector<iovec> some(static_cast<std::size_t>(random.between(1, 20)));
    const auto limit = static_cast<std::uint64_t>(random.between(1, 3000));
    while (segments.left() > 0) {
      const std::uint64_t before = segments.left();
      const std::size_t number = segments.next(some, limit);
      ASSERT_GT(number, 0u);
      std::uint64_t moved = 0;
      for (std::size_t k = 0; k < number; ++k) {
        const auto* segment = static_cast<const std::byte*>(some[k].iov_base);
        found.insert(found.end(), segment, segment + some[k].iov_len);
        moved += some[k].iov_len;
        ASSERT_TRUE(k == 0 || static_cast<const std::byte*>(some[k - 1].iov_base) + some[k - 1].iov_len != segment);
      }
      ASSERT_LE(moved, limit);
      ASSERT_EQ(before - segments.left(), moved);
    }
    EXPECT_EQ(segments.next(some, limit), 0u);
    const std::vector<std::byte> all = pack_naively(one.map, one.count, memory);
    ASSERT_EQ(found, (std::vector<std::byte>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                             all.begin() + static_cast<std::ptrdiff_t>(begin + bytes))));
  }
}

TEST_P(random_layouts, count_elements) {
  random_types random(static_cast<std::uint64_t>(GetParam()) + 5000);
  for (int i = 0; i < types_per_seed; ++i) {
    const subject one = random_subject(random, {.entries = 300});
    SCOPED_TRACE(one.text());
    const layout& flat = *one.flat;
    std::vector<element_kind> kinds;
    for (std::uint64_t k = 0; k < one.count; ++k)
      for (const type_map::entry& entry : one.map.entries) kinds.push_back(entry.kind);
    sequence_hash hash;
    std::uint64_t offset = 0;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::uint32_t size = facts_of(kinds[k]).bytes;
      ASSERT_EQ(bytes_of_elements(flat, one.count, k), offset);
      ASSERT_EQ(signature_of_first(flat, one.count, k), hash) << k;
      for (std::uint32_t byte = 0; byte < size; ++byte) {
        const element_position found = elements_in(flat, one.count, offset + byte);
        ASSERT_EQ(found.elements, k);
        ASSERT_EQ(found.remainder, byte);
        ASSERT_EQ(element_start(flat, one.count, offset + byte), offset);
        const element_run run = run_at(flat, one.count, offset + byte);
        ASSERT_EQ(run.kind, kinds[k]);
        ASSERT_EQ(run.in_element, byte);
        ASSERT_EQ((run.bytes + byte) % size, 0u);
        for (std::size_t next = 0; next < (run.bytes + byte) / size; ++next) ASSERT_EQ(kinds.at(k + next), run.kind);
      }
      hash = joined(hash, hash_of(kinds[k]));
      offset += size;
    }
    EXPECT_EQ(elements_in(flat, one.count, one.bytes()).elements, kinds.size());
    EXPECT_EQ(elements_in(flat, one.count, one.bytes() + 3).remainder, 3u);
    EXPECT_EQ(signature_of_first(flat, one.count, kinds.size()), hash);
    const bool uniform = std::all_of(kinds.begin(), kinds.end(), [&](element_kind kind) { return kind == kinds[0]; });
    EXPECT_TRUE(kinds.empty() || flat.kind == (uniform ? kinds[0] : element_kind::mixed));

    const subject other = random_subject(random, {.depth = 2, .entries = 300});
    std::vector<element_kind> received;
    for (std::uint64_t k = 0; k < other.count; ++k)
      for (const type_map::entry& entry : other.map.entries) received.push_back(entry.kind);
    const bool matches = kinds.size() <= received.size() && std::equal(kinds.begin(), kinds.end(), received.begin());
    EXPECT_EQ(may_receive(flat, one.count, *other.flat, other.count), matches) << other.text();
    EXPECT_TRUE(may_receive(flat, one.count, flat, one.count + 1));
    if (testing::Test::HasFailure()) return;
  }
}

// Layouts are bytes: they work wherever they are copied, and a damaged one is refused or stays inside itself.
TEST_P(random_layouts, can_be_copied_and_checked) {
  random_types random(static_cast<std::uint64_t>(GetParam()) + 6000);
  for (int i = 0; i < types_per_seed; ++i) {
    const subject one = random_subject(random, {.entries = 500});
    SCOPED_TRACE(one.text());
    instance_memory memory(one.map, one.count, random.next());
    std::vector<std::uint64_t> words(one.flat.bytes() / 8);
    std::memcpy(words.data(), one.flat.get(), one.flat.bytes());
    for (std::uint64_t shorter = 0; shorter < one.flat.bytes(); shorter += 8)
      ASSERT_EQ(layout_at(words.data(), shorter), nullptr);
    const layout* copied = layout_at(words.data(), one.flat.bytes());
    ASSERT_NE(copied, nullptr);
    std::vector<std::byte> packed(one.bytes());
    pack({copied, one.count, memory.base()}, 0, one.bytes(), packed.data());
    EXPECT_EQ(packed, pack_naively(one.map, one.count, memory));
    for (int k = 0; k < 50; ++k) {
      std::vector<std::uint64_t> damaged = words;
      damaged[static_cast<std::size_t>(random.between(1, static_cast<std::int64_t>(words.size()) - 1))] =
          random.once_in(2) ? random.next() : static_cast<std::uint64_t>(random.between(0, 400));
      layout_at(damaged.data(), one.flat.bytes());  // must not leave the bytes (address sanitizer)
    }
  }
}

}  // namespace
