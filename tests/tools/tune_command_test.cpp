// `trireme tune`, with a program whose times are a formula, so that every result is known; and a real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "loops/loop_tuning.hpp"
#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string tune = TRIREME_COMMAND " tune ";

// Loop 1 is fastest with 30 % static; loop 2 gains less than a per cent; loop 3 has a schedule of its own.
constexpr const char* formula = R"(#!/bin/sh
echo "$TRIREME_LOOPS_SCHEDULE" >>log
test -n "$FAIL_WITH" && test "$TRIREME_LOOPS_SCHEDULE" = "$FAIL_WITH" && exit 3
case "$TRIREME_LOOPS_SCHEDULE" in
  automatic) a=2 b=1 ;;
  staggered) a=1.2 b=0.995 ;;
  staggered,*) a=$(awk -v f="${TRIREME_LOOPS_SCHEDULE#staggered,}" 'BEGIN { print 1 + (f > 0.3 ? f - 0.3 : 0.3 - f) }') b=0.995 ;;
  tasklets*count=64*skewed*) a=1.5 b=1.1 ;;
  *) a=3 b=1.1 ;;
esac
test -n "$TRIREME_LOOPS_REPORT_FILE" && cat >"$TRIREME_LOOPS_REPORT_FILE" <<END
{"program": "x", "loops": [
  {"file": "a.cpp", "line": 1, "schedule": "$TRIREME_LOOPS_SCHEDULE", "total_s": $a},
  {"file": "b.cpp", "line": 2, "schedule": "$TRIREME_LOOPS_SCHEDULE", "total_s": $b},
  {"file": "c.cpp", "line": 3, "schedule": "guided", "total_s": 100}]}
END
exit 0
)";

class tune_command : public ::testing::Test {
 protected:
  tune_command() {
    write_file(file("app"), formula);
    fs::permissions(file("app"), fs::perms(0755));
  }
  command_result run(const std::string& command) const { return run_command(folder_.path(), command); }
  fs::path file(const std::string& name) const { return folder_.path() / name; }
  json read(const std::string& name) const { return json::parse(contents_of(file(name))); }
  std::vector<std::string> log() const {
    std::istringstream lines(contents_of(file("log")));
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    return all;
  }

  temporary_folder folder_;
};

