// Layouts of shapes with known answers: what they are flattened to, where their bytes go, and what is refused.
#include "mpi/datatypes/layout/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "mpi/datatypes/layout/cursor.hpp"
#include "mpi/datatypes/layout/element_count.hpp"
#include "mpi/datatypes/layout/layout_encoder.hpp"
#include "mpi/datatypes/layout/transfer.hpp"

namespace {

using namespace tri::mpi;
using testing::ElementsAre;
using testing::HasSubstr;
using numbers = std::vector<std::int64_t>;

const datatype float64 = datatype::basic(element_kind::float64);
const datatype int32 = datatype::basic(element_kind::int32);
const datatype int8 = datatype::basic(element_kind::int8);

const layout_node& root_of(const owned_layout& flat) { return *flat->at<layout_node>(flat->root); }

std::vector<double> ascending(std::size_t elements) {
  std::vector<double> values(elements);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}
std::vector<double> packed(const datatype& type, std::uint64_t count, std::vector<double>& memory) {
  const owned_layout flat = encode(type);
  std::vector<double> out(count * flat->size / sizeof(double));
  pack({flat.get(), count, memory.data()}, 0, count * flat->size, out.data());
  return out;
}

template <class Error, class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(layouts, of_what_is_dense_are_one_block) {
  const datatype row = datatype::contiguous(50, float64);
  for (const datatype& dense :
       {float64, row, datatype::vector(3, 4, 4, float64), datatype::vector(7, 1, 1, row),
        datatype::indexed(numbers{2, 3, 1}, numbers{0, 2, 5}, float64),
        datatype::structure(numbers{1, 2, 1}, numbers{8, 16, 32}, std::vector{float64, float64, float64}),
        datatype::subarray(numbers{4, 5, 6}, numbers{4, 5, 6}, numbers{0, 0, 0}, array_order::c, float64),
        datatype::subarray(numbers{4, 5, 6}, numbers{2, 5, 6}, numbers{1, 0, 0}, array_order::c, float64),
        datatype::subarray(numbers{4, 5, 6}, numbers{4, 5, 2}, numbers{0, 0, 3}, array_order::fortran, float64)}) {
    const owned_layout flat = encode(dense);
    EXPECT_EQ(flat->blocks, 1u);
    EXPECT_TRUE(flat->contiguous(1));
    EXPECT_EQ(root_of(flat).kind, node_kind::grid);
    EXPECT_EQ(root_of(flat).length, flat->size);
  }
}

TEST(layouts, of_a_box_are_a_few_words) {
  const datatype box =
      datatype::subarray(numbers{60, 70, 80}, numbers{50, 50, 50}, numbers{1, 2, 3}, array_order::c, float64);
  const owned_layout flat = encode(box);
  EXPECT_EQ(flat.bytes(), sizeof(layout) + sizeof(layout_node) + sizeof(signature_node));
  EXPECT_EQ(flat->size, 50u * 50 * 50 * 8);
  EXPECT_EQ(flat->extent, 60 * 70 * 80 * 8);
  EXPECT_EQ(flat->lower_bound, 0);
  EXPECT_EQ(flat->true_lower_bound, ((1 * 70 + 2) * 80 + 3) * 8);
  EXPECT_EQ(flat->true_extent, ((49 * 70 + 49) * 80 + 50) * 8);
  EXPECT_EQ(flat->kind, element_kind::float64);
  EXPECT_EQ(flat->blocks, 2500u);
  EXPECT_EQ(flat->rows, 50u);
  const layout_node& grid = root_of(flat);
  EXPECT_EQ(grid.kind, node_kind::grid);
  EXPECT_EQ(grid.count, 50u);
  EXPECT_EQ(grid.stride, 70 * 80 * 8);
  EXPECT_EQ(grid.columns, 50u);
  EXPECT_EQ(grid.column_stride, 80 * 8);
  EXPECT_EQ(grid.length, 400u);
}

TEST(layouts, of_planes_are_one_loop_where_the_strides_allow_it) {
  // x = 3 of an array [z][y][x]: the distance from row to row goes on from plane to plane.
  const owned_layout flat =
      encode(datatype::subarray(numbers{20, 30, 40}, numbers{20, 30, 1}, numbers{0, 0, 3}, array_order::c, float64));
  EXPECT_EQ(flat->rows, 1u);
  EXPECT_EQ(root_of(flat).columns, 600u);
  EXPECT_EQ(root_of(flat).column_stride, 320);
}

TEST(layouts, find_the_regularity_of_lists) {
  numbers places(1000), lengths(1000, 2);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(5 * i);
  EXPECT_EQ(root_of(encode(datatype::indexed(lengths, places, float64))).columns, 1000u);
  EXPECT_EQ(root_of(encode(datatype::indexed_block(2, places, float64))).columns, 1000u);
  // Twice the same list is a loop around it.
  places[500] += 1;
  const datatype list = datatype::indexed_block(2, places, float64);
  EXPECT_EQ(root_of(encode(list)).kind, node_kind::list);
  EXPECT_EQ(root_of(encode(datatype::contiguous(2, list))).kind, node_kind::loop);
}

TEST(layouts, of_records_with_holes_move_many_at_a_time) {
  const datatype record = datatype::resized(
      datatype::structure(numbers{1, 1, 3}, numbers{0, 8, 13}, std::vector{float64, int32, int8}), 0, 24);
  const owned_layout one = encode(record);
  EXPECT_EQ(root_of(one).kind, node_kind::list);
  EXPECT_EQ(root_of(one).entries, 2u);  // the first two fields touch
  const owned_layout many = encode(datatype::contiguous(1000, record));
  EXPECT_EQ(root_of(many).kind, node_kind::comb);
  cursor where(*one, 1000, nullptr, 0);
  portion found;
  where.next(where.left(), found);
  EXPECT_EQ(found.what, portion::form::comb);
  EXPECT_EQ(found.rows, 1000u);
  EXPECT_EQ(where.left(), 0u);
}

TEST(layouts, an_array_of_what_has_a_gap_is_one_strided_portion) {
  const owned_layout flat = encode(datatype::resized(float64, 0, 24));
  EXPECT_TRUE(flat->contiguous(1));
  EXPECT_FALSE(flat->contiguous(2));
  cursor where(*flat, 500, nullptr, 0);
  portion found;
  where.next(where.left(), found);
  EXPECT_EQ(found.columns, 500u);
  EXPECT_EQ(found.column_stride, 24);
}

TEST(layouts, of_a_million_blocks_are_entered_anywhere) {
  constexpr std::int64_t blocks = 1'000'000;
  numbers lengths, places;
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < blocks; ++i) {
    lengths.push_back(1 + i % 3);
    places.push_back(place);
    place += lengths.back() + 1;
  }
  const owned_layout flat = encode(datatype::indexed(lengths, places, float64));
  EXPECT_EQ(flat->blocks, 1'000'000u);
  std::vector<double> memory = ascending(static_cast<std::size_t>(place));
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (i % 9973 == 0) {
      double found = 0;
      pack({flat.get(), 1, memory.data()}, offset, sizeof found, &found);
      ASSERT_EQ(found, static_cast<double>(places[i]));
      cursor where(*flat, 1, memory.data(), offset);
      portion portion;
      where.next(8, portion);
      EXPECT_EQ(portion.bytes, 8u);
    }
    offset += static_cast<std::uint64_t>(lengths[i]) * 8;
  }
  EXPECT_EQ(offset, flat->size);
}

