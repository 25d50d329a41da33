// The suite `wire` as a user runs it: its rows, and that each kind of measurement works, ours and the peer's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/command_runner.hpp"

namespace {

using nlohmann::json;
using testing::HasSubstr;

const tri::testing::temporary_folder folder;

tri::testing::command_result bench(const std::string& arguments) {
  return tri::testing::run_command(std::string(TRIREME_COMMAND) + " bench wire " + arguments);
}

TEST(WireSuite, HasTheRowsOfBothPlaces) {
  const std::string list = bench("--list").output;
  for (const char* place : {"loopback", "veth"}) {
    for (const char* name : {"one_way/8 ", "one_way/4096 ", "one_way/65536 ", "one_way/4194304 ", "rate8 ",
                             "rate8_alone ", "stream/65536 ", "stream/4194304 ", "wake8 "})
      EXPECT_THAT(list, HasSubstr(std::string("wire/ucx/") + place + "/" + name));
  }
}

TEST(WireSuite, MeasuresBesideRawUcx) {
  const std::string file = (folder.path() / "rows.json").string();
  const auto ended = bench(
      "--quick --filter "
      "'ucx/(loopback/(one_way/8|one_way/65536|one_way/4194304|rate8|stream/65536|wake8)|veth/one_way/8)$'"
      " --json " +
      file);
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  const json rows = json::parse(tri::testing::contents_of(file)).at("rows");
  ASSERT_EQ(rows.size(), 7U);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    if (row.contains("not_available")) {
      EXPECT_NE(geteuid(), 0U);
      EXPECT_THAT(row.at("not_available").get<std::string>(), HasSubstr("only root can make network namespaces"));
      continue;
    }
    EXPECT_GT(row.at("median").get<double>(), 0);
    EXPECT_GT(row.at("peers").at("raw_ucx").get<double>(), 0);
  }
}

TEST(WireSuite, MeasuresTheConduitOverMpi) {
  const std::string file = (folder.path() / "mpi_rows.json").string();
  const auto ended = bench(
      "--quick --filter 'wire/(mpi/loopback/(one_way/8|one_way/65536|one_way/4194304|rate8|wake8|"
      "multi_ping_pong_posted/16x16384)|ucx/loopback/multi_ping_pong/16x4096)$' --json " +
      file);
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  const json rows = json::parse(tri::testing::contents_of(file)).at("rows");
  ASSERT_EQ(rows.size(), 7U);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    if (row.contains("not_available")) {
      EXPECT_THAT(row.at("not_available").get<std::string>(), HasSubstr("mpirun.mpich is installed"));
      continue;
    }
    EXPECT_GT(row.at("median").get<double>(), 0);
  }
}

TEST(WireSuite, MeasuresMailboxes) {
  const std::string file = (folder.path() / "mailbox_rows.json").string();
  const auto ended = bench("--quick --filter 'killer/mailbox/(1024|102400)/|wire/mailbox/.*/32768' --json " + file);
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  const json rows = json::parse(tri::testing::contents_of(file)).at("rows");
  ASSERT_EQ(rows.size(), 8U);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    EXPECT_GT(row.at("median").get<double>(), 0);
    const bool is_on_credit = row.at("name").get<std::string>().starts_with("wire/mailbox/");
    EXPECT_GT(row.at("peers").at(is_on_credit ? "asking" : "no_limit").get<double>(), 0);
  }
}

TEST(WireSuite, MeasuresDivisionsOfLabourAndMemory) {
  const std::string file = (folder.path() / "division_rows.json").string();
  const auto ended =
      bench("--quick --filter 'ucx/loopback/(divisions/|distributed_send/)|killer/flood1024/' --json " + file);
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  const json rows = json::parse(tri::testing::contents_of(file)).at("rows");
  ASSERT_EQ(rows.size(), 11U);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    EXPECT_GT(row.at("median").get<double>(), 0);
    EXPECT_EQ(row.at("peers").size(), 1U);
  }
}

TEST(WireSuite, AContestantRefusesWhatItDoesNotKnow) {
  const auto ended = bench("--wire-contestant 'port nothing loopback 8 1 1 0.1'");
  EXPECT_NE(ended.status, 0);
  EXPECT_THAT(ended.errors, HasSubstr("'nothing' in the task"));
}

}  // namespace
