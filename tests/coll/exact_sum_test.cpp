// Sums that depend on their contributions alone: against integers of any length, in all orders and groupings, and
// through the plans of all reductions on many shapes.
#include "coll/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "random_run.hpp"
#include "requests.hpp"

namespace tri::coll {
namespace {

template <class Float>
auto bits_of(Float value) {
  return std::bit_cast<std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>>(value);
}

template <class Float>
exact_sum<Float> sum_of(const std::vector<Float>& values) {
  exact_sum<Float> made;
  for (const Float each : values) made.add(each);
  return made;
}

// An exact number in another way: bytes, sign and magnitude, in units of 2^-1140.
class long_number {
 public:
  static constexpr int unit = -1140;
  static constexpr std::size_t digits = 300;

  static long_number of(double value) {
    long_number made;
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
    made.is_negative_ = std::signbit(value);
    if (mantissa == 0) return made;
    const auto shift = static_cast<std::size_t>(exponent - 53 - unit);
    mantissa <<= shift % 8;  // 53 + 7 bits
    for (std::size_t i = shift / 8; mantissa != 0; ++i, mantissa >>= 8)
      made.magnitude_[i] = static_cast<unsigned char>(mantissa & 255);
    return made;
  }
  long_number negated() const {
    long_number made = *this;
    made.is_negative_ = !is_negative_;
    return made;
  }
  friend long_number operator+(const long_number& a, const long_number& b) {
    long_number made;
    if (a.is_negative_ == b.is_negative_) {
      made.is_negative_ = a.is_negative_;
      int carry = 0;
      for (std::size_t i = 0; i < digits; ++i) {
        carry += a.magnitude_[i] + b.magnitude_[i];
        made.magnitude_[i] = static_cast<unsigned char>(carry & 255);
        carry >>= 8;
      }
      return made;
    }
    const bool a_is_larger = compare_magnitude(a, b) >= 0;
    const long_number& large = a_is_larger ? a : b;
    const long_number& small = a_is_larger ? b : a;
    made.is_negative_ = large.is_negative_;
    int borrow = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const int difference = large.magnitude_[i] - small.magnitude_[i] - borrow;
      borrow = difference < 0 ? 1 : 0;
      made.magnitude_[i] = static_cast<unsigned char>(difference & 255);
    }
    return made;
  }
  static int compare_magnitude(const long_number& a, const long_number& b) {
    for (std::size_t i = digits; i-- > 0;)
      if (a.magnitude_[i] != b.magnitude_[i]) return a.magnitude_[i] < b.magnitude_[i] ? -1 : 1;
    return 0;
  }
  bool is_zero() const {
    return std::ranges::all_of(magnitude_, [](unsigned char each) { return each == 0; });
  }