TEST_F(tune_command, finds_the_best_schedule_of_each_loop) {  // K41, K11
  const command_result done = run(tune + "--trials 2 --svg app.svg --csv app.csv ./app");
  ASSERT_EQ(done.status, 0) << done.errors;
  const json tuned = read("app.tune.json");
  EXPECT_EQ(tuned["trireme_tune"], 1);
  EXPECT_EQ(tuned["machine"], loops::machine_fingerprint());
  EXPECT_EQ(tuned["program"], "app");
  EXPECT_EQ(tuned["omp"], false);
  EXPECT_EQ(tuned["schedule"], "staggered,0.3");
  ASSERT_EQ(tuned["loops"].size(), 2u) << "the program names the schedule of the third";
  EXPECT_EQ(tuned["loops"][0]["file"], "a.cpp");
  EXPECT_EQ(tuned["loops"][0]["line"], 1);
  EXPECT_EQ(tuned["loops"][0]["schedule"], "staggered,0.3");
  EXPECT_EQ(tuned["loops"][0]["seconds"], 1.0);
  EXPECT_EQ(tuned["loops"][0]["automatic_seconds"], 2.0);
  EXPECT_EQ(tuned["loops"][1]["schedule"], "automatic") << "half a per cent is no gain";
  EXPECT_THAT(done.output, HasSubstr("staggered,0.3   <- best"));
  EXPECT_THAT(done.output, HasSubstr("TRIREME_LOOPS_TUNE=app.tune.json"));
  const std::string csv = contents_of(file("app.csv"));
  EXPECT_THAT(csv, HasSubstr("0.3,\"staggered,0.3\",1.995,1.995,1.995,2\n"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 11);
  EXPECT_THAT(contents_of(file("app.svg")), HasSubstr("static fraction"));
}

// A batch system ends the command alone, not what it has started. The last loop goes on as long as the program does.
TEST_F(tune_command, ending_it_ends_the_program) {
  write_file(file("endless"), "#!/bin/sh\necho $$ >started.new; mv started.new started; exec sleep 1000\n");
  fs::permissions(file("endless"), fs::perms(0755));
  // Ended is a zombie, too: some machines' first process lets it wait for seconds.
  for (const char* command : {"tune --measure run", "repeat --runs 1"}) {
    fs::remove(file("started"));
    run(std::string(TRIREME_COMMAND " ") + command +
        " ./endless & tune=$!; until test -s started; do sleep 0.02; done; kill $tune; wait $tune;"
        " while grep -qs '^State:[[:space:]][^ZX]' /proc/$(cat started)/status; do sleep 0.02; done");
  }
}

TEST_F(tune_command, every_schedule_has_its_trials_in_turn) {
  ASSERT_EQ(run(tune + "-q --trials 3 --step 0.5 --tasklets 16,64 ./app").status, 0);
  std::map<std::string, int> runs;
  for (const std::string& schedule : log()) ++runs[schedule];
  // automatic, static, dynamic, three fractions, and two numbers of tasklets in two sizes.
  EXPECT_EQ(runs.size(), 3u + 3u + 4u);
  for (const auto& [schedule, count] : runs) EXPECT_EQ(count, 3) << schedule;
  const std::vector<std::string> all = log();
  for (const std::size_t round : {1u, 2u})
    for (std::size_t index = 0; index < 6; ++index) EXPECT_EQ(all[6 * round + index], all[index]);
  EXPECT_EQ(all[0], "automatic");
}

TEST_F(tune_command, near_a_fraction_and_without_tasklets) {
  ASSERT_EQ(run(tune + "-q --trials 1 --near 0.28 --step 0.02 --no-tasklets -o best.json ./app").status, 0);
  EXPECT_THAT(log(), ElementsAre("automatic", "static", "dynamic", "staggered,0.24", "staggered,0.26", "staggered,0.28",
                                 "staggered,0.3", "staggered,0.32"));
  EXPECT_EQ(read("best.json")["schedule"], "staggered,0.3");
  EXPECT_FALSE(fs::exists(file("app.tune.json")));
}

TEST_F(tune_command, automatic_stays_when_nothing_gains_enough) {
  const command_result done = run(tune + "--trials 1 --step 1 --gain 60 ./app");
  ASSERT_EQ(done.status, 0);
  EXPECT_EQ(read("app.tune.json")["schedule"], "automatic");
  EXPECT_THAT(done.output, HasSubstr("No other schedule is faster than automatic by more than 60 %"));
}

TEST_F(tune_command, a_program_that_fails_ends_it_and_says_how_to_repeat) {
  const command_result failed = run("export FAIL_WITH=dynamic; " + tune + "--trials 1 ./app input");
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.errors, HasSubstr("ended with status 3; to see why: "));
  EXPECT_THAT(failed.errors, HasSubstr("TRIREME_LOOPS_SCHEDULE='dynamic' ./app input"));
  EXPECT_FALSE(fs::exists(file("app.tune.json")));
  const command_result missing = run(tune + "./missing");
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(missing.errors, "trireme tune: there is no program './missing' (No such file or directory)\n");
}

TEST_F(tune_command, a_program_without_loops_of_ours_is_told_what_to_do) {
  const command_result done = run(tune + "--trials 1 true");
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.errors, HasSubstr("an OpenMP program needs --omp"));
  EXPECT_EQ(run(tune + "-q --measure run --trials 1 --step 1 --no-tasklets -o t.json true").status, 0);
  EXPECT_THAT(read("t.json")["loops"], IsEmpty());
}

TEST_F(tune_command, an_openmp_program_without_loops_to_take_is_not_tuned) {
  if (!fs::exists(OMP_LIBRARY)) GTEST_SKIP() << "the drop-in was not built";
  const command_result done = run(tune + "--omp --trials 1 true");
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.errors, StartsWith("trireme tune: true ran no loop whose schedule can be chosen: gcc compiles "));
  EXPECT_FALSE(fs::exists(file("true.tune.json")));
}

TEST_F(tune_command, wrong_values_are_explained) {
  const auto errors_of = [&](const std::string& options) {
    const command_result result = run(tune + options);
    EXPECT_EQ(result.status, 2) << options;
    return result.errors;
  };
  EXPECT_THAT(errors_of(""), HasSubstr("a program is required"));
  EXPECT_THAT(errors_of("--trails 3 ./app"), HasSubstr("did you mean --trials?"));
  EXPECT_THAT(errors_of("--step 0 ./app"), HasSubstr("the step is 0; it must be above 0"));
  EXPECT_THAT(errors_of("--step 2 ./app"), HasSubstr("at most 1"));
  EXPECT_THAT(errors_of("--near 1.5 ./app"), HasSubstr("1.5"));
  EXPECT_THAT(errors_of("--trials 0 ./app"), HasSubstr("--trials"));
  EXPECT_THAT(errors_of("--kind dynamic ./app"), HasSubstr("use hybrid or staggered"));
  EXPECT_THAT(errors_of("--kind hybird ./app"), HasSubstr("hybrid"));
  EXPECT_THAT(errors_of("--omp --measure loops ./app"), HasSubstr("with --omp it is run"));
  EXPECT_FALSE(fs::exists(file("log"))) << "nothing is run before the options are right";
}