TEST(layouts, follow_the_order_of_the_type_map) {
  std::vector<double> memory = ascending(10);
  EXPECT_THAT(packed(datatype::indexed(numbers{1, 2, 1}, numbers{7, 2, 0}, float64), 1, memory),
              ElementsAre(7, 2, 3, 0));
  EXPECT_THAT(packed(datatype::structure(numbers{2, 1}, numbers{32, 0}, std::vector{float64, float64}), 1, memory),
              ElementsAre(4, 5, 0));
  double* end = memory.data() + 9;
  const owned_layout backwards = encode(datatype::vector(4, 1, -2, float64));
  std::vector<double> out(4);
  pack({backwards.get(), 1, end}, 0, 32, out.data());
  EXPECT_THAT(out, ElementsAre(9, 7, 5, 3));
}

TEST(layouts, of_types_without_bytes_copy_nothing) {
  for (const datatype& empty : {datatype::contiguous(0, float64), datatype::indexed(numbers{}, numbers{}, float64),
                                datatype::structure(numbers{}, numbers{}, {}),
                                datatype::structure(numbers{0}, numbers{8}, std::vector{float64})}) {
    const owned_layout flat = encode(empty);
    EXPECT_EQ(flat->size, 0u);
    EXPECT_EQ(flat->extent, 0);
    EXPECT_EQ(flat->elements, 0u);
    EXPECT_EQ(layout_at(flat.get(), flat.bytes()), flat.get());
    pack({flat.get(), 5, nullptr}, 0, 0, nullptr);
    EXPECT_EQ(cursor(*flat, 5, nullptr, 0).left(), 0u);
    EXPECT_EQ(elements_in(*flat, 5, 0).elements, 0u);
    EXPECT_TRUE(may_receive(*flat, 5, *encode(float64), 1));
  }
}

