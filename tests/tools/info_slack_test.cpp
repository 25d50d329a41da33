// `trireme info --slack` on threads and on processes: what it measures is the machine's, that it is complete is tested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string command = TRIREME_COMMAND;

void expect_complete(const json& report, int pes, int rounds) {
  EXPECT_EQ(report["pes"], pes);
  EXPECT_EQ(report["rounds"], rounds);
  ASSERT_EQ(report["operations"].size(), 3u);
  const char* const names[] = {"broadcast", "reduction", "exchange"};
  for (std::size_t index = 0; index < 3; ++index) {
    const json& each = report["operations"][index];
    EXPECT_EQ(each["operation"], names[index]);
    EXPECT_LE(each["mean_us"], each["max_us"]);
    ASSERT_EQ(each["pes"].size(), static_cast<std::size_t>(pes));
    for (const json& pe : each["pes"]) {
      EXPECT_GT(pe["mean_us"], 0.0);
      EXPECT_LE(pe["median_us"], pe["max_us"]);
    }
  }
}

TEST(info_slack, on_any_number_of_threads) {
  const temporary_folder folder;
  for (const int pes : {1, 2, 3}) {
    const command_result done = run_command(
        folder.path(), command + " info --slack --rounds 30 --work 1us --json --tri-pes " + std::to_string(pes));
    ASSERT_EQ(done.status, 0) << done.errors;
    expect_complete(json::parse(done.output), pes, 30);
  }
}

TEST(info_slack, between_processes) {
  const temporary_folder folder;
  const command_result done = run_command(
      folder.path(), command + " run -n 2 --pes 2 " + command + " info --slack --rounds 20 --work 1us --json");
  ASSERT_EQ(done.status, 0) << done.errors;
  expect_complete(json::parse(done.output), 4, 20);
}

TEST(info_slack, as_a_table) {
  const temporary_folder folder;
  const command_result done = run_command(folder.path(), command + " info --slack --rounds 10 --tri-pes=2");
  EXPECT_THAT(done.output,
              HasSubstr("what each of 2 PEs waits in a collective operation after 20.0 us of work, 10 rounds"));
  EXPECT_THAT(done.output, HasSubstr("sigma within"));
}

TEST(info_slack, wrong_values_are_explained) {
  const temporary_folder folder;
  const auto errors_of = [&](const std::string& options) {
    const command_result result = run_command(folder.path(), command + " info " + options);
    EXPECT_EQ(result.status, 2) << options;
    return result.errors;
  };
  EXPECT_THAT(errors_of("--slack --rounds 0"), HasSubstr("--rounds"));
  EXPECT_THAT(errors_of("--slack --work 5"), HasSubstr("'5' is not a length of time"));
  EXPECT_THAT(errors_of("--rounds 5"), HasSubstr("--slack"));
}

}  // namespace
}  // namespace tri::testing
