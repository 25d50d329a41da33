// `trireme plan` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "drawn_pictures.hpp"
#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string plan = TRIREME_COMMAND " plan ";

command_result show(const std::string& options) {
  const temporary_folder folder;
  return run_command(folder.path(), plan + options);
}

TEST(plan_command, shows_rounds_messages_bytes_and_steps) {
  const command_result done = show("allgather --hosts 9 --ranks 4 --size 8 --algorithm multi_object_bruck --rank 5");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.errors, IsEmpty());
  EXPECT_THAT(done.output,
              AllOf(HasSubstr("allgather of 8 bytes, 36 ranks on 9 hosts, 4 on each"),
                    ContainsRegex("rounds between hosts +2\n"), ContainsRegex("messages between hosts +45, "),
                    HasSubstr("right in every interleaving"), HasSubstr("host 0 and 8 like it"),
                    HasSubstr("rank 0 and 8 like it"), HasSubstr("rank 1 and 26 like it"), HasSubstr("Steps of rank 5"),
                    HasSubstr("from rank")));
  EXPECT_THAT(done.output, Not(HasSubstr("Algorithms, the cheapest first")));
}

TEST(plan_command, takes_the_cheapest_algorithm_and_lists_the_others) {
  const command_result few = show("allreduce --hosts 16 --ranks 8 --size 8 --element 8 --compare");
  ASSERT_EQ(few.status, 0) << few.errors;
  EXPECT_THAT(few.output, AllOf(HasSubstr("algorithm multi_object_gathered"), HasSubstr("recursive_doubling")));
  EXPECT_LT(few.output.rfind("multi_object_bruck"), few.output.rfind("recursive_doubling"));
  EXPECT_LT(few.output.find("Algorithms, the cheapest first"), few.output.find("Critical path"))
      << "what was asked for is not behind hundreds of steps";
  const command_result ordered = show("allreduce --hosts 16 --ranks 8 --size 8 --element 8 --compare --ordered");
  ASSERT_EQ(ordered.status, 0) << ordered.errors;
  EXPECT_THAT(ordered.output, Not(HasSubstr("multi_object_bruck"))) << "it is for commutative operations";
}

TEST(plan_command, units_of_bytes_are_those_that_are_printed) {
  for (const auto& [size, bytes] :
       {std::pair{"64k", "65536"}, {"64K", "65536"}, {"2M", "2097152"}, {"1G", "1073741824"}})
    EXPECT_THAT(show(std::string("broadcast --hosts 2 --algorithm binomial --size ") + size).output,
                HasSubstr(std::string("broadcast of ") + bytes + " bytes"));
  for (const char* size : {"k", "1T", "1kk", "-1k", "10000000000G"})
    EXPECT_EQ(show(std::string("broadcast --size ") + size).status, 2) << size;
}

TEST(plan_command, pictures_of_the_document_are_what_it_draws) {
  EXPECT_GE(pictures_drawn_again(TRIREME_SOURCE_FOLDER "/docs", "dev/collectives.md", TRIREME_COMMAND, "plan"), 3);
}

TEST(plan_command, files_agree_with_the_table) {
  const temporary_folder folder;
  const command_result done = run_command(
      folder.path(),
      plan + "scatter --ranks 4,2,3 --size 100 --root 5 --algorithm multi_object --svg s.svg --json s.json");
  ASSERT_EQ(done.status, 0) << done.errors;
  const json report = json::parse(contents_of(folder.path() / "s.json"));
  EXPECT_EQ(report["ranks_of_hosts"], json({4, 2, 3}));
  EXPECT_EQ(report["root"], 5);
  EXPECT_EQ(report["rounds"], 1);
  EXPECT_EQ(report["between_hosts"]["messages"], 2);
  EXPECT_EQ(report["between_hosts"]["bytes"], 700);
  ASSERT_EQ(report["ranks"].size(), 9u);
  std::size_t sends = 0;
  for (const json& rank : report["ranks"])
    for (const json& step : rank["steps"]) sends += step["kind"] == "send" ? 1 : 0;
  EXPECT_EQ(sends, 2u);
  EXPECT_THAT(done.output, ContainsRegex("rounds between hosts +1\n"));
  const std::string svg = contents_of(folder.path() / "s.svg");
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg "), HasSubstr("host 2 rank 8"), HasSubstr("</svg>")));
}

