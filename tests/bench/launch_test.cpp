// The suite `launch` as a user runs it (M77).
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "framework/row.hpp"
#include "support/command_runner.hpp"

namespace tri::bench {
namespace {

using nlohmann::json;

TEST(launch_suite, one_process_with_eight_pes_starts_faster_than_eight_processes) {
  const testing::temporary_folder folder;
  const testing::command_result done =
      testing::run_command(folder.path(), TRIREME_COMMAND " bench launch --quick --json l.json");
  ASSERT_EQ(done.status, 0) << done.errors;
  const json report = json::parse(testing::contents_of(folder.path() / "l.json"));
  ASSERT_EQ(report.at("rows").size(), 2u);
  for (const json& each : report.at("rows")) {
    const row found = each.get<row>();
    SCOPED_TRACE(found.name);
    EXPECT_GT(found.figure.median, 0.0);
    EXPECT_EQ(found.reference, "8 processes");
    // Of two jobs started one after the other the smaller one is the faster one; half as fast again on a busy machine
    // is still far from what eight starts of a process take.
    ASSERT_TRUE(found.ratio.has_value());
    EXPECT_LT(found.ratio->median, 1.0);
    EXPECT_GE(found.counts.at("ms to the end"), found.figure.median);
    EXPECT_LT(found.counts.at("processes"), 8);
  }
}

}  // namespace
}  // namespace tri::bench
