// Races of a program are found by --tri-shuffle, and what it finds is replayed exactly (--tri-record, --tri-replay).
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/command_runner.hpp"

namespace tri {
namespace {

namespace fs = std::filesystem;
using testing::command_result;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct shape {
  int processes;
  int pes;
  int hosts;
};

class order : public ::testing::Test {
 protected:
  command_result run(const shape& job, const std::string& options, const std::string& program = RACE_PROGRAM) const {
    return testing::run_command(folder_.path(), "timeout 60 " TRIREME_COMMAND " run -n " +
                                                    std::to_string(job.processes) + " --pes " +
                                                    std::to_string(job.pes) + " " + program +
                                                    " --tri-hosts=" + std::to_string(job.hosts) + " " + options);
  }
  // What has to be the same in a replay: the status, and the line with the digest of all that ran.
  static std::string result_of(const command_result& done) {
    const std::string all = done.output + done.errors;
    const std::size_t line = std::min(all.find("ran "), all.find("the account was paid"));
    if (line == std::string::npos) return "status " + std::to_string(done.status) + ": " + all;
    return "status " + std::to_string(done.status) + ": " + all.substr(line, all.find('\n', line) - line);
  }
  static bool is_race(const command_result& done) {
    return (done.output + done.errors).find("the account was paid into before it was opened") != std::string::npos;
  }
  testing::temporary_folder folder_;
};

// Until some seeds have failed and some have passed; every one of them is replayed.
class order_of_jobs : public order, public ::testing::WithParamInterface<shape> {};

TEST_P(order_of_jobs, finds_the_race_under_some_seeds_and_replays_each_run) {
  constexpr int wanted = 3;
  constexpr int most_seeds = 200;
  int failures = 0;
  int passes = 0;
  for (int seed = 1; seed <= most_seeds && (failures < wanted || passes < wanted); ++seed) {
    const std::string recorded = "--tri-shuffle=" + std::to_string(seed) + " --tri-record=r";
    const command_result first = run(GetParam(), recorded);
    ASSERT_TRUE(is_race(first) || first.status == 0) << first.output << first.errors;
    int& of_this_kind = is_race(first) ? failures : passes;
    if (++of_this_kind > wanted) continue;
    for (int again = 0; again < 2; ++again) {
      const command_result second = run(GetParam(), "--tri-replay=r");
      ASSERT_EQ(result_of(second), result_of(first)) << "seed " << seed << '\n' << second.output << second.errors;
    }
  }
  EXPECT_GE(failures, wanted);
  EXPECT_GE(passes, wanted);
}

INSTANTIATE_TEST_SUITE_P(jobs, order_of_jobs,
                         ::testing::Values(shape{1, 3, 1}, shape{3, 1, 1}, shape{2, 2, 1}, shape{3, 1, 3},
                                           shape{4, 2, 2}),
                         [](const auto& one) {
                           return std::to_string(one.param.processes) + "x" + std::to_string(one.param.pes) + "_on_" +
                                  std::to_string(one.param.hosts);
                         });

TEST_F(order, is_recorded_without_a_shuffle_too) {
  for (int times = 0; times < 5; ++times) {
    const command_result first = run({2, 2, 1}, "--tri-record=r");
    const command_result second = run({2, 2, 1}, "--tri-replay=r");
    ASSERT_EQ(result_of(second), result_of(first)) << second.output << second.errors;
  }
}

TEST_F(order, of_a_job_that_stops_or_hangs_is_replayed_up_to_there) {
  const command_result stopped = run({1, 3, 1}, "--tri-shuffle=1 --tri-record=r 4 stop");
  EXPECT_EQ(stopped.status, 7);
  EXPECT_EQ(run({1, 3, 1}, "--tri-replay=r 4 stop").status, 7);
  command_result hung;
  for (int seed = 1; seed < 50; ++seed) {
    hung = run({1, 3, 1}, "--tri-record=r --tri-stall-report-s=0.3 --tri-shuffle=" + std::to_string(seed) + " 4 hang");
    if (!is_race(hung)) break;
  }
  EXPECT_THAT(hung.errors, HasSubstr("the program waits for a result that cannot come"));
  const command_result again = run({1, 3, 1}, "--tri-replay=r --tri-stall-report-s=0.3 4 hang");
  EXPECT_EQ(again.status, hung.status);
  EXPECT_THAT(again.errors, HasSubstr("the program waits for a result that cannot come"));
}

// PEs of the process come with messages for a group while one of them makes its member; in the replay that takes no
// time.
TEST_F(order, of_a_node_group_that_is_made_slowly) {
  for (int seed = 1; seed <= 10; ++seed) {
    const command_result first =
        run({1, 4, 1}, "--tri-shuffle-delay-us=5000 --tri-record=r --tri-shuffle=" + std::to_string(seed) + " 6 slow");
    ASSERT_EQ(first.status, 0) << first.errors;
    const command_result second = run({1, 4, 1}, "--tri-replay=r --tri-stall-report-s=0.3 6 silent");
    ASSERT_EQ(result_of(second), result_of(first)) << "seed " << seed << '\n' << second.errors;
  }
}

class refused_replay : public order {
 protected:
  void SetUp() override {
    for (int seed = 1; seed < 50; ++seed)
      if (run({1, 3, 1}, "--tri-record=r --tri-shuffle=" + std::to_string(seed)).status == 0) return;
    FAIL() << "no seed passes";
  }
  static std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

TEST_F(refused_replay, of_another_job_or_program) {
  const command_result pes = run({1, 4, 1}, "--tri-replay=r");
  EXPECT_NE(pes.status, 0);
  EXPECT_THAT(pes.errors,
              HasSubstr("is of a job of 1 processes with 3 PEs on 1 hosts, but this job has 1 processes with "
                        "4 PEs on 1 hosts"));
  EXPECT_EQ(lines_of(pes.errors), 1u) << pes.errors;
  EXPECT_THAT(run({3, 1, 1}, "--tri-replay=r").errors, HasSubstr("but this job has 3 processes with 3 PEs on 1 hosts"));
  EXPECT_THAT(run({1, 3, 1}, "--tri-replay=r", OTHER_PROGRAM).errors, HasSubstr("is of another program"));
  EXPECT_THAT(run({1, 3, 1}, "--tri-replay=nowhere").errors, HasSubstr("cannot be read: No such file or directory"));
  EXPECT_THAT(run({1, 3, 1}, "--tri-replay=r --tri-record=s").errors, HasSubstr("exclude each other"));
  EXPECT_THAT(run({1, 3, 1}, "--tri-replay=r --tri-shuffle=1").errors, HasSubstr("exclude each other"));
  EXPECT_THAT(run({1, 3, 1}, "--tri-record=/dev/null/r").errors,
              HasSubstr("cannot record the order of messages in the folder"));
}

TEST_F(refused_replay, of_an_edited_record) {
  std::string record = testing::contents_of(folder_.path() / "r" / "pe-1.order");
  record[record.size() / 2] = static_cast<char>(record[record.size() / 2] ^ 1);
  testing::write_file(folder_.path() / "r" / "pe-1.order", record);
  const command_result edited = run({1, 3, 1}, "--tri-replay=r");
  EXPECT_NE(edited.status, 0);
  EXPECT_THAT(edited.errors, ContainsRegex("the record r/pe-1.order is damaged, or was edited: its entry [0-9]+"));
  EXPECT_EQ(lines_of(edited.errors), 1u) << edited.errors;
}

// Another input: other messages, and messages that never come.
TEST_F(refused_replay, that_leaves_its_record) {
  const command_result more = run({1, 3, 1}, "--tri-replay=r --tri-stall-report-s=0.3 7");
  EXPECT_NE(more.status, 0);
  EXPECT_THAT(more.errors, HasSubstr("are not those of the recorded job"));
  const command_result silent = run({1, 3, 1}, "--tri-replay=r --tri-stall-report-s=0.3 4 silent");
  EXPECT_NE(silent.status, 0);
  EXPECT_THAT(silent.errors,
              ContainsRegex("the replay (does not go on|leaves its record): entry [0-9]+ of .*clerk::pay'? of PE"));
  EXPECT_EQ(lines_of(silent.errors), 1u) << silent.errors;
}

// A record that was cut off has an end that the job did not have.
TEST_F(refused_replay, that_comes_to_its_end) {
  const fs::path record = folder_.path() / "r" / "pe-0.order";
  fs::resize_file(record, 48 + 8 * 3);
  const command_result cut = run({1, 3, 1}, "--tri-replay=r --tri-stall-report-s=0.3");
  EXPECT_NE(cut.status, 0);
  EXPECT_THAT(cut.errors, ContainsRegex("the replay (does not go on|has come to the end of its record)"));
}

}  // namespace
}  // namespace tri
