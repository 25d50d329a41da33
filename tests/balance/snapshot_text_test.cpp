#include "balance/snapshot_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "small_snapshots.hpp"
#include "trireme/detail/balance/loads.hpp"

namespace tri::balancing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(snapshot_text, what_is_written_is_read_back) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    snapshot of = drawn_snapshot(seed);
    if (seed % 2 == 0) {
      for (std::size_t i = 0; i < of.objects.size(); ++i) {
        of.user_data.resize(of.user_data.size() + i % 3, static_cast<std::byte>(i * 17));
        of.user_data_ends.push_back(of.user_data.size());
      }
    }
    const snapshot again = snapshot_from(to_text(of), "a.json");
    ASSERT_EQ(to_text(again), to_text(of));
    ASSERT_EQ(again.user_data, of.user_data);
    ASSERT_EQ(again.coordinates, of.coordinates);
    ASSERT_EQ(again.counter_values, of.counter_values);
    ASSERT_EQ(times_of(again, {}), times_of(of, {}));
    ASSERT_EQ(quality_of(again, {}).messages_between_hosts, quality_of(of, {}).messages_between_hosts);
  }
}

TEST(snapshot_text, a_short_one_written_by_hand_is_enough) {
  const snapshot of = snapshot_from(
      R"({"format": "trireme load snapshot", "version": 1, "pes": {"host": [0, 0]},
          "objects": {"load_ns": [5, 6], "pe": [0, 0], "immovable": [1]}})",
      "a.json");
  EXPECT_EQ(of.pes.size(), 2u);
  EXPECT_EQ(of.objects[1].load_ns, 6);
  EXPECT_FALSE(of.objects[1].is_migratable);
}

TEST(snapshot_text, wrong_files_are_explained) {
  const auto refusal = [](const std::string& rest, const char* why) {
    const std::string text = R"({"format": "trireme load snapshot", "version": 1, )" + rest + "}";
    EXPECT_THAT([&] { snapshot_from(text, "a.json"); },
                ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("a.json: "), HasSubstr(why))))
        << rest;
  };
  const std::string pes = R"("pes": {"host": [0]})";
  const auto objects = [&](const std::string& columns) { return pes + R"(, "objects": {)" + columns + "}"; };
  EXPECT_THAT([] { snapshot_from("{", "a.json"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("parse error")));
  EXPECT_THAT([] { snapshot_from("[]", "a.json"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("an object of JSON")));
  EXPECT_THAT([] { snapshot_from("{}", "a.json"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("it is no snapshot")));
  refusal(pes, "objects");
  refusal(pes + R"(, "object": 1)", "a snapshot has no 'object'");
  refusal(objects(R"("load_ns": [1])"), "pe");
  refusal(objects(R"("load_ns": [1.5], "pe": [0])"), "number 0 of 'load_ns' is 1.5; it must be a whole number");
  refusal(objects(R"("load_ns": [1], "pe": [4294967296])"), "number 0 of 'pe' is 4294967296");
  refusal(objects(R"("load_ns": [1, 2], "pe": [0])"), "'pe' of \"objects\" has 1 values; its first list has 2");
  refusal(objects(R"("load_ns": [1], "pe": [1])"), "is on PE 1; there are PEs 0 to 0");
  refusal(objects(R"("load_ns": [1], "pe": [0], "immovable": [1])"), "\"immovable\" names object 1");
  refusal(objects(R"("load_ns": [1], "pe": [0], "user_data": ["0g"])"), "pairs of 0-9 and a-f");
  refusal(objects(R"("load_ns": [1], "pe": [0], "user_data": ["0"])"), "pairs of 0-9 and a-f");
  refusal(objects(R"("load_ns": [1], "pe": [0], "dimensions": 9)"), "'dimensions' is 9");
  refusal(objects(R"("load_ns": "1", "pe": [0])"), "number 0 of 'load_ns'");
}

// Any bytes: a snapshot that passes its check, or one line that says why not.
TEST(snapshot_text, damaged_files_are_refused_or_sound) {
  std::mt19937_64 random(3);
  const std::string text = to_text(drawn_snapshot(5));
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      damaged[random() % damaged.size()] = static_cast<char>("0-9.,[]{}\":ex "[random() % 14]);
    try {
      check(snapshot_from(damaged, "a.json"));
    } catch (const std::invalid_argument&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tri::balancing
