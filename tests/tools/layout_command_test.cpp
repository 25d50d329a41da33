// `trireme layout` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "drawn_pictures.hpp"
#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string layout = TRIREME_COMMAND " layout ";

command_result show(const std::string& options) {
  const temporary_folder folder;
  return run_command(folder.path(), layout + options);
}

json report_of(const std::string& options) {
  const temporary_folder folder;
  const command_result done = run_command(folder.path(), layout + options + " --json l.json");
  EXPECT_EQ(done.status, 0) << options << '\n' << done.errors;
  return json::parse(contents_of(folder.path() / "l.json"));
}

TEST(layout_command, writes_the_pe_of_each_element_of_small_arrays) {
  const command_result in_turn = show("--extents 6,9 --tiles 2,3 --pes 4");
  ASSERT_EQ(in_turn.status, 0) << in_turn.errors;
  EXPECT_THAT(in_turn.output,
              AllOf(HasSubstr("6 x 9 elements of 8 bytes in tiles of 2 x 3"), HasSubstr("tiles in turn"),
                    HasSubstr("  0 0 0 1 1 1 2 2 2\n  0 0 0 1 1 1 2 2 2\n  3 3 3 0 0 0 1 1 1\n")));
  EXPECT_THAT(show("--extents 6,9 --tiles 2,3 --grid 2,2 --pes 4").output,
              AllOf(HasSubstr("over a grid of 2 x 2 PEs"), HasSubstr("  0 0 0 1 1 1 0 0 0\n")));
  EXPECT_THAT(show("--extents 7 --tiles 2 --pes 3").output, HasSubstr("\n  0 0 1 1 2 2 0\n"));
  EXPECT_THAT(show("--extents 6,900 --pes 4").output, Not(HasSubstr("The PE of each element")));
}

TEST(layout_command, counts_padding_and_shares) {
  const json report = report_of("--extents 5,7 --tiles 2,3 --pes 2 --element 4");
  ASSERT_EQ(report["pes"].size(), 2u);
  std::int64_t elements = 0, memory = 0;
  for (const json& pe : report["pes"]) {
    elements += pe["elements"].get<std::int64_t>();
    memory += pe["elements_in_memory"].get<std::int64_t>();
  }
  EXPECT_EQ(elements, 35);
  EXPECT_EQ(memory, 9 * 6);
  EXPECT_EQ(report["tiles"].size(), 9u);
  EXPECT_EQ(report["tiles"][8]["first"], json({4, 6}));
  EXPECT_EQ(report["tiles"][8]["last"], json({5, 7}));
  EXPECT_THAT(show("--extents 5,7 --tiles 2,3 --pes 2 --element 4").output, HasSubstr("35.2 % padding"));
}

// Four blocks of 4 x 4: each needs two edges of 4 elements and a corner.
TEST(layout_command, counts_ghost_cells) {
  const json report = report_of("--extents 8,8 --grid 2,2 --pes 4 --hosts 2 --halo 1");
  for (const json& pe : report["pes"]) {
    EXPECT_EQ(pe["halo_elements_of_other_pes"], 9);
    EXPECT_EQ(pe["halo_elements_of_other_hosts"], 5) << "an edge and the corner: hosts are rows of the grid";
    EXPECT_EQ(pe["halo_source_pes"], 3);
    EXPECT_EQ(pe["halo_source_pes_on_other_hosts"], 2);
  }
  for (const json& pe : report["pes"]) EXPECT_EQ(pe["elements_in_memory"], 36);
  const json ring = report_of("--extents 8,8 --grid 2,2 --pes 4 --halo 1 --periodic");
  EXPECT_EQ(ring["pes"][0]["halo_elements_of_other_pes"], 20) << "four edges and four corners";
  EXPECT_EQ(report_of("--extents 8,8 --grid 2,2 --pes 4 --halo 2,0")["pes"][0]["halo_elements_of_other_pes"], 8);
  EXPECT_EQ(report_of("--extents 8,8 --grid 2,2 --pes 4")["pes"][0]["halo_elements_of_other_pes"], 0);
}

TEST(layout_command, pictures_of_the_document_are_what_it_draws) {
  EXPECT_GE(pictures_drawn_again(TRIREME_SOURCE_FOLDER "/docs", "user/arrays.md", TRIREME_COMMAND, "layout"), 2);
}

TEST(layout_command, all_dimensions_work) {
  for (const char* extents : {"0", "9", "3,0", "3,4,5", "2,3,4,5", "2,3,2,3,2", "2,3,2,3,2,3"}) {
    const command_result done = show(std::string("--pes 4 --hosts 2 --extents ") + extents);
    EXPECT_EQ(done.status, 0) << extents << '\n' << done.errors;
  }
  EXPECT_THAT(show("--pes 4 --hosts 2 --extents 8,8 --tiles 2,2 --host-tiles 4,8").output,
              HasSubstr("in two levels, hosts by 4 x 8"));
}

TEST(layout_command, wrong_values_are_explained) {
  const auto errors_of = [&](const std::string& options) {
    const command_result result = show(options);
    EXPECT_EQ(result.status, 2) << options;
    EXPECT_THAT(result.output, IsEmpty());
    return result.errors;
  };
  EXPECT_THAT(errors_of(""), HasSubstr("--extents is required"));
  EXPECT_THAT(errors_of("--extents 1,1,1,1,1,1,1"), HasSubstr("7 numbers; global arrays have 1 to 6 dimensions"));
  EXPECT_THAT(errors_of("--extents 4,4 --tiles 2"), HasSubstr("--tiles has 1 numbers, and --extents has 2"));
  EXPECT_THAT(errors_of("--extents 4,4 --grid 2,2 --pes 3"), HasSubstr("its grid is (2, 2), 4 PEs; there are 3"));
  EXPECT_THAT(errors_of("--extents 4,4 --tiles 0,2"), HasSubstr("its tiles are (0, 2)"));
  EXPECT_THAT(errors_of("--extents 4 --pes 3 --hosts 2"), HasSubstr("--pes is 3, no multiple of --hosts, which is 2"));
  EXPECT_THAT(errors_of("--extents 4x4"), HasSubstr("--extents"));
  EXPECT_THAT(errors_of("--extents 10000,10000 --tiles 1,1"), HasSubstr("100000000 tiles; up to 1000000"));
  EXPECT_THAT(errors_of("--extents 4,4,4 --svg x.svg"), HasSubstr("draws 1 or 2 dimensions, and the array has 3"));
  EXPECT_THAT(errors_of("--extents 4 --json missing/x.json"), HasSubstr("missing/x.json: cannot be written"));
}

TEST(layout_command, help_teaches_with_examples) {
  const command_result help = show("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("trireme layout --extents 6,9"), HasSubstr("ScaLAPACK")));
}

}  // namespace
}  // namespace tri::testing
