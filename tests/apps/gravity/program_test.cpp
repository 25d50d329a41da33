// The program as a user runs it: the same bits on threads, processes and pretended hosts; forces beside direct
// summation; what is conserved; degenerate inputs; its command line and files.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>

#include "apps/program_on_layouts.hpp"

namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using tri::testing::checksum_in;
using tri::testing::command_result;
using tri::testing::layout;

class program : public tri::testing::program_on_layouts {
 protected:
  program() : program_on_layouts(GRAVITY_PROGRAM) {}
  std::string file(const std::string& name) const { return tri::testing::contents_of(folder_.path() / name); }
};

/// A number of a table, behind any number of blanks.
double number_in(const std::string& output, const std::string& name) {
  return tri::testing::number_in(output, name + " *");
}

/// The lines of energies.
std::string table_in(const std::string& output) {
  const auto begin = output.find("    step ");
  const auto end = output.find("\n\n", begin);
  return begin == std::string::npos || end == std::string::npos ? "" : output.substr(begin, end - begin);
}

constexpr const char* clustered = "--input collision --bodies 1500 --steps 4 --subtree 64 --bucket 8 --distance 2";
constexpr const char* uniform = "--input uniform --bodies 1500 --steps 4 --subtree 64 --bucket 8 --theta 0.4";

class layouts : public program, public testing::WithParamInterface<layout> {};

TEST_P(layouts, give_the_same_bits) {
  for (const char* const input : {clustered, uniform}) {
    const command_result expected = run(std::string(input) + " --pieces 1 --write one", {"", 0, 1, 1});
    ASSERT_EQ(expected.status, 0) << expected.output << expected.errors;
    EXPECT_THAT(checksum_in(expected.output), ContainsRegex("^checksum [0-9a-f]{16}\n$"));
    ASSERT_FALSE(table_in(expected.output).empty()) << expected.output;
    const command_result got = run(std::string(input) + " --pieces 13 --write here", GetParam());
    ASSERT_EQ(got.status, 0) << got.output << got.errors;
    EXPECT_EQ(table_in(got.output), table_in(expected.output));
    EXPECT_EQ(checksum_in(got.output), checksum_in(expected.output));
    EXPECT_TRUE(file("here") == file("one"));
    EXPECT_EQ(file("here").size(), 24U + 1500U * 56U);
  }
}

INSTANTIATE_TEST_SUITE_P(on, layouts,
                         testing::Values(layout{"threads_1", 0, 1, 1}, layout{"threads_2", 0, 2, 1},
                                         layout{"threads_4", 0, 4, 1}, layout{"processes_2x1", 2, 1, 1},
                                         layout{"processes_2x2", 2, 2, 1}, layout{"hosts_2x1", 2, 1, 2},
                                         layout{"hosts_4x1_on_2", 4, 1, 2}, layout{"hosts_3x2", 3, 2, 3}),
                         [](const auto& each) { return std::string(each.param.name); });

// Pieces, subtrees, and what is fetched at once decide where bodies are, not what they do.
TEST_F(program, gives_the_same_bits_for_any_division) {
  const std::string input = "--input collision --bodies 1500 --steps 3 --bucket 8 ";
  const std::string expected = checksum_in(run(input + "--pieces 1 --subtree 1500").output);
  ASSERT_FALSE(expected.empty());
  for (const char* const division :
       {"--pieces 40 --subtree 8", "--pieces 3 --subtree 100 --fetch-levels 1", "--pieces 7 --fetch-levels 5"})
    EXPECT_EQ(checksum_in(run(input + division).output), expected) << division;
  EXPECT_EQ(checksum_in(run(input + "--kernels generic").output), expected);
}

// Where the parts of space stay, the tree is another one, but again the same everywhere.
TEST_F(program, gives_the_same_bits_with_a_division_that_stays) {
  const std::string input = "--input collision --ratio 3 --bodies 1500 --steps 8 --time-step 0.1 --deal-every 0 ";
  const std::string expected = checksum_in(run(input + "--pieces 5", {"", 0, 1, 1}).output);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(checksum_in(run(input + "--pieces 5", {"", 2, 2, 2}).output), expected);
  EXPECT_EQ(checksum_in(run(input + "--pieces 11").output), expected);
  EXPECT_NE(checksum_in(run("--input collision --ratio 3 --bodies 1500 --steps 8 --time-step 0.1").output), expected);
}

