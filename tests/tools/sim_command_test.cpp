// `trireme sim` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string sim = TRIREME_COMMAND " sim ";

command_result simulate(const std::string& options) {
  const temporary_folder folder;
  return run_command(folder.path(), sim + options);
}

TEST(sim_command, shows_time_messages_and_memory) {
  const command_result done =
      simulate("collective allgather --hosts 9 --ranks 4 --size 8 --algorithm multi_object_bruck");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.errors, IsEmpty()) << "progress is for terminals";
  EXPECT_THAT(done.output,
              AllOf(HasSubstr("allgather of 8 bytes, 36 ranks on 9 hosts, 4 on each"), ContainsRegex("noise +none\n"),
                    ContainsRegex("messages between hosts +45, "), ContainsRegex("most of one host +5 sent"),
                    ContainsRegex("memory at most .* a host; plans: "), ContainsRegex("plans in memory +of 9 of 9"),
                    ContainsRegex("\n +1 +9 +")));
}

TEST(sim_command, agrees_with_the_critical_path_of_plan) {
  const temporary_folder folder;
  const std::string what = "reduce_scatter --hosts 5 --ranks 3 --size 100 --algorithm multi_object --latency 3us";
  ASSERT_EQ(run_command(folder.path(), TRIREME_COMMAND " plan " + what + " --json plan.json").status, 0);
  ASSERT_EQ(run_command(folder.path(), sim + "collective " + what + " --json sim.json").status, 0);
  const json planned = json::parse(contents_of(folder.path() / "plan.json"));
  const json simulated = json::parse(contents_of(folder.path() / "sim.json"));
  EXPECT_EQ(simulated["time_ns"], planned["critical_path"].back()["end_ns"]);
  EXPECT_EQ(simulated["between_hosts"]["messages"], planned["between_hosts"]["messages"]);
  EXPECT_EQ(simulated["rounds"].size(), planned["rounds"].get<std::size_t>());
}

TEST(sim_command, noise_is_told_and_follows_from_its_seed) {
  const std::string noisy =
      "collective barrier --hosts 300 --ranks 8 --algorithm single_leader --noise 0.01 --noise-length 1ms --jitter 5us";
  const command_result done = simulate(noisy + " --seed 7");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, ContainsRegex("noise +a step of 0.01 up to 1.* ms longer, a message up to .*; seed 7\n"));
  EXPECT_EQ(simulate(noisy + " --seed 7").output, done.output);
  EXPECT_NE(simulate(noisy + " --seed 8").output, done.output);
}

TEST(sim_command, memory_of_plans_is_bounded) {
  const std::string job = "collective allreduce --hosts 1000 --ranks 4 --algorithm multi_object_bruck";
  const command_result bounded = simulate(job + " --memory 500k");
  ASSERT_EQ(bounded.status, 0) << bounded.errors;
  EXPECT_THAT(bounded.output, AllOf(Not(HasSubstr("of 1000 of 1000 hosts")), HasSubstr("of 1000 hosts at most")));
}

TEST(sim_command, wrong_values_are_explained) {
  const auto errors_of = [&](const std::string& options) {
    const command_result result = simulate(options);
    EXPECT_EQ(result.status, 2) << options;
    EXPECT_THAT(result.output, IsEmpty());
    return result.errors;
  };
  EXPECT_THAT(errors_of(""), HasSubstr("a subcommand is missing, `collective`"));
  EXPECT_THAT(errors_of("collective gossip"), HasSubstr("there is no collective 'gossip'; there are broadcast,"));
  EXPECT_THAT(errors_of("collective scan --hosts 4"),
              HasSubstr("--algorithm is missing; for scan there are multi_object, single_leader, hillis_steele"));
  EXPECT_THAT(errors_of("collective scan --hosts 70000"), HasSubstr("--hosts: '70000' is not"));
  EXPECT_THAT(errors_of("collective scan --hosts 65536 --ranks 65"),
              HasSubstr("4259840 ranks; it must be up to 4194304"));
  EXPECT_THAT(errors_of("collective allreduce --hosts 65536 --ranks 64 --algorithm ring"),
              AllOf(HasSubstr("ring of allreduce has about"), HasSubstr("Fewer: multi_object_bruck (about")));
  EXPECT_THAT(errors_of("collective allreduce --hosts 9 --algorithm ring --most-steps 100"),
              HasSubstr("it may be up to 100 steps together"));
  EXPECT_THAT(errors_of("collective scan --algorithm multi_object --jitter 5"),
              HasSubstr("--jitter: '5' is not a length of time"));
  EXPECT_THAT(errors_of("collective scan --algorithm multi_object --noise 2"), HasSubstr("--noise: '2' is not"));
}

TEST(sim_command, help_teaches_with_examples) {
  const command_result help = simulate("collective --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("trireme sim collective allreduce --hosts 65536 --ranks 64"),
                                 HasSubstr("LogGP"), HasSubstr("--jitter")));
}

}  // namespace
}  // namespace tri::testing