 private:
  bool is_negative_ = false;
  std::array<unsigned char, digits> magnitude_{};
};

// `result` is a number nearest to the sum of the values, the even one of two.
template <class Float>
void expect_nearest(const std::vector<Float>& values, Float result) {
  long_number exact;
  for (const Float each : values) exact = exact + long_number::of(each);
  if (exact.is_zero()) {
    EXPECT_EQ(result, Float{0});
    return;
  }
  if (std::isinf(result)) {  // as if there were one more power of two
    const long_number largest = long_number::of(std::numeric_limits<Float>::max());
    const long_number half_a_bit = long_number::of(
        std::ldexp(1.0, std::numeric_limits<Float>::max_exponent - std::numeric_limits<Float>::digits - 1));
    EXPECT_GE(long_number::compare_magnitude(exact, largest + half_a_bit), 0);
    return;
  }
  const auto distance = [&](Float to) { return exact + long_number::of(to).negated(); };
  for (const Float direction : {-std::numeric_limits<Float>::infinity(), std::numeric_limits<Float>::infinity()}) {
    const Float other = std::nextafter(result, direction);
    if (std::isinf(other)) continue;
    const int order = long_number::compare_magnitude(distance(result), distance(other));
    ASSERT_LE(order, 0) << result;
    ASSERT_TRUE(order < 0 || (bits_of(result) & 1) == 0) << "of two the even one: " << result;
  }
}

template <class Float>
Float any_finite(std::mt19937_64& random) {
  for (;;) {
    const auto value = std::bit_cast<Float>(static_cast<decltype(bits_of(Float{}))>(random()));
    if (std::isfinite(value)) return value;
  }
}

// Values of one kind: of all sizes, near each other, subnormal, near the largest.
template <class Float>
std::vector<Float> any_values(std::mt19937_64& random) {
  std::vector<Float> made;
  const auto kind = random() % 5;
  const auto count = 1 + random() % 40;
  const int exponent = static_cast<int>(random() % 60) - 30;
  for (std::uint64_t i = 0; i < count; ++i) {
    Float value = any_finite<Float>(random);
    if (kind == 1) value = static_cast<Float>(std::ldexp(static_cast<double>(random() % 2001) - 1000, exponent));
    if (kind == 2)
      value = static_cast<Float>(static_cast<int>(random() % 201) - 100) * std::numeric_limits<Float>::denorm_min();
    if (kind == 3) value = std::copysign(std::numeric_limits<Float>::max(), random() % 2 == 0 ? Float{1} : Float{-1});
    made.push_back(value);
    if (kind == 4 && i > 0) made.push_back(-made[random() % made.size()]);  // cancels most of it
  }
  return made;
}

template <class Float>
class exact_sums : public ::testing::Test {};
using floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(exact_sums, floats);

TYPED_TEST(exact_sums, are_rounded_once_to_the_nearest) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    const std::vector<TypeParam> values = any_values<TypeParam>(random);
    expect_nearest(values, sum_of(values).rounded());
    if (::testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(exact_sums, of_one_number_are_that_number) {
  std::mt19937_64 random(2);
  using limits = std::numeric_limits<TypeParam>;
  std::vector<TypeParam> values{0,
                                limits::denorm_min(),
                                limits::min(),
                                limits::max(),
                                limits::infinity(),
                                1,
                                3,
                                std::nextafter(limits::min(), TypeParam{0})};
  for (int i = 0; i < 10'000; ++i) values.push_back(any_finite<TypeParam>(random));
  for (const TypeParam each : values) {
    ASSERT_EQ(bits_of(exact_sum<TypeParam>(each).rounded()), bits_of(each));
    ASSERT_EQ(bits_of(exact_sum<TypeParam>(-each).rounded()), bits_of(-each)) << "-0 too";
  }
}

// Ties, and what lies just beside them: at the boundary of a power of two, of normal numbers, of the largest one.
TYPED_TEST(exact_sums, ties_go_to_the_even_number) {
  using limits = std::numeric_limits<TypeParam>;
  const TypeParam last = limits::epsilon();  // of 1
  for (const TypeParam one : {TypeParam{1}, 1 + last, 2 - last, TypeParam{1.5}})
    for (const TypeParam beside : {TypeParam{0}, limits::denorm_min(), -limits::denorm_min()})
      for (const TypeParam sign : {TypeParam{1}, TypeParam{-1}})
        for (const TypeParam part : {last / 2, last / 4, -last / 2, -last / 4})
          expect_nearest<TypeParam>({sign * one, sign * part, beside},
                                    sum_of<TypeParam>({sign * one, sign * part, beside}).rounded());
  const TypeParam half_above_largest = std::ldexp(TypeParam{1}, limits::max_exponent - limits::digits - 1);
  EXPECT_EQ(sum_of<TypeParam>({limits::max(), half_above_largest}).rounded(), limits::infinity());
  EXPECT_EQ(sum_of<TypeParam>({limits::max(), half_above_largest, -limits::denorm_min()}).rounded(), limits::max());
  EXPECT_EQ(sum_of<TypeParam>({-limits::max(), -half_above_largest}).rounded(), -limits::infinity());
}

TYPED_TEST(exact_sums, take_what_is_no_number_as_ieee_does) {
  using limits = std::numeric_limits<TypeParam>;
  const TypeParam infinity = limits::infinity();
  const TypeParam nan = limits::quiet_NaN();
  EXPECT_EQ(sum_of<TypeParam>({1, infinity, -limits::max()}).rounded(), infinity);
  EXPECT_EQ(sum_of<TypeParam>({1, -infinity, -infinity}).rounded(), -infinity);
  EXPECT_TRUE(std::isnan(sum_of<TypeParam>({infinity, 1, -infinity}).rounded()));
  EXPECT_TRUE(std::isnan(sum_of<TypeParam>({1, nan}).rounded()));
  EXPECT_EQ(bits_of(sum_of<TypeParam>({infinity, -infinity}).rounded()),
            bits_of(sum_of<TypeParam>({-nan, 1}).rounded()))
      << "always the same one";
  EXPECT_EQ(sum_of<TypeParam>({limits::max(), limits::max(), -limits::max()}).rounded(), limits::max())
      << "nothing overflows on the way";
  EXPECT_TRUE(std::signbit(sum_of<TypeParam>({-0.0, -0.0}).rounded()));
  EXPECT_FALSE(std::signbit(sum_of<TypeParam>({-0.0, 0.0}).rounded()));
  EXPECT_FALSE(std::signbit(sum_of<TypeParam>({-1, 1, -0.0}).rounded()));
  EXPECT_FALSE(std::signbit(exact_sum<TypeParam>().rounded())) << "of nothing";
}

TYPED_TEST(exact_sums, do_not_depend_on_the_rounding_mode) {
  const std::vector<TypeParam> values{1, std::numeric_limits<TypeParam>::epsilon() / 2};
  const TypeParam wanted = sum_of(values).rounded();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const TypeParam found = sum_of(values).rounded();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(found, wanted);
  }
}

// All ways to set brackets around values [first, last).
template <class Float>
std::vector<exact_sum<Float>> all_groupings(std::span<const Float> values) {
  if (values.size() == 1) return {exact_sum<Float>(values[0])};
  std::vector<exact_sum<Float>> made;
  for (std::size_t middle = 1; middle < values.size(); ++middle)
    for (const exact_sum<Float>& left : all_groupings(values.first(middle)))
      for (exact_sum<Float> right : all_groupings(values.subspan(middle))) {
        right.merge(left);
        made.push_back(right);
      }
  return made;
}

TYPED_TEST(exact_sums, have_the_same_bytes_in_all_orders_and_groupings) {
  using limits = std::numeric_limits<TypeParam>;
  std::vector<TypeParam> values{limits::max(), -limits::max() / 3, 1, -limits::epsilon() / 2, limits::denorm_min(), -3};
  std::ranges::sort(values);
  const exact_sum<TypeParam> wanted = sum_of(values);
  do {
    for (const exact_sum<TypeParam>& each : all_groupings(std::span<const TypeParam>(values)))
      ASSERT_EQ(std::memcmp(&each, &wanted, sizeof wanted), 0);
  } while (std::ranges::next_permutation(values).found);
  EXPECT_EQ(wanted.rounded(), sum_of<TypeParam>({limits::max(), -limits::max() / 3}).rounded());
}

TYPED_TEST(exact_sums, of_many_are_those_of_their_parts) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    std::vector<TypeParam> values = any_values<TypeParam>(random);
    if (i % 7 == 0) values.push_back(std::numeric_limits<TypeParam>::infinity());
    if (i % 11 == 0) values.push_back(-TypeParam{0});
    const exact_sum<TypeParam> wanted = sum_of(values);
    std::ranges::shuffle(values, random);
    std::vector<exact_sum<TypeParam>> parts(1 + random() % 5);
    for (const TypeParam each : values) parts[random() % parts.size()].add(each);
    while (parts.size() > 1) {
      parts[random() % (parts.size() - 1)].merge(parts.back());
      parts.pop_back();
    }
    ASSERT_EQ(parts[0], wanted);
  }
}

