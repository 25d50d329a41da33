// The suite `arrays` as a user runs it: its rows, and that each kind of measurement works, ours and the peers'.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/command_runner.hpp"

namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

const tri::testing::temporary_folder folder;

tri::testing::command_result bench(const std::string& arguments) {
  return tri::testing::run_command(std::string(TRIREME_COMMAND) + " bench arrays " + arguments);
}
json rows(const std::string& filter) {
  const std::string file = (folder.path() / "rows.json").string();
  const auto ended = bench("--quick --filter '" + filter + "' --json " + file);
  EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
  return json::parse(tri::testing::contents_of(file)).at("rows");
}
void expect_figures(const json& row) {
  ASSERT_FALSE(row.contains("error"));
  EXPECT_GT(row.at("median").get<double>(), 0);
  for (const auto& [name, median] : row.at("peers").items()) EXPECT_GT(median.get<double>(), 0) << name;
}
// Namespaces are for root, and not to be had everywhere.
void expect_figures_or_reason(const json& row) {
  if (row.contains("not_available"))
    EXPECT_THAT(row.at("not_available").get<std::string>(), StartsWith("network_hosts.sh: "));
  else
    expect_figures(row);
}

TEST(arrays_suite, has_the_rows_of_all_places) {
  const std::string list = bench("--list").output;
  for (const std::string place : {"same_host", "hosts", "hosts_ucx", "veth", "veth_ucx"})
    for (const char* name : {"get8 ", "put8 ", "fetch_add ", "random_dependent ", "random_get ", "random_put ", "xor ",
                             "get_1MiB ", "put_1MiB ", "tile256 ", "column2048 ", "get/8 ", "put/65536 "})
      EXPECT_THAT(list, HasSubstr("arrays/" + place + "/" + name));
  for (const char* name : {"hosts/busy_target ", "veth_ucx/busy_target_alone ", "local_loop ", "index/power_of_two ",
                           "index/multiplication "})
    EXPECT_THAT(list, HasSubstr(std::string("arrays/") + name));
}

// A peer of each group that the peers have. One that fails is in the note; where its package is, it does not.
TEST(arrays_suite, measures_beside_the_peers_that_are_installed) {
  const json all = rows("same_host/(get8|random_get|column2048|get/64)$");
  ASSERT_EQ(all.size(), 4U);
  for (const json& row : all) {
    SCOPED_TRACE(row.dump());
    expect_figures(row);
    EXPECT_FALSE(row.contains("note")) << "a peer failed";
    for (const std::string peer : {INSTALLED_PEERS ""}) {
      if (peer.empty() || (peer == "coarrays" && row.at("name") == "arrays/same_host/get/64")) continue;
      EXPECT_TRUE(row.at("peers").contains(peer)) << peer;
    }
    EXPECT_EQ(row.contains("best_peer"), !row.at("peers").empty());
  }
}

TEST(arrays_suite, measures_gets_of_another_host_beside_messages) {
  const json all = rows("hosts/(get8|tile256)$|veth/get8$");
  ASSERT_EQ(all.size(), 3U);
  for (const json& row : all) {
    SCOPED_TRACE(row.dump());
    expect_figures_or_reason(row);
    if (row.contains("not_available")) continue;
    EXPECT_THAT(row.at("note").get<std::string>(), HasSubstr("to a message"));
  }
}

TEST(arrays_suite, measures_gets_from_a_computing_target_and_loops_of_the_owner) {
  const json all = rows("hosts/busy_target$|hosts/busy_target_alone$|local_loop|index/");
  ASSERT_EQ(all.size(), 8U);
  for (const json& row : all) {
    SCOPED_TRACE(row.dump());
    expect_figures(row);
    EXPECT_FALSE(row.at("peers").empty());
  }
}

}  // namespace