TEST(plan_command, every_collective_has_a_plan) {
  for (const char* name : {"broadcast", "scatter", "gather", "allgather", "reduce", "allreduce", "reduce_scatter",
                           "alltoall", "scan", "exscan", "barrier"}) {
    const command_result done = show(std::string(name) + " --hosts 5 --ranks 3 --compare");
    EXPECT_EQ(done.status, 0) << done.errors;
    EXPECT_THAT(done.output, HasSubstr("right in every interleaving")) << name;
  }
  EXPECT_THAT(show("--ranks 2,3 barrier").output, HasSubstr("barrier, 5 ranks on 2 hosts (2,3)"))
      << "in any order of the words";
  EXPECT_THAT(show("broadcast --size 0").output, HasSubstr("right in every interleaving of 0 steps"));
}

TEST(plan_command, wrong_values_are_explained) {
  const auto errors_of = [&](const std::string& options) {
    const command_result result = show(options);
    EXPECT_EQ(result.status, 2) << options;
    EXPECT_THAT(result.output, IsEmpty());
    return result.errors;
  };
  EXPECT_THAT(errors_of("gossip"), HasSubstr("there is no collective 'gossip'; there are broadcast, scatter,"));
  EXPECT_THAT(errors_of(""), HasSubstr("collective is required"));
  EXPECT_THAT(errors_of("scan --algorithm star"),
              HasSubstr("there is no algorithm 'star' of scan; there are multi_object, single_leader, hillis_steele"));
  EXPECT_THAT(errors_of("allreduce --ordered --algorithm ring"), HasSubstr("only for commutative operations"));
  EXPECT_THAT(errors_of("bcast --ordered"), HasSubstr("--ordered is for reductions, and broadcast is none"));
  EXPECT_THAT(errors_of("alltoall --in-place --algorithm pairwise"),
              HasSubstr("pairwise of alltoall does not work in place"));
  EXPECT_THAT(errors_of("gather --hosts 2 --root 2"), HasSubstr("root 2 of 2 ranks; it must be 0 to 1"));
  EXPECT_THAT(errors_of("scan --root 1 --hosts 2"), HasSubstr("--root is 1, and scan has no root"));
  EXPECT_THAT(errors_of("scan --hosts 2 --rank 2"), HasSubstr("--rank is 2; it must be 0 to 1"));
  EXPECT_THAT(errors_of("scan --hosts 0"), HasSubstr("--hosts: '0' is not"));
  EXPECT_THAT(errors_of("scan --hosts 2 --ranks 1,2,3"), HasSubstr("--hosts is 2, and --ranks has those of 3 hosts"));
  EXPECT_THAT(errors_of("scan --hosts 100 --ranks 100"), HasSubstr("10000 ranks; it must be up to 1024"));
  EXPECT_THAT(errors_of("scan --size 9 --element 8"), HasSubstr("--size is 9, no multiple of --element, which is 8"));
  EXPECT_THAT(errors_of("barrier --size 8"), HasSubstr("--size is 8, and a barrier moves no bytes"));
  EXPECT_THAT(errors_of("scan --latency 5"), HasSubstr("--latency: '5' is not a length of time"));
  EXPECT_THAT(errors_of("scan --bandwidth 0"), HasSubstr("--bandwidth"));
  EXPECT_THAT(errors_of("scan --host 2"), HasSubstr("did you mean --hosts?"));
  EXPECT_THAT(errors_of("barrier --hosts 200 --svg b.svg"), HasSubstr("room for 128 ranks, and these are 200"));
  EXPECT_THAT(errors_of("barrier --json missing/x.json"), HasSubstr("missing/x.json: cannot be written"));
}

TEST(plan_command, help_teaches_with_examples) {
  const command_result help = show("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("trireme plan allgather --hosts 9 --ranks 4 --size 8"), HasSubstr("LogGP")));
}

}  // namespace
}  // namespace tri::testing
