// Callables that are kept or passed: whatever they are, and when they end.
#include "trireme/detail/os/unique_function.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "trireme/detail/os/function_ref.hpp"

namespace tri::os {
namespace {

int twice(int value) { return 2 * value; }

TEST(unique_function, holds_small_and_large_callables_and_functions) {
  unique_function<int(int)> small = [more = 1](int value) { return value + more; };
  std::array<int, 100> many{};
  many[99] = 7;
  unique_function<int(int)> large = [many](int value) { return value + many[99]; };
  unique_function<int(int)> function = &twice;
  EXPECT_EQ(small(1), 2);
  EXPECT_EQ(large(1), 8);
  EXPECT_EQ(function(4), 8);
  unique_function<int(int)> moved = std::move(large);
  EXPECT_EQ(moved(2), 9);
  EXPECT_TRUE(large == nullptr);  // NOLINT(bugprone-use-after-move): that is what is asked
  EXPECT_FALSE(static_cast<bool>(large));
  moved = nullptr;
  EXPECT_TRUE(moved == nullptr);
}

TEST(unique_function, ends_what_it_holds_once) {
  for (const bool is_large : {false, true}) {
    const auto counted = std::make_shared<int>(0);
    {
      unique_function<long()> held;
      if (is_large)
        held = [counted, room = std::array<long, 50>{}] { return counted.use_count() + room[0]; };
      else
        held = [counted] { return counted.use_count(); };
      unique_function<long()> other = std::move(held);
      EXPECT_EQ(other(), 2);
      held = std::move(other);
      EXPECT_EQ(held(), 2);
    }
    EXPECT_EQ(counted.use_count(), 1);
  }
}

TEST(unique_function, takes_what_moves_only_and_leaves_results_that_nobody_wants) {
  unique_function<std::unique_ptr<int>(std::unique_ptr<int>)> adds = [](std::unique_ptr<int> value) {
    ++*value;
    return value;
  };
  EXPECT_EQ(*adds(std::make_unique<int>(4)), 5);
  int calls = 0;
  unique_function<void()> returns_something = [&calls] { return ++calls; };
  returns_something();
  EXPECT_EQ(calls, 1);
}

int call(function_ref<int(int)> function, int value) { return function(value); }
void just_call(function_ref<void()> function) { function(); }

TEST(function_ref, calls_lambdas_functions_and_what_changes) {
  EXPECT_EQ(call(&twice, 3), 6);
  EXPECT_EQ(call(twice, 3), 6);
  int sum = 0;
  EXPECT_EQ(call([&](int value) { return sum += value; }, 3), 3);
  auto counts = [calls = 0]() mutable { return ++calls; };
  just_call(counts);
  just_call(counts);
  EXPECT_EQ(counts(), 3) << "not a copy";
}

}  // namespace
}  // namespace tri::os
