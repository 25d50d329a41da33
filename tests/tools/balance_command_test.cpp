// `trireme balance` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "drawn_pictures.hpp"
#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string balance = TRIREME_COMMAND " balance ";
const std::string patches = "--make patches,objects=500,pes=8,hosts=2 ";

command_result show(const std::string& options) {
  const temporary_folder folder;
  return run_command(folder.path(), balance + options);
}

TEST(balance_command, shows_what_a_strategy_brings) {
  const temporary_folder folder;
  const command_result done =
      run_command(folder.path(), balance + patches + "--strategy refine --json r.json --svg r.svg");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, AllOf(HasSubstr("500 objects on 8 PEs of 2 hosts"), HasSubstr("strategy refine"),
                                 HasSubstr("makespan"), HasSubstr("messages between hosts")));
  const json report = json::parse(contents_of(folder.path() / "r.json"));
  const json& run = report["strategies"].at(0);
  EXPECT_LT(run["after"]["makespan_ns"], run["before"]["makespan_ns"]);
  std::set<std::uint64_t> moved;
  for (const json& each : run["moves"]) EXPECT_TRUE(moved.insert(each["object"].get<std::uint64_t>()).second);
  EXPECT_GT(moved.size(), 0u);
  EXPECT_THAT(contents_of(folder.path() / "r.svg"),
              AllOf(HasSubstr("<svg"), HasSubstr("strategy refine: time of each PE"), HasSubstr("before: longest"),
                    HasSubstr("</svg>")));
}

TEST(balance_command, a_saved_snapshot_gives_the_same_result) {
  const temporary_folder folder;
  const auto moves_of = [&](const std::string& options) {
    const command_result done = run_command(folder.path(), balance + options + " --strategy gossip --json r.json");
    EXPECT_EQ(done.status, 0) << done.errors;
    return json::parse(contents_of(folder.path() / "r.json"))["strategies"][0]["moves"];
  };
  const json moves = moves_of(patches + "--save s.json");
  EXPECT_FALSE(moves.empty());
  EXPECT_EQ(moves_of("s.json"), moves);
}

TEST(balance_command, all_strategies_stand_in_one_table) {
  const command_result done = show(patches + "--strategy all");
  ASSERT_EQ(done.status, 0) << done.errors;
  for (const char* name : {"greedy", "refine", "communication", "contention", "curve", "bisection", "partition",
                           "topology", "gossip", "hierarchy"})
    EXPECT_THAT(done.output, HasSubstr(std::string("\n") + name));
  EXPECT_THAT(done.output, HasSubstr("messages for each PE"));
  EXPECT_THAT(show("--list").output, HasSubstr("hierarchy       distributed"));
}

TEST(balance_command, what_a_snapshot_lacks_is_a_line_of_the_table) {
  const temporary_folder folder;
  write_file(folder.path() / "s.json", R"({"format": "trireme load snapshot", "version": 1,
    "pes": {"host": [0, 0]}, "objects": {"load_ns": [5, 6], "pe": [0, 0]}})");
  const command_result done = run_command(folder.path(), balance + "s.json --strategy all");
  EXPECT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("curve           strategy 'curve' needs coordinates"));
  const command_result one = run_command(folder.path(), balance + "s.json --strategy curve");
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(one.errors, HasSubstr("needs coordinates"));
}

TEST(balance_command, pictures_of_the_document_are_what_it_draws) {
  EXPECT_GE(pictures_drawn_again(TRIREME_SOURCE_FOLDER "/docs", "user/balancing.md", TRIREME_COMMAND, "balance"), 1);
}

TEST(balance_command, wrong_values_are_explained) {
  const auto errors_of = [&](const std::string& options) {
    const command_result result = show(options);
    EXPECT_EQ(result.status, 2) << options;
    EXPECT_THAT(result.output, IsEmpty());
    return result.errors;
  };
  EXPECT_THAT(errors_of(""), HasSubstr("a snapshot is missing: name its file, or make one with --make"));
  EXPECT_THAT(errors_of("s.json --make random"), HasSubstr("a file or is made with --make, not both"));
  EXPECT_THAT(errors_of("missing.json"), HasSubstr("missing.json: cannot be read"));
  EXPECT_THAT(errors_of("--make random --strategy greddy"), HasSubstr("did you mean 'greedy'?"));
  EXPECT_THAT(errors_of("--make random,pes=x"), HasSubstr("'pes=x': pes must be a whole number"));
  EXPECT_THAT(errors_of("--make random --strategy all --svg x.svg"), HasSubstr("--svg draws one strategy"));
  EXPECT_THAT(errors_of("--make random --tolerance -1"), HasSubstr("--tolerance"));
  EXPECT_THAT(errors_of("--make random --json missing/x.json"), HasSubstr("missing/x.json: cannot be written"));
}

TEST(balance_command, help_teaches_with_examples) {
  const command_result help = show("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("trireme balance --make patches"), HasSubstr("makespan")));
}

}  // namespace
}  // namespace tri::testing
