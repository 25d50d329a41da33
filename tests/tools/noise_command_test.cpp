// `trireme noise` as its users meet it. What it measures is the machine's; that it fits together is tested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "os/cpu/pinning.hpp"
#include "support/command_runner.hpp"
#include "trireme/loops.hpp"

namespace tri::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string noise = TRIREME_COMMAND " noise ";

TEST(noise_command, figures_agree_with_each_other_and_with_the_samples) {
  const temporary_folder folder;
  const command_result done = run_command(
      folder.path(), noise + "--quantum 5us --samples 300 --bin 2us --json out.json --csv out.csv --svg out.svg");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.errors, IsEmpty()) << "no progress is shown where there is no terminal";
  EXPECT_THAT(done.output, HasSubstr("300 samples on each of"));
  EXPECT_THAT(done.output, HasSubstr("weights"));
  const json report = json::parse(contents_of(folder.path() / "out.json"));
  const std::vector<int> usable = os::cpus_of_this_thread();
  ASSERT_EQ(report["cores"].size(), usable.size());
  if (report.contains("claim_ns")) {  // K42; with one core there is nobody to claim beside
    EXPECT_GE(report["claim_ns"]["trials"].get<int>(), 9);
    EXPECT_GT(report["claim_ns"]["median"].get<double>(), 0.0);
    EXPECT_LE(report["claim_ns"]["least"].get<double>(), report["claim_ns"]["largest"].get<double>());
    EXPECT_THAT(done.output, ::testing::ContainsRegex(
                                 "claim of a chunk by one of [0-9]+ threads: [0-9.]+ [nu]s \\(median of 9 trials, "));
  } else {
    EXPECT_EQ(tri::loop_participants(), 1);
  }
  for (std::size_t index = 0; index < usable.size(); ++index) {
    const json& core = report["cores"][index];
    EXPECT_EQ(core["core"], usable[index]);
    EXPECT_EQ(core["samples"], 300);
    EXPECT_LE(core["min_us"], core["median_us"]);
    EXPECT_LE(core["median_us"], core["percentile_us"]);
    EXPECT_LE(core["percentile_us"], core["max_us"]);
    int samples = 0;
    for (const json& bin : core["histogram"]) samples += bin["samples"].get<int>();
    EXPECT_EQ(samples, 300);
    EXPECT_EQ(core["histogram"][0]["begin_us"], std::floor(core["min_us"].get<double>() / 2) * 2);
  }
  const std::string csv = contents_of(folder.path() / "out.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), static_cast<long>(1 + 300 * usable.size()));
  EXPECT_TRUE(contents_of(folder.path() / "out.svg").starts_with("<svg "));
}

TEST(noise_command, cores_can_be_chosen) {
  const temporary_folder folder;
  const int core = os::cpus_of_this_thread().back();
  const command_result done =
      run_command(folder.path(),
                  noise + "-q --one-by-one --quantum 2us --samples 20 --json o.json --cores " + std::to_string(core));
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, IsEmpty());
  const json report = json::parse(contents_of(folder.path() / "o.json"));
  ASSERT_EQ(report["cores"].size(), 1u);
  EXPECT_EQ(report["cores"][0]["core"], core);
  EXPECT_EQ(report["cores"][0]["weight"], 1.0);
  EXPECT_EQ(report["together"], false);
}

TEST(noise_command, wrong_values_are_explained) {
  const temporary_folder folder;
  const auto errors_of = [&](const std::string& options) {
    const command_result result = run_command(folder.path(), noise + options);
    EXPECT_EQ(result.status, 2) << options;
    EXPECT_THAT(result.output, IsEmpty());
    return result.errors;
  };
  EXPECT_THAT(errors_of("--cores 1000"), HasSubstr("may not use core 1000; it may use"));
  EXPECT_THAT(errors_of("--cores 0-"), HasSubstr("0-"));
  EXPECT_THAT(errors_of("--quantum 5"), HasSubstr("--quantum: '5' is not a length of time"));
  EXPECT_THAT(errors_of("--quantum 5ns"), HasSubstr("it must be at least 1.00 us"));
  EXPECT_THAT(errors_of("--bin 0us"), HasSubstr("--bin is 0us"));
  EXPECT_THAT(errors_of("--samples 0"), HasSubstr("--samples"));
  EXPECT_THAT(errors_of("--percent 101"), HasSubstr("--percent"));
  EXPECT_THAT(errors_of("--sample 5"), HasSubstr("did you mean --samples?"));
  EXPECT_THAT(errors_of("again"), HasSubstr("'again' is one argument too many"));
  EXPECT_THAT(errors_of("-q --quantum 1us --samples 2 --svg missing/x.svg"),
              HasSubstr("missing/x.svg: cannot be written"));
}

TEST(noise_command, help_teaches_with_examples) {
  const temporary_folder folder;
  const command_result help = run_command(folder.path(), noise + "--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, HasSubstr("trireme noise --cores 0,2-5 --loop 10ms"));
}

}  // namespace
}  // namespace tri::testing
