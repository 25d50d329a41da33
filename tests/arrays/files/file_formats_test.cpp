// The parts of dump and load that need no job: ranges as boxes, shares of PEs, headers, numbers as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "arrays/files/element_range.hpp"
#include "arrays/files/element_text.hpp"
#include "arrays/files/npy_header.hpp"
#include "arrays/files/text_file.hpp"

namespace tri::arrays {
namespace {

std::int64_t number_of(const file_extents& at, const std::vector<std::int64_t>& extents) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < extents.size(); ++d) number = number * extents[d] + at[d];
  return number;
}

// Every range of random shapes: the boxes have its elements, in the order of the file, and are few.
TEST(ElementRange, Boxes_are_the_range) {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::int64_t> extents(1 + random() % 6);
    for (std::int64_t& extent : extents) extent = 1 + random() % 5;
    const std::int64_t count = volume_of(extents);
    const std::int64_t begin = random() % count;
    const std::int64_t end = begin + random() % (count - begin + 1);
    std::int64_t next = begin;
    std::size_t boxes = 0;
    for_each_box(extents, begin, end, [&](const file_extents& first, const file_extents& last, std::int64_t before) {
      ++boxes;
      EXPECT_EQ(before, next - begin);
      file_extents at = first;
      while (true) {  // an odometer over the box
        ASSERT_EQ(number_of(at, extents), next++);
        std::size_t d = extents.size();
        while (d > 0 && ++at[d - 1] == last[d - 1]) {
          at[d - 1] = first[d - 1];
          --d;
        }
        if (d == 0) break;
      }
    });
    EXPECT_EQ(next, end);
    EXPECT_LE(boxes, 2 * extents.size() - 1);
  }
}

TEST(ElementRange, Parts_of_PEs_are_all_and_as_equal_as_can_be) {
  for (const std::int64_t unit : {1, 3, 10})
    for (const int pes : {1, 2, 3, 6, 7})
      for (std::int64_t count = 0; count < 70; ++count) {
        std::int64_t next = 0, most = 0, least = count;
        for (int pe = 0; pe < pes; ++pe) {
          const element_range part = part_of(count, unit, pe, pes);
          ASSERT_EQ(part.begin, next);
          ASSERT_TRUE(part.begin % unit == 0 || part.begin == count);
          next = part.end;
          most = std::max(most, part.end - part.begin);
          least = std::min(least, part.end - part.begin);
        }
        EXPECT_EQ(next, count);
        EXPECT_LE(most - least, 2 * unit - 1);
      }
}

TEST(ElementRange, Large_counts_do_not_overflow) {
  const std::int64_t count = std::int64_t{1} << 60;
  EXPECT_EQ(part_of(count, 1, 999'999, 1'000'000).end, count);
  EXPECT_EQ(part_of(count, 1, 1, 2).begin, count / 2);
}

TEST(ElementRange, What_goes_at_once_are_rows_of_tiles) {
  const element_type real{element_kind::floating_point, 8};
  const auto of = [&](std::int64_t bytes, int pes) {
    return elements_at_once({real, 2, {100, 50}, {8, 8}}, bytes, pes);
  };
  EXPECT_EQ(of(8 * 50 * 19, 1), 50 * 16);  // two rows of tiles
  EXPECT_EQ(of(8 * 50 * 5, 1), 50 * 5);    // no whole one fits
  EXPECT_EQ(of(8 * 30, 1), 24);            // in a row three tiles
  EXPECT_EQ(of(1, 1), 1);
  EXPECT_EQ(of(std::int64_t{1} << 40, 1), 5000);     // all
  EXPECT_EQ(of(std::int64_t{1} << 40, 4), 50 * 24);  // something for each PE
  EXPECT_EQ(elements_at_once({real, 2, {0, 5}, {1, 5}}, 1000, 3), 1);
}

TEST(NpyHeader, Golden_bytes) {
  const std::string header = npy_header({{element_kind::floating_point, 8}, 2, {3, 4}, {}});
  const std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }";
  EXPECT_EQ(header, std::string("\x93NUMPY\1\0\x76\0", 10) + text + std::string(117 - text.size(), ' ') + '\n');
  EXPECT_EQ(header.size(), 128U);
}

TEST(NpyHeader, Is_read_as_written_for_all_types_and_shapes) {
  for (const element_kind kind : {element_kind::boolean, element_kind::signed_integer, element_kind::unsigned_integer,
                                  element_kind::floating_point, element_kind::complex, element_kind::bytes})
    for (const std::uint32_t bytes : {1U, 2U, 8U, 16U, 400U})
      for (int dimensions = 1; dimensions <= 6; ++dimensions) {
        const std::int64_t large = std::numeric_limits<std::int64_t>::max();
        const std::string header = npy_header({{kind, bytes}, dimensions, {large, 0, 1, large, 12, large}, {}});
        EXPECT_EQ(header.size() % 64, 0U);
        const npy_contents found = parse_npy_header(header + "data");
        EXPECT_EQ(found.type, (element_type{kind, bytes}));
        EXPECT_FALSE(found.is_fortran_order);
        EXPECT_EQ(found.extents.size(), static_cast<std::size_t>(dimensions));
        EXPECT_EQ(found.extents[0], large);
        EXPECT_EQ(found.data_begins, static_cast<std::int64_t>(header.size()));
      }
}

// Whatever is cut off or changed in a header: an error, or a header.
TEST(NpyHeader, Random_damage_is_an_error) {
  std::mt19937 random(5);
  const std::string header = npy_header({{element_kind::floating_point, 8}, 2, {3, 4}, {}});
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = header.substr(0, random() % (header.size() + 1));
    for (auto i = random() % 3; i > 0 && !damaged.empty(); --i)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      (void)parse_npy_header(damaged);
    } catch (const std::runtime_error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000);
}

