// Reductions of window elements without a lock: each operation against its definition, and many threads at once.
#include "mpi/rma/engine/element_reduction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

namespace tri::mpi {
namespace {

constexpr reduction on_integers[] = {reduction::replace,     reduction::nothing,    reduction::sum,
                                     reduction::product,     reduction::minimum,    reduction::maximum,
                                     reduction::logical_and, reduction::logical_or, reduction::logical_xor,
                                     reduction::bits_and,    reduction::bits_or,    reduction::bits_xor};

template <class T>
T expected(reduction operation, T was, T operand) {
  using wide = std::make_unsigned_t<T>;
  switch (operation) {
    case reduction::replace:
      return operand;
    case reduction::sum:
      return static_cast<T>(static_cast<wide>(was) + static_cast<wide>(operand));
    case reduction::product:
      return static_cast<T>(static_cast<wide>(was) * static_cast<wide>(operand));
    case reduction::minimum:
      return was < operand ? was : operand;
    case reduction::maximum:
      return was > operand ? was : operand;
    case reduction::logical_and:
      return was && operand;
    case reduction::logical_or:
      return was || operand;
    case reduction::logical_xor:
      return !was != !operand;
    case reduction::bits_and:
      return was & operand;
    case reduction::bits_or:
      return was | operand;
    case reduction::bits_xor:
      return was ^ operand;
    default:
      return was;
  }
}

template <class T>
void check_all(element_kind kind) {
  ASSERT_TRUE(is_single_instruction(kind));
  const std::array<T, 6> values = {
      0, 1, 7, static_cast<T>(-3), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  for (const reduction operation : on_integers) {
    EXPECT_TRUE(is_defined(operation, kind, false));
    for (const T was : values) {
      for (const T operand : values) {
        std::array<T, 3> target = {was, was, 99};
        std::array<std::byte, 2 * sizeof(T) + 1> operands, before;
        for (int i = 0; i < 2; ++i)  // nothing says that these are aligned
          std::memcpy(&operands[1 + static_cast<std::size_t>(i) * sizeof(T)], &operand, sizeof(T));
        reduce_atomically(operation, kind, target.data(), operation == reduction::nothing ? nullptr : &operands[1],
                          &before[1], 2);
        T found{};
        std::memcpy(&found, &before[1 + sizeof(T)], sizeof(T));
        EXPECT_EQ(found, was);
        EXPECT_EQ(target[0], expected(operation, was, operand)) << static_cast<int>(operation);
        EXPECT_EQ(target[1], target[0]);
        EXPECT_EQ(target[2], 99) << "one element too many";
      }
    }
  }
  T element = 5, was{};
  const T five = 5, six = 6, seven = 7;
  compare_and_swap_atomically(kind, &element, &six, &seven, &was);
  EXPECT_EQ(element, 5);
  EXPECT_EQ(was, 5);
  compare_and_swap_atomically(kind, &element, &five, &seven, &was);
  EXPECT_EQ(element, 7);
  EXPECT_EQ(was, 5);
}

TEST(reduction, integers_follow_the_definition) {
  check_all<std::int32_t>(element_kind::int32);
  check_all<std::uint32_t>(element_kind::uint32);
  check_all<std::int64_t>(element_kind::int64);
  check_all<std::uint64_t>(element_kind::uint64);
}

// Long runs are done by other code than single elements: the same comes out, at any address.
TEST(reduction, plain_loops_do_what_instructions_do) {
  for (const element_kind kind :
       {element_kind::int32, element_kind::uint32, element_kind::int64, element_kind::uint64}) {
    const std::size_t size = facts_of(kind).bytes, count = 1000;
    std::mt19937_64 random(5);
    alignas(8) std::array<std::byte, 8 * 1000> by_instructions, operands, was, before;
    std::vector<std::byte> by_loops(size * count + 1);
    for (const reduction operation : on_integers) {
      ASSERT_TRUE(has_plain_loop(operation, kind));
      for (std::byte& each : by_instructions) each = static_cast<std::byte>(random() % 7 == 0 ? 0 : random());
      for (std::byte& each : operands) each = static_cast<std::byte>(random() % 7 == 0 ? 0 : random());
      std::copy_n(by_instructions.begin(), size * count, by_loops.begin() + 1);
      const std::byte* const by = operation == reduction::nothing ? nullptr : operands.data();
      reduce_plainly(operation, kind, by_loops.data() + 1, by, before.data(), count);
      reduce_atomically(operation, kind, by_instructions.data(), by, was.data(), count);
      EXPECT_TRUE(std::equal(by_loops.begin() + 1, by_loops.end(), by_instructions.begin()))
          << static_cast<int>(operation);
      EXPECT_TRUE(std::equal(was.begin(), was.begin() + static_cast<std::ptrdiff_t>(size * count), before.begin()));
    }
  }
  std::array<double, 3> sums = {1, 2, 3};
  const std::array<double, 3> with = {0.5, -4, 8};
  reduce_plainly(reduction::maximum, element_kind::float64, reinterpret_cast<std::byte*>(sums.data()),
                 reinterpret_cast<const std::byte*>(with.data()), nullptr, 3);
  EXPECT_EQ(sums, (std::array<double, 3>{1, 2, 8}));
  reduce_plainly(reduction::product, element_kind::float64, reinterpret_cast<std::byte*>(sums.data()),
                 reinterpret_cast<const std::byte*>(with.data()), nullptr, 3);
  EXPECT_EQ(sums, (std::array<double, 3>{0.5, -8, 64}));
  EXPECT_FALSE(has_plain_loop(reduction::bits_or, element_kind::float64));
  EXPECT_FALSE(has_plain_loop(reduction::sum, element_kind::int16));
}

TEST(reduction, only_aligned_integers_of_4_and_8_bytes_need_no_lock) {
  alignas(8) const std::array<char, 16> memory{};
  EXPECT_TRUE(is_single_instruction(element_kind::int32, &memory[4]));
  EXPECT_FALSE(is_single_instruction(element_kind::int32, &memory[2]));
  EXPECT_TRUE(is_single_instruction(element_kind::uint64, &memory[8]));
  EXPECT_FALSE(is_single_instruction(element_kind::uint64, &memory[4]));
  for (const element_kind kind : {element_kind::int16, element_kind::int128, element_kind::float64,
                                  element_kind::logical32, element_kind::byte, element_kind::complex_float32})
    EXPECT_FALSE(is_single_instruction(kind, memory.data()));
}

TEST(reduction, operations_are_defined_where_mpi_says_so) {
  EXPECT_TRUE(is_defined(reduction::sum, element_kind::float64, false));
  EXPECT_TRUE(is_defined(reduction::sum, element_kind::complex_float64, false));
  EXPECT_FALSE(is_defined(reduction::maximum, element_kind::complex_float64, false));
  EXPECT_FALSE(is_defined(reduction::bits_or, element_kind::float64, false));
  EXPECT_TRUE(is_defined(reduction::bits_or, element_kind::byte, false));
  EXPECT_FALSE(is_defined(reduction::sum, element_kind::byte, false));
  EXPECT_TRUE(is_defined(reduction::logical_or, element_kind::boolean, false));
  EXPECT_FALSE(is_defined(reduction::sum, element_kind::logical32, false));
  EXPECT_FALSE(is_defined(reduction::sum, element_kind::character, false));
  EXPECT_TRUE(is_defined(reduction::minimum_and_place, element_kind::mixed, true));
  EXPECT_FALSE(is_defined(reduction::minimum_and_place, element_kind::int32, false));
  EXPECT_FALSE(is_defined(reduction::sum, element_kind::int32, true));
  EXPECT_TRUE(is_defined(reduction::replace, element_kind::mixed, true));
  EXPECT_TRUE(is_defined(reduction::nothing, element_kind::character, false));
}

// All operations that leave a trace, at once on one element: what each found tells that none was lost.
TEST(reduction, threads_lose_nothing) {
  constexpr int threads = 4, rounds = 20000;
  alignas(8) std::array<std::int64_t, 4> elements = {0, 1, 0, 0};  // sum, product, maximum, counter by swaps
  std::vector<std::vector<std::int64_t>> tickets(threads);
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      for (int i = 0; i < rounds; ++i) {
        const auto apply = [&](reduction operation, std::size_t which, std::int64_t operand) {
          std::int64_t before = 0;
          reduce_atomically(operation, element_kind::int64, &elements[which], reinterpret_cast<std::byte*>(&operand),
                            reinterpret_cast<std::byte*>(&before), 1);
          return before;
        };
        tickets[static_cast<std::size_t>(thread)].push_back(apply(reduction::sum, 0, 1));
        apply(reduction::product, 1, 3);
        apply(reduction::maximum, 2, i * threads + thread);
        std::int64_t seen = 0, wanted = 0, found = 0;
        do {
          seen = found;
          wanted = seen + 1;
          compare_and_swap_atomically(element_kind::int64, &elements[3], &seen, &wanted, &found);
        } while (found != seen);
      }
    });
  }
  for (std::thread& each : running) each.join();
  EXPECT_EQ(elements[0], threads * rounds);
  std::uint64_t product = 1;
  for (int i = 0; i < threads * rounds; ++i) product *= 3;
  EXPECT_EQ(elements[1], static_cast<std::int64_t>(product));
  EXPECT_EQ(elements[2], (rounds - 1) * threads + threads - 1);
  EXPECT_EQ(elements[3], threads * rounds);
  std::vector<bool> given(threads * rounds, false);
  for (const auto& of_thread : tickets) {
    for (const std::int64_t ticket : of_thread) {
      EXPECT_FALSE(given[static_cast<std::size_t>(ticket)]);
      given[static_cast<std::size_t>(ticket)] = true;
    }
  }
}

}  // namespace
}  // namespace tri::mpi
