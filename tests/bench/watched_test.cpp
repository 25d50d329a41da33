// The rows of what `trireme top` costs, as a user runs them: measured beside the same work that is not watched.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "framework/row.hpp"
#include "support/command_runner.hpp"

namespace tri::bench {
namespace {

using nlohmann::json;

TEST(watched_rows, are_beside_the_same_work_without) {
  const testing::temporary_folder folder;
  const testing::command_result done = testing::run_command(
      folder.path(), TRIREME_COMMAND " bench balance --quick --filter '^watched/' --json rows.json");
  ASSERT_EQ(done.status, 0) << done.errors;
  const json report = json::parse(testing::contents_of(folder.path() / "rows.json"));
  ASSERT_EQ(report.at("rows").size(), 2u);
  for (const json& each : report.at("rows")) {
    const row found = each.get<row>();
    SCOPED_TRACE(found.name);
    EXPECT_TRUE(found.error.empty()) << found.error;
    EXPECT_GT(found.figure.median, 0.0);
    EXPECT_EQ(found.target_ratio, 1.005);
    ASSERT_TRUE(found.ratio.has_value());
    EXPECT_GT(found.ratio->median, 0.1);
  }
}

}  // namespace
}  // namespace tri::bench