template <class T>
void expect_text(T value, const std::string& expected) {
  std::string text;
  append_number(text, element_type_of<T>(), reinterpret_cast<const std::byte*>(&value));
  EXPECT_EQ(text, expected);
  T found{};
  EXPECT_TRUE(parse_number(text, element_type_of<T>(), reinterpret_cast<std::byte*>(&found))) << text;
  EXPECT_TRUE(found == value || value != value) << text;  // NOLINT(misc-redundant-expression): of NaN
}

TEST(ElementText, Numbers_are_read_as_the_same) {
  expect_text<std::int8_t>(-128, "-128");
  expect_text<std::uint64_t>(std::numeric_limits<std::uint64_t>::max(), "18446744073709551615");
  expect_text(true, "1");
  expect_text(0.1F, "0.1");
  expect_text(std::numeric_limits<double>::denorm_min(), "5e-324");
  expect_text(-std::numeric_limits<double>::infinity(), "-inf");
  expect_text(std::numeric_limits<double>::quiet_NaN(), "nan");
  expect_text(1.5L, "1.5");
  expect_text(std::complex<double>(1.5, -2), "1.5-2j");
  expect_text(std::complex<double>(1e-7, 1e+30), "1e-07+1e+30j");
  expect_text(std::complex<float>(-0.0F, std::numeric_limits<float>::infinity()), "-0+infj");
}

TEST(ElementText, What_Python_writes_is_read) {
  const auto parsed = [](const char* text) {
    std::complex<double> value;
    EXPECT_TRUE(parse_number(text, element_type_of<std::complex<double>>(), reinterpret_cast<std::byte*>(&value)))
        << text;
    return value;
  };
  EXPECT_EQ(parsed("(1.5e+00-2.0e-01j)"), std::complex<double>(1.5, -0.2));
  EXPECT_EQ(parsed("3"), std::complex<double>(3, 0));
  EXPECT_EQ(parsed("-4j"), std::complex<double>(0, -4));
  bool value = false;
  EXPECT_TRUE(parse_number("True", element_type_of<bool>(), reinterpret_cast<std::byte*>(&value)) && value);
}

TEST(ElementText, What_is_no_number_is_refused) {
  std::byte place[16];
  for (const char* text : {"", "+", "1.5", "300", "-1", "1 ", "0x1", "one"})
    EXPECT_FALSE(parse_number(text, element_type_of<std::uint8_t>(), place)) << text;
  for (const char* text : {"", "--1", "1.5.2", "1e999", "j", "1,5"})
    EXPECT_FALSE(parse_number(text, element_type_of<double>(), place)) << text;
  for (const char* text : {"", "()", "j", "1+j2", "1-", "(1+2j"})
    EXPECT_FALSE(parse_number(text, element_type_of<std::complex<float>>(), place)) << text;
  EXPECT_FALSE(parse_number("2", element_type_of<bool>(), place));
}

TEST(TextHeader, Type_and_extents_are_read_as_written) {
  const std::string header = text_header({{element_kind::complex, 16}, 3, {3, 0, 12}, {}});
  EXPECT_EQ(header, "# trireme array: complex128 3 0 12\n");
  const text_contents found = parse_text_header("# before\r\n" + header + "# behind\n1 2");
  EXPECT_TRUE(found.has_header);
  EXPECT_EQ(name_of(found.type), "complex128");
  EXPECT_THAT(found.extents, testing::ElementsAre(3, 0, 12));
  EXPECT_EQ(found.data_begins, static_cast<std::int64_t>(10 + header.size() + 9));
  EXPECT_FALSE(parse_text_header("1 2 3").has_header);
  EXPECT_EQ(parse_text_header("# no end").data_begins, 8);
}

}  // namespace
}  // namespace tri::arrays
