// The suite `wire` as a user runs it: its rows, and that each kind of measurement works, ours and the peer's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/command_runner.hpp"

namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;

const tri::testing::temporary_folder folder;

tri::testing::command_result bench(const std::string& arguments) {
  return tri::testing::run_command(std::string(TRIREME_COMMAND) + " bench wire " + arguments);
}

TEST(wire_suite, has_the_rows_of_both_places) {
  const std::string list = bench("--list").output;
  for (const char* place : {"loopback", "veth"}) {
    for (const char* name : {"one_way/8 ", "one_way/4096 ", "one_way/65536 ", "one_way/4194304 ", "rate8 ",
                             "rate8_alone ", "stream/65536 ", "stream/4194304 ", "wake8 "})
      for (const char* conduit : {"ucx", "tcp"})
        EXPECT_THAT(list, HasSubstr(std::string("wire/") + conduit + "/" + place + "/" + name));
  }
}

TEST(wire_suite, measures_beside_raw_ucx) {
  const std::string file = (folder.path() / "rows.json").string();
  const auto ended = bench(
      "--quick --filter "
      "'ucx/(loopback/(one_way/8|one_way/65536|one_way/4194304|rate8|stream/65536|wake8)|veth/one_way/8)$"
      "|tcp/(loopback/(one_way/8|one_way/4194304|rate8|wake8)|veth/one_way/8)$'"
      " --json " +
      file);
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  const json rows = json::parse(tri::testing::contents_of(file)).at("rows");
  ASSERT_EQ(rows.size(), 12U);
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

TEST(wire_suite, measures_the_conduit_over_mpi) {
  const std::string file = (folder.path() / "mpi_rows.json").string();
  const auto ended = bench(
      "--quick --filter 'wire/(mpi/loopback/(one_way/8|one_way/65536|one_way/4194304|rate8|wake8|"
      "multi_ping_pong_posted/16x16384)|mpi/veth/one_way/8|ucx/loopback/multi_ping_pong/16x4096)$' --json " +
      file);
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  const json rows = json::parse(tri::testing::contents_of(file)).at("rows");
  ASSERT_EQ(rows.size(), 8U);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    if (row.contains("not_available")) {
      EXPECT_THAT(row.at("not_available").get<std::string>(),
                  AnyOf(HasSubstr("mpirun.mpich is installed"), HasSubstr("only root can make network namespaces")));
      continue;
    }
    EXPECT_GT(row.at("median").get<double>(), 0);
  }
}

TEST(wire_suite, measures_mailboxes) {
  const std::string file = (folder.path() / "mailbox_rows.json").string();
  const auto ended =
      bench("--quick --filter 'unexpected_flood/mailbox/(1024|102400)/|wire/mailbox/.*/32768' --json " + file);
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

TEST(wire_suite, measures_divisions_of_labour_and_memory) {
  const std::string file = (folder.path() / "division_rows.json").string();
  const auto ended = bench(
      "--quick --filter 'ucx/loopback/(divisions/|distributed_send/)|unexpected_flood/flood1024/' --json " + file);
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

TEST(wire_suite, measures_broadcasts_to_pretend_hosts) {
  const std::string file = (folder.path() / "broadcast_rows.json").string();
  const auto ended = bench("--quick --repetitions 3 --filter 'broadcast/(2|8|64)$' --json " + file);
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  const json rows = json::parse(tri::testing::contents_of(file)).at("rows");
  ASSERT_EQ(rows.size(), 3U);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    EXPECT_GT(row.at("median").get<double>(), 0);
    EXPECT_GT(row.at("peers").at("binomial").get<double>(), 0);
    EXPECT_GT(row.at("peers").at("flat").get<double>(), 0);
  }
}

TEST(wire_suite, measures_what_messages_do_to_the_cache) {
  const std::string file = (folder.path() / "cache_rows.json").string();
  const auto ended = bench("--quick --filter 'ucx/loopback/cache/' --json " + file);
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  const json rows = json::parse(tri::testing::contents_of(file)).at("rows");
  ASSERT_EQ(rows.size(), 2U);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    EXPECT_GT(row.at("median").get<double>(), 0);
    EXPECT_GT(row.at("peers").at("undisturbed").get<double>(), 0);
    const json& counts = row.at("counts");
    const bool is_mixed = row.at("name") == "wire/ucx/loopback/cache/mixed";
    EXPECT_GE(counts.at("messages").get<double>(), is_mixed ? 1.0 : 1e-9);
    // Misses where the machine counts them, else why it does not.
    if (!counts.contains("cache misses")) {
      EXPECT_THAT(row.at("note").get<std::string>(), HasSubstr("'L1-dcache-load-misses' cannot be counted: "));
    }
  }
}

TEST(wire_suite, measures_messages_put_to_their_place_by_pages) {
  const std::string file = (folder.path() / "remap_rows.json").string();
  const auto ended = bench("--quick --filter 'remap/.*/(8192|2097152)$' --json " + file);
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  const json rows = json::parse(tri::testing::contents_of(file)).at("rows");
  ASSERT_EQ(rows.size(), 4U);
  for (const json& row : rows) {
    SCOPED_TRACE(row.dump());
    ASSERT_FALSE(row.contains("error"));
    EXPECT_GT(row.at("median").get<double>(), 0);
    EXPECT_GT(row.at("peers").at("copy").get<double>(), 0);
  }
}

TEST(wire_suite, a_competitor_refuses_what_it_does_not_know) {
  const auto ended = bench("--wire-competitor 'port nothing loopback 8 1 1 0.1'");
  EXPECT_NE(ended.status, 0);
  EXPECT_THAT(ended.errors, HasSubstr("'nothing' in the task"));
}

}  // namespace