TEST(layouts, have_the_bounds_that_markers_set) {
  const datatype marked = datatype::structure(numbers{1, 1, 1}, numbers{-4, 0, 20},
                                              std::vector{datatype::lower_marker(), float64, datatype::upper_marker()});
  EXPECT_EQ(marked.lower_bound(), -4);
  EXPECT_EQ(marked.extent(), 24);
  EXPECT_EQ(marked.true_lower_bound(), 0);
  EXPECT_EQ(marked.true_extent(), 8);
  // They stay in force inside other types.
  const datatype inside = datatype::structure(numbers{1, 1}, numbers{0, 100}, std::vector{marked, int32});
  EXPECT_EQ(inside.lower_bound(), -4);
  EXPECT_EQ(inside.extent(), 24);
  EXPECT_EQ(datatype::structure(numbers{1, 1}, numbers{0, 8}, std::vector{float64, int8}).extent(), 16);
  EXPECT_EQ(datatype::resized(int32, 3, -7).extent(), -7);
}

TEST(layouts, of_distributed_arrays_divide_the_array) {
  // 10 elements over 3 processes in blocks of 2, dealt out like cards.
  const std::vector<numbers> owned = {{0, 1, 6, 7}, {2, 3, 8, 9}, {4, 5}};
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    std::vector<double> memory = ascending(10);
    const datatype part = datatype::darray(3, rank, numbers{10}, std::vector{distribution::cyclic}, numbers{2},
                                           numbers{3}, array_order::c, float64);
    EXPECT_EQ(part.extent(), 80);
    const std::vector<double> found = packed(part, 1, memory);
    EXPECT_EQ(numbers(found.begin(), found.end()), owned[static_cast<std::size_t>(rank)]);
  }
}

TEST(layouts, are_read_and_filled_by_several_at_once) {
  numbers places, lengths;
  for (std::int64_t i = 0; i < 3000; ++i) {
    places.push_back(7 * i + (i * i) % 3);
    lengths.push_back(1 + i % 4);
  }
  const owned_layout list = encode(datatype::indexed(lengths, places, float64));
  const std::uint64_t bytes = list->size;
  const owned_layout strided = encode(datatype::vector(static_cast<std::int64_t>(bytes / 8), 1, 3, float64));
  std::vector<double> source = ascending(22000), target(3 * bytes / 8 + 3, -1.0);
  std::vector<std::thread> workers;
  for (std::uint64_t worker = 0; worker < 4; ++worker)
    workers.emplace_back([&, worker] {
      for (std::uint64_t chunk = worker; chunk * 1001 < bytes; chunk += 4)
        copy({list.get(), 1, source.data()}, {strided.get(), 1, target.data()}, chunk * 1001,
             std::min<std::uint64_t>(1001, bytes - chunk * 1001));
    });
  for (std::thread& worker : workers) worker.join();
  std::size_t element = 0;
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::int64_t k = 0; k < lengths[i]; ++k, ++element) {
      ASSERT_EQ(target[3 * element], static_cast<double>(places[i] + k));
      ASSERT_EQ(target[3 * element + 1], -1.0);
    }
}