TEST_F(tune_command, help_teaches_with_examples) {
  EXPECT_THAT(run(tune + "--help").output, HasSubstr("TRIREME_LOOPS_TUNE=app.tune.json ./app big.in"));
}

// A program with a loop of ours: what was found is what it runs by.
TEST_F(tune_command, what_was_found_is_used_by_later_runs) {
  const command_result done = run(tune + "-q --trials 1 --step 1 --no-tasklets -o found.json " REPORT_PROGRAM);
  ASSERT_EQ(done.status, 0) << done.errors;
  json tuned = read("found.json");
  ASSERT_EQ(tuned["loops"].size(), 1u);
  EXPECT_THAT(tuned["loops"][0]["file"].get<std::string>(), HasSubstr("report_program.cpp"));
  // Whatever was best: another one, to tell.
  tuned["loops"][0]["schedule"] = "hybrid,0.25";
  write_file(file("found.json"), tuned.dump());
  const std::string with_report = "TRIREME_LOOPS_REPORT=1 TRIREME_LOOPS_TUNE=found.json " REPORT_PROGRAM;
  EXPECT_THAT(run(with_report).errors, HasSubstr("report_program.cpp:12 hybrid,0.25\n"));
  EXPECT_THAT(run("TRIREME_LOOPS_REPORT=1 " REPORT_PROGRAM).errors, HasSubstr("report_program.cpp:12 automatic\n"));
  EXPECT_THAT(run("TRIREME_LOOPS_REPORT=1 TRIREME_LOOPS_SCHEDULE=guided " REPORT_PROGRAM).errors,
              HasSubstr("report_program.cpp:12 guided\n"));
  tuned["machine"] = "another one";
  write_file(file("found.json"), tuned.dump());
  const command_result refused = run(with_report);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.errors, HasSubstr("made on another machine (another one)"));
}

TEST_F(tune_command, openmp_programs_run_under_the_drop_in) {
  if (!fs::exists(OMP_LIBRARY)) GTEST_SKIP() << "the drop-in was not built";
  // It tells what the drop-in would tell of it: the first run, which does not count, looks for that.
  write_file(
      file("omp"),
      "#!/bin/sh\necho \"$TRIREME_OMP_SCHEDULE\" >>log\n"
      "test -z \"$TRIREME_OMP_REPORT\" || echo \"trireme omp: omp: loops intercepted 3, passed through 0\" >&2\n");
  fs::permissions(file("omp"), fs::perms(0755));
  const command_result done = run(tune + "-q --omp --trials 1 --step 0.5 --no-tasklets ./omp");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(log(), ElementsAre("", "automatic", "static", "dynamic", "native", "staggered,0", "staggered,0.5",
                                 "staggered,1"));
  fs::remove(file("log"));
  ASSERT_EQ(run("TRIREME_OMP_VIRTUAL=4 " + tune + "-q --omp --trials 1 --step 1 --no-tasklets ./omp").status, 0);
  EXPECT_THAT(log(), ElementsAre("", "automatic", "static", "dynamic", "staggered,0", "staggered,1"))
      << "`native` has no virtual threads";
  json tuned = read("omp.tune.json");
  EXPECT_EQ(tuned["omp"], true);
  tuned["schedule"] = "hybrid,0.125";
  write_file(file("omp.tune.json"), tuned.dump());
  fs::remove(file("log"));
  const std::string exec = TRIREME_COMMAND " exec --omp ";
  ASSERT_EQ(run(exec + "--tune-file omp.tune.json ./omp").status, 0);
  EXPECT_THAT(log(), ElementsAre("hybrid,0.125"));
  EXPECT_THAT(run(exec + "--tune-file omp.tune.json --schedule static ./omp").errors, HasSubstr("one is enough"));
  EXPECT_THAT(run("TRIREME_LOOPS_TUNE=omp.tune.json " REPORT_PROGRAM).errors,
              HasSubstr("trireme exec --omp --tune-file"));
  tuned["omp"] = false;
  write_file(file("omp.tune.json"), tuned.dump());
  EXPECT_THAT(run(exec + "--tune-file omp.tune.json ./omp").errors, HasSubstr("TRIREME_LOOPS_TUNE=omp.tune.json"));
  tuned["machine"] = "another one";
  write_file(file("omp.tune.json"), tuned.dump());
  EXPECT_THAT(run(exec + "--tune-file omp.tune.json ./omp").errors, HasSubstr("made on another machine"));
}

}  // namespace
}  // namespace tri::testing