#ifdef __SIZEOF_FLOAT128__
__extension__ using quad = __float128;
TEST(exact_double_sums, agree_with_quadruple_precision) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20'000; ++i) {
    exact_double_sum sum;
    quad other = 0;  // 113 bits: these sums have up to 53 + 40 + 7
    for (int n = 0; n < 100; ++n) {
      const double value =
          std::ldexp(static_cast<double>(static_cast<std::int64_t>(random()) >> 11), static_cast<int>(random() % 41));
      sum.add(value);
      other += static_cast<quad>(value);
    }
    ASSERT_EQ(sum.rounded(), static_cast<double>(other));
  }
}
#endif

// ---- as an element of reductions

constexpr std::uint64_t elements = 3;

// The contributions of a job, dealt out over its ranks: each adds up its own first.
template <class Float>
std::vector<random_run::bytes> dealt_out(const std::vector<std::array<Float, elements>>& contributions, int ranks,
                                         std::mt19937_64& random) {
  std::vector<std::array<exact_sum<Float>, elements>> sums(static_cast<std::size_t>(ranks));
  for (const std::array<Float, elements>& each : contributions) {
    auto& mine = sums[random() % sums.size()];
    for (std::size_t i = 0; i < elements; ++i) mine[i].add(each[i]);
  }
  std::vector<random_run::bytes> inputs;
  for (const auto& each : sums) {
    const auto* const first = reinterpret_cast<const unsigned char*>(&each);
    inputs.emplace_back(first, first + sizeof each);
  }
  return inputs;
}