TEST(layouts, may_be_deep) {
  // Each level adds a place that breaks the regularity, so that nothing can be joined.
  datatype deep = datatype::indexed(numbers{1, 2, 40, 3}, numbers{0, 5, 20, 90}, float64);
  for (int level = 0; level < 18; ++level) {
    const datatype pair = datatype::hindexed_block(1, numbers{0, 800 << level}, deep);
    deep = level % 2 == 0 ? datatype::resized(pair, 0, (1600 << level) + 8)
                          : datatype::structure(numbers{1, 1}, numbers{0, 900 << level}, std::vector{pair, float64});
  }
  const owned_layout flat = encode(deep);
  EXPECT_GT(flat->depth, 12u);
  EXPECT_EQ(layout_at(flat.get(), flat.bytes()), flat.get());
  std::vector<std::byte> memory(static_cast<std::size_t>(flat->true_lower_bound + flat->true_extent));
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>((i * 2654435761u) >> 24);
  std::vector<std::byte> whole(flat->size), pieces(flat->size);
  const typed_buffer from{flat.get(), 1, memory.data()};
  pack(from, 0, flat->size, whole.data());
  for (std::uint64_t offset = 0; offset < flat->size; offset += 777)
    pack(from, offset, std::min<std::uint64_t>(777, flat->size - offset), pieces.data() + offset);
  EXPECT_EQ(whole, pieces);
}

TEST(layouts, that_contain_themselves_or_lie_about_sizes_are_refused) {
  numbers places;
  for (std::int64_t i = 0; i < 100; ++i) places.push_back(i * i);
  const owned_layout good = encode(datatype::contiguous(3, datatype::indexed_block(1, places, float64)));
  ASSERT_EQ(root_of(good).kind, node_kind::loop);
  std::vector<std::uint64_t> words(good.bytes() / 8);
  const auto with = [&](auto&& damage) {
    std::memcpy(words.data(), good.get(), good.bytes());
    auto* copy = reinterpret_cast<layout*>(words.data());
    damage(*copy, *reinterpret_cast<layout_node*>(reinterpret_cast<std::byte*>(words.data()) + copy->root));
    return layout_at(words.data(), good.bytes());
  };
  EXPECT_NE(with([](layout&, layout_node&) {}), nullptr);
  EXPECT_EQ(with([](layout& flat, layout_node&) { ++flat.version; }), nullptr);
  EXPECT_EQ(with([](layout& flat, layout_node&) { ++flat.size; }), nullptr);
  EXPECT_EQ(with([](layout& flat, layout_node&) { flat.root = flat.total_bytes; }), nullptr);
  EXPECT_EQ(with([](layout& flat, layout_node&) { flat.root += 4; }), nullptr);
  EXPECT_EQ(with([](layout& flat, layout_node& root) { root.body = flat.root; }), nullptr);
  EXPECT_EQ(with([](layout&, layout_node& root) { root.count = 2; }), nullptr);
  EXPECT_EQ(with([](layout&, layout_node& root) {
              root.displacement = 1;
              root.kind = node_kind::places;
            }),
            nullptr);
  EXPECT_EQ(with([](layout& flat, layout_node&) { flat.signature_root = 8; }), nullptr);
  EXPECT_EQ(with([](layout& flat, layout_node&) { flat.kind = static_cast<element_kind>(200); }), nullptr);
  EXPECT_EQ(with([](layout& flat, layout_node&) { flat.depth = ~0u; }), nullptr) << "one more than that is 0 frames";
  EXPECT_EQ(with([](layout& flat, layout_node&) { flat.extent = std::numeric_limits<std::int64_t>::min(); }), nullptr);
  // A list is there once: with a count it would be walked beyond its table.
  EXPECT_EQ(with([](layout& flat, layout_node& root) {
              auto& list = *reinterpret_cast<layout_node*>(reinterpret_cast<std::byte*>(&flat) + root.body);
              ASSERT_EQ(list.kind, node_kind::list);
              list.count = 4;
              list.length = 2;
            }),
            nullptr);
}

