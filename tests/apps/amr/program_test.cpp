// The program as a user runs it: the same bits on threads, processes and pretended hosts; beside a uniform mesh and the
// solution; what is conserved; its command line.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <string>

#include "apps/program_on_layouts.hpp"

namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using tri::testing::checksum_in;
using tri::testing::command_result;
using tri::testing::layout;
using tri::testing::number_in;

class program : public tri::testing::program_on_layouts {
 protected:
  program() : program_on_layouts(AMR_PROGRAM) {}
};

std::string table_in(const std::string& output) { return output.substr(0, output.find("\n\n")); }

constexpr const char* moving_disc = "--start disc --levels 3 --cells 8 --steps 60 --adapt-every 3 --print-every 10";

class layouts : public program, public testing::WithParamInterface<layout> {};

TEST_P(layouts, give_the_same_bits) {
  const command_result expected = run(moving_disc, {"", 0, 1, 1});
  ASSERT_EQ(expected.status, 0) << expected.output << expected.errors;
  EXPECT_THAT(checksum_in(expected.output), ContainsRegex("^checksum [0-9a-f]{16}\n$"));
  const command_result got = run(moving_disc, GetParam());
  ASSERT_EQ(got.status, 0) << got.output << got.errors;
  EXPECT_EQ(table_in(got.output), table_in(expected.output));
  EXPECT_EQ(checksum_in(got.output), checksum_in(expected.output));
  // Blocks were cut and merged on the way.
  std::smatch last;
  const std::string table = table_in(got.output);
  ASSERT_TRUE(std::regex_search(table, last, std::regex("\n +60 +[.0-9]+ +[0-9]+ +[0-9]+ +([0-9]+) +([0-9]+)")))
      << table;
  EXPECT_GT(std::stoi(last[1]), 10);
  EXPECT_GT(std::stoi(last[2]), 10);
}

