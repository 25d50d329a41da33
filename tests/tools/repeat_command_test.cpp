// `trireme repeat` (K81, K23): a program whose times are given, a real one, and bad input.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::string repeat = TRIREME_COMMAND " repeat ";

// Each run of static takes 10 ms longer than the one before, those of other schedules take 30 ms; steps are given.
constexpr const char* program = R"(#!/bin/sh
echo "$TRIREME_LOOPS_SCHEDULE" >>log
runs=$(grep -c '^static$' log)
test "$TRIREME_LOOPS_SCHEDULE" = static && seconds=0.0${runs}0 || seconds=0.030
test "$TRIREME_LOOPS_SCHEDULE" = static && long=0.00015 || long=0.00011
cat >"$TRIREME_LOOPS_REPORT_FILE" <<END
{"program": "x", "loops": [
  {"file": "/x/a.cpp", "line": 7, "schedule": "$TRIREME_LOOPS_SCHEDULE", "total_s": $seconds,
   "steps_s": [0.0001, 0.0001, $long, 0.0001]},
  {"file": "/x/b.cpp", "line": 9, "schedule": "x", "total_s": 0, "steps_s": [1]}]}
END
)";

class repeat_command : public ::testing::Test {
 protected:
  repeat_command() {
    write_file(folder_.path() / "app", program);
    fs::permissions(folder_.path() / "app", fs::perms(0755));
  }
  command_result run(const std::string& command) const { return run_command(folder_.path(), command); }
  temporary_folder folder_;
};

TEST_F(repeat_command, says_how_much_the_runs_of_each_schedule_differ) {
  const command_result done = run(repeat + "--runs 3 --schedule static --schedule sds,0.5 --csv t.csv ./app");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("3 runs of each schedule, time of all loops"));
  EXPECT_THAT(done.output, ContainsRegex("20.0 ms +10.0 ms +30.0 ms +50.00 % +3.000  static\n"));
  EXPECT_THAT(done.output, ContainsRegex("30.0 ms +30.0 ms +30.0 ms +0.00 % +1.000  staggered,0.5\n"));
  EXPECT_EQ(contents_of(folder_.path() / "log"),
            "static\nstaggered,0.5\nstatic\nstaggered,0.5\nstatic\nstaggered,0.5\n")
      << "in turn";
  EXPECT_THAT(contents_of(folder_.path() / "t.csv"), HasSubstr("\"static\",2,0.030000000\n"));
}

TEST_F(repeat_command, shows_the_steps_of_the_longest_loop) {
  const command_result done = run(repeat + "--runs 2 --schedule static --schedule half --steps 5us ./app");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("static: 8 steps of the loop at a.cpp:7, median 100 us"));
  EXPECT_THAT(done.output, ContainsRegex("100 us +6 #+\n +...\n +150 us +2 #+\n"));  // a second hump
  EXPECT_THAT(done.output, ContainsRegex("100 us +6 #+\n +105 us +0\n +110 us +2 #+\n"));
}

TEST_F(repeat_command, measures_a_real_program) {
  const command_result done =
      run(repeat + "--runs 2 --schedule automatic --schedule static --steps 1ms " REPORT_PROGRAM);
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("time of all loops"));
  EXPECT_THAT(done.output, HasSubstr("automatic: 78 steps of the loop at report_program.cpp:12"));
  const command_result plain = run(repeat + "--runs 2 true");
  ASSERT_EQ(plain.status, 0) << plain.errors;
  EXPECT_THAT(plain.output, HasSubstr("time of the whole run"));
}

TEST_F(repeat_command, counts_cache_misses_or_says_why_not) {  // K31
  write_file(folder_.path() / "touch", "#!/bin/sh\nexec awk 'BEGIN { for (i = 0; i < 300000; ++i) a[i] = i }'\n");
  fs::permissions(folder_.path() / "touch", fs::perms(0755));
  const command_result done = run(repeat + "--runs 3 --caches ./touch");
  ASSERT_EQ(done.status, 0) << done.errors;
  if (const std::size_t at = done.output.find("cache counters unavailable: "); at != std::string::npos) {
    const std::string line = done.output.substr(at);
    EXPECT_THAT(line, ContainsRegex("^cache counters unavailable: '.+' cannot be counted: .+\n$")) << "one clear line";
  } else {
    EXPECT_THAT(done.output,
                ContainsRegex("L1 misses +last-level misses  schedule\n +[1-9][0-9]+ +[0-9]+  automatic\n"));
  }
  EXPECT_THAT(run(repeat + "--runs 1 ./touch").output, ::testing::Not(HasSubstr("cache"))) << "unless asked for";
}

TEST_F(repeat_command, bad_input_is_told) {
  const auto fault = [&](const std::string& arguments, int status) {
    const command_result done = run(repeat + arguments);
    EXPECT_EQ(done.status, status) << arguments;
    return done.errors;
  };
  EXPECT_THAT(fault("--schedule statik ./app", 2), HasSubstr("the nearest is 'static'"));
  EXPECT_THAT(fault("--steps 5 ./app", 2), HasSubstr("'5' is not a length of time"));
  EXPECT_THAT(fault("--steps 0us ./app", 2), HasSubstr("longer than 0"));
  EXPECT_THAT(fault("--runs 0 ./app", 2), HasSubstr("--runs"));
  EXPECT_THAT(fault("--omp --steps 5us ./app", 2), HasSubstr("trireme/loops.hpp"));
  EXPECT_THAT(fault("--runs 1 --steps 5us true", 1), HasSubstr("ran no loop of trireme/loops.hpp more than once"));
  EXPECT_THAT(fault("--runs 1 false", 1), HasSubstr("ended with status 1"));
  EXPECT_NE(fault("", 2), "");
}

}  // namespace
}  // namespace tri::testing