TEST(layouts, whose_nodes_share_their_bodies_are_refused_before_all_ways_were_walked) {
  // Forty sequences of two, both of which are the next sequence: 2^40 ways to the one block.
  constexpr std::uint64_t levels = 40;
  constexpr std::uint64_t node_words = sizeof(layout_node) / 8 + 2 + 3;  // with its table and prefix
  std::vector<std::uint64_t> words(sizeof(layout) / 8 + (levels + 1) * node_words);
  const auto offset_of = [&](std::uint64_t level) { return sizeof(layout) + level * node_words * 8; };
  for (std::uint64_t level = 0; level <= levels; ++level) {
    const std::uint64_t offset = offset_of(level), table = offset + sizeof(layout_node),
                        bytes = 1ull << (levels - level);
    layout_node node;
    node.bytes = bytes;
    node.length = 1;
    if (level < levels) {
      node.kind = node_kind::sequence;
      node.entries = 2;
      node.table = table;
      node.prefix = table + 16;
      const std::uint64_t values[] = {offset_of(level + 1), offset_of(level + 1), 0, bytes / 2, bytes};
      std::memcpy(&words[table / 8], values, sizeof values);
    }
    std::memcpy(&words[offset / 8], &node, sizeof node);
  }
  layout flat;
  flat.total_bytes = words.size() * 8;
  flat.size = 1ull << levels;
  flat.depth = levels;
  flat.root = sizeof(layout);
  std::memcpy(words.data(), &flat, sizeof flat);
  EXPECT_EQ(layout_at(words.data(), flat.total_bytes), nullptr);
}

TEST(datatypes, refuse_what_mpi_forbids) {
  using invalid = std::invalid_argument;
  EXPECT_THAT(message_of<invalid>([] { datatype::vector(-2, 1, 1, float64); }),
              HasSubstr("the count of a vector is -2; it must be 0 or more"));
  EXPECT_THAT(message_of<invalid>([] {
                datatype::indexed(numbers{1, -1}, numbers{0, 1}, float64);
              }),
              HasSubstr("a block length of an indexed type is -1; it must be 0 or more"));
  EXPECT_THAT(message_of<invalid>([] {
                datatype::hindexed(numbers{1}, numbers{0, 1}, float64);
              }),
              HasSubstr("there are 2 displacements for 1 block lengths; there must be as many"));
  EXPECT_THAT(
      message_of<invalid>([] { datatype::subarray(numbers{5}, numbers{3}, numbers{3}, array_order::c, float64); }),
      HasSubstr("dimension 0 of a subarray: 3 elements from number 3 of 5"));
  EXPECT_THAT(message_of<invalid>([] {
                datatype::darray(4, 0, numbers{10}, std::vector{distribution::block}, numbers{2}, numbers{4},
                                 array_order::c, float64);
              }),
              HasSubstr("blocks of 2 on 4 processes do not hold its 10 elements; 3 or more would"));
  EXPECT_THAT(message_of<invalid>([] {
                datatype::darray(6, 0, numbers{10}, std::vector{distribution::block}, numbers{3}, numbers{4},
                                 array_order::c, float64);
              }),
              HasSubstr("the process grid of a distributed array has 4 processes, not 6"));
  EXPECT_THAT(message_of<std::overflow_error>([] {
                datatype::contiguous(std::int64_t{1} << 40, datatype::contiguous(std::int64_t{1} << 40, float64));
              }),
              HasSubstr("more than 2^63 bytes"));
}

TEST(datatypes, may_be_larger_than_31_bits) {
  const datatype large = datatype::vector(std::int64_t{1} << 33, 3, 5, float64);
  const owned_layout flat = encode(large);
  EXPECT_EQ(flat->size, (std::uint64_t{1} << 33) * 24);
  EXPECT_EQ(elements_in(*flat, 4, flat->size * 3 + 16).elements, 3 * (std::uint64_t{3} << 33) + 2);
  cursor where(*flat, 1, nullptr, flat->size - 8);
  portion found;
  where.next(8, found);
  EXPECT_EQ(found.place, (((std::uintptr_t{1} << 33) - 1) * 5 + 2) * 8);
}

}  // namespace
