// The emulated adapter: its limits, costs, keys, and that it notices every access without a valid key.
#include "arrays/addresses/emulated_registration.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>

namespace tri::arrays {
namespace {

TEST(emulated_registration, an_access_needs_the_key_of_what_is_registered_now) {
  emulated_registration adapter;
  const remote_address first = adapter.register_memory(1000, 100).value();
  EXPECT_TRUE(adapter.check(1000, 100, first.key));
  EXPECT_TRUE(adapter.check(1050, 50, first.key));
  EXPECT_EQ(adapter.count().errors, 0U);
  adapter.deregister_memory(first);
  EXPECT_FALSE(adapter.check(1000, 1, first.key));
  const remote_address second = adapter.register_memory(1000, 100).value();
  EXPECT_NE(second.key, first.key);
  EXPECT_FALSE(adapter.check(1000, 1, first.key));
  EXPECT_TRUE(adapter.check(1000, 1, second.key));
  EXPECT_EQ(adapter.count().errors, 2U);
  EXPECT_EQ(adapter.count().accesses, 5U);
}

TEST(emulated_registration, an_access_beyond_the_registered_bytes_is_an_error) {
  emulated_registration adapter;
  const remote_address where = adapter.register_memory(1000, 100).value();
  EXPECT_FALSE(adapter.check(999, 1, where.key));
  EXPECT_FALSE(adapter.check(1000, 101, where.key));
  EXPECT_FALSE(adapter.check(1099, 2, where.key));
  EXPECT_FALSE(adapter.check(1101, 0, where.key));
  EXPECT_FALSE(adapter.check(1099, ~std::uint64_t{0}, where.key));
  EXPECT_EQ(adapter.count().errors, 5U);
}

TEST(emulated_registration, limits_of_all_and_of_one_registration) {
  emulated_registration adapter({.total_bytes = 250, .contiguous_bytes = 100});
  EXPECT_FALSE(adapter.register_memory(0, 101));
  const auto first = adapter.register_memory(0, 100);
  const auto second = adapter.register_memory(1000, 100);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(adapter.register_memory(2000, 51));
  EXPECT_TRUE(adapter.register_memory(2000, 50));
  EXPECT_EQ(adapter.count().refused, 2U);
  EXPECT_EQ(adapter.registered_bytes(), 250U);
  adapter.deregister_memory(*first);
  EXPECT_TRUE(adapter.register_memory(3000, 100));
  EXPECT_EQ(adapter.count().most_bytes, 250U);
}

TEST(emulated_registration, costs_are_numbers) {
  emulated_registration adapter({}, {.register_ns = 1000, .register_page_ns = 10, .deregister_ns = 5000});
  const remote_address where = adapter.register_memory(4095, 2).value();  // touches two pages
  EXPECT_EQ(adapter.count().cost_ns, 1020U);
  adapter.deregister_memory(where);
  EXPECT_EQ(adapter.count().cost_ns, 6020U);
}

TEST(emulated_registration, what_is_not_registered_is_not_deregistered) {
  emulated_registration adapter;
  const remote_address where = adapter.register_memory(1000, 100).value();
  adapter.deregister_memory({.address = 1001, .key = where.key});
  EXPECT_EQ(adapter.count().errors, 1U);
  EXPECT_EQ(adapter.registered(), 1U);
  adapter.deregister_memory(where);
  adapter.deregister_memory(where);
  EXPECT_EQ(adapter.count().errors, 2U);
  EXPECT_EQ(adapter.count().deregistrations, 1U);
}

// 100 000 random calls beside a map of what is registered.
TEST(emulated_registration, does_what_a_simple_model_does) {
  constexpr std::uint64_t total = 1000;
  constexpr std::uint64_t contiguous = 150;
  emulated_registration adapter({.total_bytes = total, .contiguous_bytes = contiguous});
  std::map<registration_key, std::pair<remote_address, std::uint64_t>> model;
  std::set<registration_key> keys;
  std::uint64_t used = 0;
  std::uint64_t errors = 0;
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t begin = random() % 5000;
    const std::uint64_t bytes = 1 + random() % 200;
    switch (random() % 3) {
      case 0: {
        const auto made = adapter.register_memory(begin, bytes);
        ASSERT_EQ(made.has_value(), bytes <= contiguous && used + bytes <= total);
        if (!made) break;
        ASSERT_TRUE(keys.insert(made->key).second) << "a key for the second time";
        model[made->key] = {*made, bytes};
        used += bytes;
        break;
      }
      case 1: {
        if (model.empty()) break;
        const auto one = std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
        adapter.deregister_memory(one->second.first);
        used -= one->second.second;
        model.erase(one);
        break;
      }
      default: {
        if (keys.empty()) break;
        const registration_key key = 1 + random() % keys.size();
        const auto one = model.find(key);
        const std::uint64_t at =
            one != model.end() && random() % 2 == 0 ? one->second.first.address + begin % 8 : begin;
        const bool valid = one != model.end() && at >= one->second.first.address &&
                           at + bytes <= one->second.first.address + one->second.second;
        errors += valid ? 0 : 1;
        ASSERT_EQ(adapter.check(at, bytes, key), valid);
        break;
      }
    }
    ASSERT_EQ(adapter.registered_bytes(), used);
    ASSERT_EQ(adapter.registered(), model.size());
    ASSERT_EQ(adapter.count().errors, errors);
  }
  EXPECT_GT(adapter.count().accesses, errors);
  EXPECT_GT(adapter.count().refused, 0U);
}

}  // namespace
}  // namespace tri::arrays
