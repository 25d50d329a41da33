#include "framework/row.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "framework/suite.hpp"
#include "framework/table.hpp"

namespace tri::bench {
namespace {

row sample_row() {
  row made;
  made.name = "entry/threads/one_way";
  made.unit = "ns";
  made.figure = {380, 350, 420, 200};
  made.target = 400;
  made.target_ratio = 3.6;
  made.limit = 110;
  made.handoff_ns = 110;
  made.ratio = summary{3.7, 3.5, 4.0, 200};
  made.peers = {{"charm", 900}};
  return made;
}

TEST(row_json, has_the_shared_form) {
  const nlohmann::json json = sample_row();
  EXPECT_EQ(json["name"], "entry/threads/one_way");
  EXPECT_EQ(json["unit"], "ns");
  EXPECT_EQ(json["median"], 380.0);
  EXPECT_EQ(json["p10"], 350.0);
  EXPECT_EQ(json["p90"], 420.0);
  EXPECT_EQ(json["better"], "lower");
  EXPECT_EQ(json["target"], 400.0);
  EXPECT_EQ(json["limit"], 110.0);
  EXPECT_EQ(json["peers"]["charm"], 900.0);
}

TEST(row_json, absent_numbers_are_null_and_peers_an_object) {
  row bare;
  bare.name = "x";
  bare.unit = "ns";
  const nlohmann::json json = bare;
  EXPECT_TRUE(json.at("target").is_null());
  EXPECT_TRUE(json.at("limit").is_null());
  EXPECT_TRUE(json.at("peers").is_object());
  EXPECT_TRUE(json.at("peers").empty());
}

TEST(row_json, reads_what_it_wrote) {
  const nlohmann::json json = sample_row();
  EXPECT_EQ(nlohmann::json(json.get<row>()), json);
}

TEST(row_json, says_what_is_not_available_instead_of_figures) {
  row absent = sample_row();
  absent.ratio = std::nullopt;
  absent.not_available = "there is no drop-in";
  const nlohmann::json json = absent;
  EXPECT_TRUE(json.at("median").is_null());
  EXPECT_TRUE(json.at("p90").is_null());
  EXPECT_EQ(json.at("not_available"), "there is no drop-in");
  EXPECT_EQ(json.at("peers").at("charm"), 900.0);
  EXPECT_EQ(nlohmann::json(json.get<row>()), json);
  EXPECT_EQ(verdict_of(absent), verdict::no_target);
  EXPECT_THAT(table_line(absent),
              ::testing::ContainsRegex("one_way +not available +<= 400 +there is no drop-in; charm 900"));
}

TEST(row_json, carries_a_failure_instead_of_figures) {
  row failed;
  failed.name = "x";
  failed.unit = "ns";
  failed.error = "no second CPU";
  const nlohmann::json json = failed;
  EXPECT_FALSE(json.contains("median"));
  EXPECT_EQ(json.get<row>().error, "no second CPU");
}

TEST(row_json, names_a_wrong_direction) {
  nlohmann::json json = sample_row();
  json["better"] = "sideways";
  EXPECT_THAT([&] { json.get<row>(); },
              testing::ThrowsMessage<std::invalid_argument>(testing::HasSubstr("'sideways'")));
}

TEST(row_json, names_numbers_that_are_no_counts) {
  for (const nlohmann::json& wrong : {nlohmann::json(-1), nlohmann::json(1e300), nlohmann::json("many")}) {
    nlohmann::json json = sample_row();
    json["disturbed"] = wrong;
    EXPECT_THAT([&] { json.get<row>(); }, testing::ThrowsMessage<std::out_of_range>(testing::AllOf(
                                              testing::HasSubstr("'disturbed' is " + wrong.dump()),
                                              testing::HasSubstr("it must be a whole number from 0 to"))));
  }
}

TEST(verdict, follows_the_direction) {
  row measured = sample_row();
  EXPECT_EQ(verdict_of(measured), verdict::met);
  EXPECT_EQ(ratio_verdict_of(measured), verdict::missed);
  measured.direction = better::higher;
  EXPECT_EQ(verdict_of(measured), verdict::missed);
  measured.target.reset();
  EXPECT_EQ(verdict_of(measured), verdict::no_target);
}

TEST(units, times_and_rates) {
  EXPECT_DOUBLE_EQ(nanoseconds_in_unit(250, "ns"), 250);
  EXPECT_DOUBLE_EQ(nanoseconds_in_unit(250, "us"), 0.25);
  EXPECT_DOUBLE_EQ(nanoseconds_in_unit(100, "M/s"), 10);
  EXPECT_DOUBLE_EQ(nanoseconds_in_unit(100, "k/s"), 10'000);
  EXPECT_THROW(nanoseconds_in_unit(1, "parsecs"), std::invalid_argument);
}

TEST(make_row, converts_and_compares_batch_by_batch) {
  const row_definition definition{.name = "x", .unit = "us", .target = 1};
  // The hand-off changes from batch to batch with the figure: the ratio must stay the same.
  const row made = make_row(definition, {.samples = {.operation_ns = {300, 60, 300}, .handoff_ns = {100, 20, 100}}});
  EXPECT_DOUBLE_EQ(made.figure.median, 0.3);
  EXPECT_DOUBLE_EQ(made.ratio->p10, 3);
  EXPECT_DOUBLE_EQ(made.ratio->p90, 3);
  EXPECT_DOUBLE_EQ(*made.limit, 0.1);
}

TEST(make_row, takes_values_that_are_no_times) {
  const row_definition definition{.name = "x", .unit = "bytes"};
  measurement measured;
  measured.values = {64, 64, 64};
  EXPECT_DOUBLE_EQ(make_row(definition, measured).figure.median, 64);
}

TEST(table, shows_figure_target_hand_off_and_peers) {
  const std::string line = table_line(sample_row());
  for (const char* part : {"entry/threads/one_way", "380", "350", "420", "<= 400", " met ", "3.7x of 110 ns",
                           "(<= 3.6 MISSED)", "charm 900"}) {
    EXPECT_THAT(line, testing::HasSubstr(part));
  }
}

TEST(table, numbers_stay_short) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.12345), "0.123");
  EXPECT_EQ(short_number(12.345), "12.3");
  EXPECT_EQ(short_number(999.4), "999");
  EXPECT_EQ(short_number(1234.6), "1,235");
  EXPECT_EQ(short_number(1234567), "1,234,567");
  EXPECT_EQ(short_number(-1234), "-1,234");
}

}  // namespace
}  // namespace tri::bench