INSTANTIATE_TEST_SUITE_P(on, layouts,
                         testing::Values(layout{"threads_2", 0, 2, 1}, layout{"threads_4", 0, 4, 1},
                                         layout{"processes_2x1", 2, 1, 1}, layout{"processes_2x2", 2, 2, 1},
                                         layout{"hosts_2x1", 2, 1, 2}, layout{"hosts_4x1_on_2", 4, 1, 2}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(program, gives_the_same_bits_with_messages_in_any_order) {
  const std::string expected = checksum_in(run(moving_disc).output);
  ASSERT_FALSE(expected.empty());
  for (const int seed : {1, 2, 3}) {
    for (const layout& on : {layout{"", 0, 3, 1}, layout{"", 2, 2, 2}}) {
      const command_result got = run(fmt::format("{} --tri-shuffle {}", moving_disc, seed), on);
      EXPECT_EQ(checksum_in(got.output), expected) << seed << got.errors;
    }
  }
}

// Where all blocks are refined as far as possible, the field is that of a uniform mesh of small cells, to the bit.
TEST_F(program, refined_everywhere_equals_a_uniform_mesh) {
  const std::string steps = " --cells 8 --steps 40 --courant 0.5 --velocity-x -1 --velocity-y 0.7";
  const command_result refined = run("--roots 2 --levels 2 --refine 0 --coarsen 0" + steps);
  const command_result uniform = run("--roots 8 --levels 0" + steps, {"", 2, 1, 2});
  ASSERT_EQ(refined.status, 0) << refined.errors;
  EXPECT_THAT(refined.output, HasSubstr("blocks by level: 0 0 64\n"));
  EXPECT_EQ(checksum_in(refined.output), checksum_in(uniform.output));
}

TEST_F(program, is_nearly_as_exact_as_a_uniform_mesh_with_a_part_of_the_work) {
  const std::string common = " --steps 200 --print-every 0";
  const command_result adaptive = run("--roots 4 --levels 3 --refine 0.01 --coarsen 0.002" + common);
  const command_result fine = run("--roots 32 --levels 0" + common);
  // The same time with cells of eight times the width.
  const command_result coarse = run("--roots 4 --levels 0 --steps 25 --print-every 0");
  ASSERT_EQ(adaptive.status, 0) << adaptive.errors;
  const double error = number_in(adaptive.output, "error");
  EXPECT_LT(error, 1.1 * number_in(fine.output, "error"));
  EXPECT_LT(error, 0.4 * number_in(coarse.output, "error"));
  EXPECT_LT(number_in(adaptive.output, "updates of cells,"), 0.5);
  EXPECT_EQ(number_in(fine.output, "updates of cells,"), 1.0);
}

// With equal loads for all blocks, what a strategy decides does not depend on the machine.
TEST_F(program, is_balanced_better_than_without_migration) {
  const std::string input = std::string(
      "--start disc --levels 3 --cells 8 --steps 120 --adapt-every 3 --print-every 30 --tri-balance-speeds equal");
  for (const layout& on : {layout{"", 0, 3, 1}, layout{"", 2, 2, 2}}) {
    const command_result still = run(input, on);
    const command_result balanced = run(input + " --balance refine --load equal", on);
    ASSERT_EQ(balanced.status, 0) << balanced.output << balanced.errors;
    EXPECT_EQ(table_in(balanced.output), table_in(still.output));
    EXPECT_EQ(checksum_in(balanced.output), checksum_in(still.output));
    EXPECT_GT(number_in(balanced.output, "of the mean;"), 0.0);
    EXPECT_EQ(number_in(still.output, "of the mean;"), 0.0);
    const double imbalance = number_in(balanced.output, "busiest PE:");
    EXPECT_LT(imbalance, 1.12) << balanced.output;
    EXPECT_LT(imbalance, number_in(still.output, "busiest PE:"));
  }
}

TEST_F(program, conserves_mass) {
  for (const char* const velocity : {"--velocity-x 1 --velocity-y 0.3", "--velocity-x -0.8 --velocity-y -1"}) {
    const command_result ended = run(std::string(moving_disc) + " " + velocity);
    EXPECT_LT(number_in(ended.output, "mass changed by"), 1e-13) << ended.output << ended.errors;
  }
}

TEST_F(program, runs_the_smallest_meshes) {
  EXPECT_EQ(run("--roots 1 --levels 0 --cells 2 --steps 5").status, 0);
  EXPECT_EQ(run("--roots 1 --levels 3 --cells 4 --steps 40 --adapt-every 1").status, 0);
  EXPECT_EQ(run("--steps 0").status, 0);
  EXPECT_EQ(run("--velocity-x 0 --velocity-y 0 --steps 10").status, 0);
  EXPECT_EQ(run("--adapt-every 0 --steps 10").status, 0);
}

TEST_F(program, draws_its_mesh) {
  ASSERT_EQ(run("--steps 8 --picture mesh.svg").status, 0);
  const std::string picture = tri::testing::contents_of(folder_.path() / "mesh.svg");
  EXPECT_THAT(picture, HasSubstr("</svg>"));
  EXPECT_GT(std::count(picture.begin(), picture.end(), '\n'), 100);
}

TEST_F(program, explains_bad_input) {
  const auto expect = [&](const std::string& arguments, const std::string& text) {
    const command_result ended = run(arguments);
    EXPECT_EQ(ended.status, 1) << arguments << ": " << ended.output;
    EXPECT_THAT(ended.errors, HasSubstr(text)) << arguments;
  };
  expect("--cells 7", "--cells 7: must be even");
  expect("--levels 11", "'11' is not possible; expected an integer from 0 to 10");
  expect("--courant 1.5", "'1.5' is not possible");
  expect("--refine 0.1 --coarsen 0.2", "--coarsen 0.2: must not be above --refine, which is 0.1");
  expect("--roots 1000 --levels 10", "cells along an edge at the finest level");
  expect("--load equal", "--load needs --balance NAME, the strategy");
  expect("--balance refin", "refine");
  expect("--start cube", "cube");
  expect("--step 3", "--step");
  expect("--steps 1 --picture no/folder.svg", "no/folder.svg: cannot be written: No such file or directory");
  EXPECT_THAT(run("--help").output, HasSubstr("--adapt-every"));
}

}  // namespace