template <class Float>
void merge_bytes(step_kind, const unsigned char* source, unsigned char* target, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; i += sizeof(exact_sum<Float>)) {
    exact_sum<Float> from;
    exact_sum<Float> into;
    std::memcpy(&from, source + i, sizeof from);
    std::memcpy(&into, target + i, sizeof into);
    merge_sums(&from, &into, 1);
    std::memcpy(target + i, &into, sizeof into);
  }
}

TYPED_TEST(exact_sums, are_the_same_for_every_shape_and_algorithm) {
  using sum = exact_sum<TypeParam>;
  std::mt19937_64 random(5);
  std::vector<std::array<TypeParam, elements>> contributions(60);
  for (auto& each : contributions)
    each = {any_finite<TypeParam>(random), static_cast<TypeParam>(random() % 1000) / 7,
            static_cast<TypeParam>(random() % 9) * std::numeric_limits<TypeParam>::denorm_min()};
  std::array<sum, elements> wanted;
  for (const auto& each : contributions)
    for (std::size_t i = 0; i < elements; ++i) wanted[i].add(each[i]);
  int runs = 0;
  for (const collective what : {collective::allreduce, collective::reduce})
    for (const auto& [hosts, ranks] :
         {std::pair{1, 1}, {1, 4}, {2, 1}, {2, 3}, {3, 2}, {5, 1}, {5, 3}, {7, 2}, {8, 4}, {13, 2}})
      for (const bool in_place : {false, true}) {
        request asked = request_of(what, shape::uniform(hosts, ranks), elements, hosts * ranks / 2);
        asked.extent = sizeof(sum);
        asked.in_place = in_place;
        const std::vector<random_run::bytes> inputs = dealt_out(contributions, hosts * ranks, random);
        for (const algorithm* by : algorithms_for(asked)) {
          const std::vector<plan> plans = generate_all(*by, asked);
          random_run run(asked, plans, static_cast<unsigned>(++runs), merge_bytes<TypeParam>, inputs);
          ASSERT_TRUE(run.to_the_end()) << text_of(asked, *by);
          for (int rank = 0; rank < hosts * ranks; ++rank) {
            const random_run::bytes found = run.output(rank);
            if (found.empty()) continue;
            ASSERT_EQ(std::memcmp(found.data(), &wanted, sizeof wanted), 0) << text_of(asked, *by);
          }
        }
      }
  EXPECT_GT(runs, 200);
  for (std::size_t i = 0; i < elements; ++i) {
    std::vector<TypeParam> column;
    for (const auto& each : contributions) column.push_back(each[i]);
    expect_nearest(column, wanted[i].rounded());
  }
}

}  // namespace
}  // namespace tri::coll
