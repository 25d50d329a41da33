// `trireme sweep` as its users meet it: real jobs (M79, M80).
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::string sweep = TRIREME_COMMAND " sweep ";
const std::string job = TRIREME_COMMAND " bench --started-job";

class sweep_command : public ::testing::Test {
 protected:
  // A process of a job that is none of Trireme's: its figure depends on the PEs of each process.
  sweep_command() {
    write_file(folder_.path() / "app",
               "#!/bin/sh\ntest \"$1\" = fail && exit 7\ntest -n \"$1\" && sleep \"$1\"\n"
               "echo \"step: 99 ms\"; echo \"step: 1$TRIREME_PES.5 ms\"\n");
    fs::permissions(folder_.path() / "app", fs::perms(0755));
  }
  command_result run(const std::string& command) const { return run_command(folder_.path(), command); }
  temporary_folder folder_;
};

TEST_F(sweep_command, runs_a_job_for_each_split_of_the_cores) {
  const command_result done = run(sweep + "--cores 4 --runs 2 --json s.json --svg s.svg " + job);
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("on 4 cores: time of the whole run, 2 runs"));
  const json found = json::parse(contents_of(folder_.path() / "s.json"));
  ASSERT_EQ(found["splits"].size(), 3u);
  for (const json& each : found["splits"]) {
    EXPECT_EQ(each["processes"].get<int>() * each["pes"].get<int>(), 4);
    EXPECT_EQ(each["figures"].size(), 2u);
    EXPECT_GT(each["min"].get<double>(), 0.0);
  }
  EXPECT_THAT(contents_of(folder_.path() / "s.svg"), HasSubstr("</svg>"));
}

TEST_F(sweep_command, takes_the_last_figure_that_the_program_prints) {
  const command_result done =
      run(sweep + "--pes 1,2,3 --cores 4 --runs 1 --json s.json --figure 'step: ([0-9.]+) ms' ./app");
  ASSERT_EQ(done.status, 0) << done.errors;
  const json found = json::parse(contents_of(folder_.path() / "s.json"));
  EXPECT_EQ(found["splits"][0]["figures"], json({11.5}));
  EXPECT_EQ(found["splits"][1]["figures"], json({12.5}));
  EXPECT_EQ(found["splits"][2]["figures"], json({13.5}));
  EXPECT_EQ(found["splits"][2]["processes"], 1);
  EXPECT_EQ(found["best"]["pes"], 1);
  const command_result higher =
      run(sweep + "--pes 1,2 --cores 2 --runs 1 --higher --figure 'step: ([0-9.]+) ms' ./app");
  EXPECT_THAT(higher.output, HasSubstr("best: trireme run -n 1 --pes 2 ./app"));
}

TEST_F(sweep_command, compares_processes_with_threads) {
  const command_result done = run(sweep + "--modes --cores 2 --runs 1 ./app 0.3");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, ContainsRegex("processes x PEs of each +2 x 1 PE +1 x 2 PE +ratio\n"));
  EXPECT_THAT(done.output, ContainsRegex("time +[0-9.]+ .?s +[0-9.]+ .?s"));
  EXPECT_THAT(done.output, ContainsRegex("resident set of each PE \\(RSS\\) +[0-9.]+ MiB +[0-9.]+ MiB +[0-9.]+\n"));
  EXPECT_TRUE(done.output.find("first-level caches") != std::string::npos ||
              done.output.find("cache counters unavailable: ") != std::string::npos)
      << done.output;
}

TEST_F(sweep_command, bad_input_is_reported) {
  const auto fault = [&](const std::string& arguments, int status) {
    const command_result done = run(sweep + arguments);
    EXPECT_EQ(done.status, status) << arguments;
    return done.errors;
  };
  EXPECT_THAT(fault("--cores 2 --runs 1 ./app fail", 1), HasSubstr("ended with status 7"));
  EXPECT_THAT(fault("--cores 1 --runs 1 --figure 'none: ([0-9]+)' ./app", 1), HasSubstr("no line of the output"));
  EXPECT_THAT(fault("--cores 1 --runs 1 --figure '(step): ' ./app", 1), HasSubstr("'step' in the line"));
  EXPECT_THAT(fault("--figure '(' ./app", 2), HasSubstr("--figure '('"));
  EXPECT_THAT(fault("--cores 4 --pes 5 ./app", 2), HasSubstr("--pes 5: 4 cores are not enough"));
  EXPECT_THAT(fault("--cores 1 --modes ./app", 2), HasSubstr("--modes compares two splits"));
  EXPECT_THAT(fault("--cores 1 --hosts 2 ./app", 2), HasSubstr("2 hosts need as many processes"));
  EXPECT_THAT(fault("--modes --pes 1 ./app", 2), HasSubstr("leave out --pes"));
  EXPECT_NE(fault("", 2), "");
}

}  // namespace
}  // namespace tri::testing