TEST_F(program, gives_the_same_bits_with_messages_in_any_order) {
  const std::string input = std::string(clustered) + " --pieces 13 ";
  const std::string expected = checksum_in(run(input).output);
  ASSERT_FALSE(expected.empty());
  for (const int seed : {1, 2, 3}) {
    for (const layout& on : {layout{"", 0, 3, 1}, layout{"", 2, 2, 2}}) {
      const command_result got = run(fmt::format("{} --tri-shuffle {}", input, seed), on);
      EXPECT_EQ(checksum_in(got.output), expected) << seed << got.errors;
    }
  }
}

class angles : public program, public testing::WithParamInterface<const char*> {};

TEST_P(angles, decide_how_exact_forces_are) {
  const std::string input = fmt::format("--input {} --bodies 2000 --steps 1 --subtree 100 --verify", GetParam());
  const command_result exact = run(input + " --theta 0");
  EXPECT_LT(number_in(exact.output, "largest"), 1e-12) << exact.output << exact.errors;
  double before = 0.0;
  for (const double theta : {1.0, 0.7, 0.5}) {
    const command_result ended = run(fmt::format("{} --theta {}", input, theta));
    ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
    const double median = number_in(ended.output, "median");
    EXPECT_LT(median, 2e-2 * theta * theta * theta);
    EXPECT_GT(median, 1e-7);
    EXPECT_LT(number_in(ended.output, "99 %"), 0.3 * theta * theta * theta);
    if (before != 0.0) {
      EXPECT_LT(median, 0.5 * before);
    }
    before = median;
  }
}

INSTANTIATE_TEST_SUITE_P(of, angles, testing::Values("uniform", "plummer", "collision"),
                         [](const auto& each) { return std::string(each.param); });

TEST_F(program, conserves_energy_and_momentum) {
  const command_result ended =
      run("--bodies 1000 --steps 200 --softening 0.05 --time-step 0.01 --theta 0.5 --print-every 0");
  ASSERT_EQ(ended.status, 0) << ended.output << ended.errors;
  EXPECT_LT(number_in(ended.output, "energy changed by"), 1e-3) << ended.output;
  EXPECT_LT(number_in(ended.output, "momentum by"), 1e-3);
  const std::string table = table_in(ended.output);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2);  // header, first and last
}

// The leapfrog is of second order: a quarter of the error with half of the step, where forces are exact.
TEST_F(program, has_errors_of_energy_that_fall_with_the_square_of_the_step) {
  const std::string input = "--bodies 300 --theta 0 --softening 0.2 --print-every 0 --input collision --distance 1 ";
  const double coarse = number_in(run(input + "--steps 10 --time-step 0.04").output, "energy changed by");
  const double fine = number_in(run(input + "--steps 40 --time-step 0.01").output, "energy changed by");
  EXPECT_GT(coarse, 8.0 * fine);
  EXPECT_LT(coarse, 32.0 * fine);
}

// Without an opening angle each pair pulls both of its bodies alike.
TEST_F(program, conserves_momentum_to_rounding_without_an_opening_angle) {
  const command_result ended = run("--bodies 300 --steps 50 --theta 0 --print-every 0");
  EXPECT_LT(number_in(ended.output, "momentum by"), 1e-13) << ended.output << ended.errors;
}

struct degenerate {
  const char* name;
  const char* bodies;
  const char* options;
};
class degenerate_inputs : public program, public testing::WithParamInterface<degenerate> {};

TEST_P(degenerate_inputs, are_computed) {
  tri::testing::write_file(folder_.path() / "bodies.txt", GetParam().bodies);
  const std::string arguments = fmt::format("--file bodies.txt --steps 3 --pieces 5 --verify {}", GetParam().options);
  std::string expected;
  for (const layout& on : {layout{"", 0, 1, 1}, layout{"", 0, 2, 1}, layout{"", 2, 1, 2}}) {
    const command_result ended = run(arguments, on);
    EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
    EXPECT_LT(number_in(ended.output, "largest"), 1e-12) << ended.output;
    EXPECT_THAT(table_in(ended.output), testing::Not(HasSubstr("nan")));
    if (expected.empty()) expected = checksum_in(ended.output);
    EXPECT_EQ(checksum_in(ended.output), expected);
  }
}

const char* const one_place =
    "1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n1 1 1 0 0 0 1\n";
