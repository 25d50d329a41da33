// The rows of checkpoints in the suite `balance`, as a user runs them: measured, and beside what they are judged by.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "framework/row.hpp"
#include "support/command_runner.hpp"

namespace tri::bench {
namespace {

using nlohmann::json;

TEST(checkpoint_rows, have_their_targets_and_limits) {
  const testing::temporary_folder folder;
  const testing::command_result done =
      testing::run_command(folder.path(), "TMPDIR=. " TRIREME_COMMAND
                                          " bench balance --quick --filter '^(checkpoint|recovery)/' --json rows.json");
  ASSERT_EQ(done.status, 0) << done.errors;
  const json report = json::parse(testing::contents_of(folder.path() / "rows.json"));
  ASSERT_EQ(report.at("rows").size(), 4u);
  for (const json& each : report.at("rows")) {
    const row found = each.get<row>();
    SCOPED_TRACE(found.name);
    EXPECT_TRUE(found.error.empty()) << found.error;
    EXPECT_GT(found.figure.median, 0.0);
    ASSERT_TRUE(found.limit.has_value());
    EXPECT_GT(*found.limit, 0.0);
    if (found.name.starts_with("recovery/")) {
      EXPECT_EQ(found.target, 1000.0);
      EXPECT_GT(found.figure.median, 10.0) << "no job is started again as fast as that";
    } else {
      EXPECT_TRUE(found.target_ratio.has_value());
      ASSERT_TRUE(found.ratio.has_value());
      EXPECT_GT(found.ratio->median, 0.5) << "faster than what it is beside";
    }
  }
  // Nothing is left.
  EXPECT_EQ(testing::run_command(folder.path(), "ls -d trireme-bench-* 2> /dev/null").output, "");
}

}  // namespace
}  // namespace tri::bench