INSTANTIATE_TEST_SUITE_P(
    of, degenerate_inputs,
    testing::Values(degenerate{"one_body", "1 2 3 4 5 6 7", ""},
                    degenerate{"one_body_without_softening", "1 2 3 4 5 6 7", "--softening 0"},
                    degenerate{"two_bodies_alike", "1 2 3 0 0 0 1\n1 2 3 0 0 0 1\n", "--softening 0"},
                    degenerate{"two_bodies", "0 0 0 0 0 0 1\n1 0 0 0 1 0 0.001\n", ""},
                    degenerate{"all_at_one_place", one_place, "--bucket 2 --subtree 2"},
                    degenerate{"all_at_one_place_without_softening", one_place, "--bucket 2 --subtree 3 --softening 0"},
                    degenerate{"without_mass", "0 0 0 1 0 0 0\n1 0 0 0 1 0 0\n2 0 0 0 0 1 0\n",
                               "--bucket 1 --subtree 1"},
                    degenerate{"on_a_line", "0 0 0 0 0 0 1\n1 0 0 0 0 0 1\n2 0 0 0 0 0 1\n3 0 0 0 0 0 1\n",
                               "--bucket 1 --subtree 1 --theta 0"},
                    degenerate{"far_apart", "0 0 0 0 0 0 1\n1e150 0 0 0 0 0 1\n1e150 1 0 0 0 0 1\n", "--theta 0"}),
    [](const auto& each) { return std::string(each.param.name); });

// With counted interactions for loads, what a strategy decides does not depend on the machine. The parts of space stay
// here, so that bodies which move are what the PEs must be balanced for.
TEST_F(program, is_balanced_better_than_without_migration) {
  const std::string input =
      "--input collision --ratio 4 --bodies 1200 --steps 60 --time-step 0.1 --deal-every 0 --subtree 16 --bucket 8 "
      "--print-every 20 --softening 0.05 --pieces 24 --tri-balance-speeds equal ";
  for (const layout& on : {layout{"", 0, 2, 1}, layout{"", 2, 1, 1}, layout{"", 2, 2, 2}}) {
    const command_result still = run(input, on);
    const command_result balanced = run(input + "--balance refine --load counted --balance-every 4", on);
    ASSERT_EQ(balanced.status, 0) << balanced.output << balanced.errors;
    EXPECT_EQ(table_in(balanced.output), table_in(still.output));
    EXPECT_EQ(checksum_in(balanced.output), checksum_in(still.output));
    EXPECT_GT(number_in(balanced.output, "14 balancings,"), 0.0);
    const double imbalance = number_in(balanced.output, "busiest PE:");
    EXPECT_GT(number_in(still.output, "busiest PE:"), 1.3) << still.output;
    EXPECT_LT(imbalance, 1.25) << balanced.output;
  }
}

// The strategies that need coordinates have them.
TEST_F(program, may_be_balanced_by_any_strategy) {
  const std::string input = "--bodies 500 --steps 4 --balance-every 1 --pieces 12 ";
  const std::string expected = checksum_in(run(input.substr(0, input.find(" --balance")) + " --pieces 12").output);
  for (const char* const name : {"refine", "greedy", "curve", "bisection", "gossip", "hierarchy", "topology"}) {
    const command_result ended = run(input + "--balance " + name, {"", 2, 2, 2});
    EXPECT_EQ(ended.status, 0) << name << ": " << ended.output << ended.errors;
    EXPECT_EQ(checksum_in(ended.output), expected) << name;
  }
}

TEST_F(program, fetches_a_chunk_once_for_a_process) {
  const std::string input = "--bodies 2000 --steps 1 --subtree 64 --bucket 8 --pieces 16";
  // A process with one PE has everything that its pieces need.
  EXPECT_THAT(run(input, {"", 0, 1, 1}).output, HasSubstr("remote chunks per step: 0.0 hits, 0.0 misses, 0.0 combined; "
                                                          "0.0 fetched, 0.0 KiB\n"));
  // Two processes with four PEs fetch what two with one PE each fetch, where pieces are divided alike: half and half.
  const auto fetched = [&](const layout& on) {
    const command_result ended = run(input, on);
    std::smatch found;
    const bool has = std::regex_search(ended.output, found, std::regex("; ([.0-9]+) fetched"));
    EXPECT_TRUE(has) << ended.output << ended.errors;
    return has ? std::stod(found[1]) : 0.0;
  };
  const double with_one_pe = fetched({"", 2, 1, 2});
  EXPECT_GT(with_one_pe, 10.0);
  const double misses_one = number_in(run(input, {"", 2, 1, 2}).output, "hits,");
  EXPECT_EQ(misses_one, with_one_pe);
  const command_result two_pes = run(input, {"", 2, 2, 2});
  const double misses_two = number_in(two_pes.output, "hits,");
  EXPECT_GT(misses_two, fetched({"", 2, 2, 2}));  // some PEs of a process miss the same chunk
}

TEST_F(program, continues_from_its_own_files) {
  ASSERT_EQ(run("--bodies 200 --steps 2 --write a.bin").status, 0);
  ASSERT_EQ(run("--bodies 200 --steps 2 --write a.txt").status, 0);
  const command_result binary = run("--file a.bin --steps 2");
  const command_result text = run("--file a.txt --steps 2", {"", 2, 1, 2});
  EXPECT_EQ(binary.status, 0) << binary.errors;
  EXPECT_EQ(checksum_in(binary.output), checksum_in(text.output));
  EXPECT_THAT(binary.output, HasSubstr("200 bodies in 16 pieces, theta 0.6, "));
}

TEST_F(program, writes_snapshots) {
  ASSERT_EQ(run("--bodies 100 --steps 5 --snapshots s --snapshot-every 2").status, 0);
  for (const char* const name : {"s.000000.bodies", "s.000002.bodies", "s.000004.bodies"})
    EXPECT_EQ(file(name).size(), 24U + 100U * 56U) << name;
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "s.000005.bodies"));
}

TEST_F(program, has_pictures) {
  const auto draw = [&](const std::string& arguments) {
    return tri::testing::run_command(folder_.path(), std::string("timeout 100 " GRAVITY_PICTURES " ") + arguments);
  };
  const command_result drawn = draw("--bodies 60 --steps 6 --panels 3 " GRAVITY_PROGRAM " pictures/collision.svg");
  ASSERT_EQ(drawn.status, 0) << drawn.errors;
  const std::string picture = file("pictures/collision.svg");
  for (const char* const caption : {">t = 0<", ">t = 0.03<", ">t = 0.06<"}) EXPECT_THAT(picture, HasSubstr(caption));
  const auto dots = std::count(picture.begin(), picture.end(), 'M');
  EXPECT_GT(dots, 3 * 40);
  EXPECT_LE(dots, 3 * 60);
  EXPECT_EQ(draw("--snapshots none x.svg").status, 1);
  tri::testing::write_file(folder_.path() / "a.000000.bodies", "1 2 3 4 5 6 7 and no binary file");
  EXPECT_THAT(draw("--snapshots a x.svg").errors, HasSubstr("is not a binary file of bodies as gravity writes it"));
}

TEST_F(program, explains_bad_input) {
  const auto expect = [&](const std::string& arguments, const std::string& text) {
    const command_result ended = run(arguments);
    EXPECT_EQ(ended.status, 1) << arguments << ": " << ended.output;
    EXPECT_THAT(ended.errors, HasSubstr(text)) << arguments;
  };
  expect("--theta 1.2", "'1.2' is not possible; expected a number from 0 to 1.1");
  expect("--theta nan", "'nan' is not possible");
  expect("--bodies 0", "'0' is not possible; expected an integer from 1 to");
  expect("--bucket 300 --subtree 100", "--subtree 100: must be at least as large as --bucket, which is 300");
  expect("--pices 3", "unknown option '--pices'; did you mean --pieces?");
  expect("--file none", "none: cannot be opened: No such file or directory");
  expect("--file x --bodies 3", "--bodies and --file were both given; the file has the bodies");
  expect("--impact 3", "--impact is for --input collision only");
  expect("--snapshot-every 3", "--snapshot-every needs --snapshots PREFIX");
  expect("--bodies 10 --steps 1 --write no/folder", "no/folder.part: cannot be written: No such file or directory");
  expect("--load counted", "--load needs --balance NAME, the strategy");
  expect("--balance refin --balance-every 1", "refine");
  expect("--kernels fast", "fast");
  EXPECT_EQ(run("--help").status, 0);
  EXPECT_THAT(run("--help").output, HasSubstr("--fetch-levels"));
}

TEST_F(program, ends_when_bodies_have_flown_apart) {
  tri::testing::write_file(folder_.path() / "a.txt", "0 0 0 1e308 0 0 1\n1 0 0 -1e308 0 0 1\n");
  for (const layout& on : {layout{"", 0, 2, 1}, layout{"", 2, 1, 2}}) {
    const command_result ended = run("--file a.txt --time-step 10 --steps 3", on);
    EXPECT_EQ(ended.status, 1) << ended.output;
    EXPECT_THAT(ended.errors, ContainsRegex("body [01] is at .*inf.*use a smaller --time-step"));
  }
}

}  // namespace
