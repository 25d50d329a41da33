// The tree code of apps/nbody: its forces against direct summation, what it conserves, its command line and its
// pictures.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <regex>
#include <string>

#include "support/command_runner.hpp"

namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

tri::testing::command_result nbody(const std::string& arguments) {
  return tri::testing::run_command(fmt::format("{} -n 1 {} {}", START, NBODY, arguments));
}

// The number behind `name` in what the program says; a test fails without one.
double number_in(const std::string& output, const std::string& name) {
  std::smatch found;
  if (std::regex_search(output, found, std::regex(name + " ([-+.0-9e]+)"))) return std::stod(found[1]);
  ADD_FAILURE() << "no '" << name << "' in " << output;
  return 0;
}

std::string checksum_in(const std::string& output) {
  const auto begin = output.find("checksum ");
  return begin == std::string::npos ? "" : output.substr(begin);
}

TEST(nbody_forces, are_those_of_direct_summation_without_an_opening_angle) {
  for (const char* arguments : {"--bodies 500 --theta 0", "--bodies 500 --theta 0 --leaf 1 --seed 2", "--bodies 2",
                                "--bodies 300 --leaf 300"}) {
    const auto ended = nbody(std::string(arguments) + " --steps 3 --verify");
    EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
    EXPECT_LT(number_in(ended.output, "99 % of bodies"), 1e-13) << arguments;
    EXPECT_LT(number_in(ended.output, "momentum by"), 1e-14) << arguments;
  }
}

TEST(nbody_forces, have_errors_that_grow_with_the_opening_angle) {
  double last = 0;
  for (const char* theta : {"0.2", "0.4", "0.8", "1.1"}) {
    const auto ended = nbody(fmt::format("--bodies 2000 --steps 2 --theta {} --verify", theta));
    EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
    EXPECT_THAT(ended.output, HasSubstr("\nverified: "));
    const double median = number_in(ended.output, "median");
    EXPECT_GT(median, 2 * last) << theta;
    last = median;
  }
}

// A body is not among those of its own leaf that pull it: at no distance that would be without end.
TEST(nbody_forces, may_be_without_softening) {
  const auto hard = nbody("--bodies 400 --steps 0 --softening 0 --theta 0.3 --verify");
  EXPECT_EQ(hard.status, 0) << hard.output << hard.errors;
}

TEST(nbody_motion, conserves_energy_and_momentum) {
  const auto ended = nbody("--bodies 500 --steps 400 --theta 0.4 --verify");
  EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
  EXPECT_NEAR(number_in(ended.output, "energy"), 0, 1e-2);
  EXPECT_LT(number_in(ended.output, "changed by"), 2e-3);
  EXPECT_LT(number_in(ended.output, "momentum by"), 2e-3);
}

// Steps of that length pass the centre in one; what --verify says of it must be no.
TEST(nbody_motion, is_not_verified_with_steps_that_are_too_long) {
  const auto ended = nbody("--bodies 20 --steps 200 --time-step 0.2 --softening 0.0001 --theta 0 --verify");
  EXPECT_EQ(ended.status, 1) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("\nNOT VERIFIED: "));
}

TEST(nbody_start, depends_on_the_seed_alone) {
  const std::string one = checksum_in(nbody("--bodies 100 --steps 1 --seed 7").output);
  EXPECT_THAT(one, ContainsRegex("^checksum [0-9a-f]{16}\n$"));
  EXPECT_EQ(one, checksum_in(nbody("--bodies 100 --seed 7 --steps 1").output));
  EXPECT_NE(one, checksum_in(nbody("--bodies 100 --seed 8 --steps 1").output));
}

// In the units of the model the energy is -1/4, but for the softening and the chance of the draw.
TEST(nbody_start, is_a_sphere_of_the_energy_of_its_units) {
  const auto ended = nbody("--bodies 20000 --steps 0 --softening 0.001");
  EXPECT_NEAR(number_in(ended.output, "energy"), -0.25, 0.005) << ended.output;
}

TEST(nbody_options, are_listed_and_checked) {
  const auto help = nbody("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* option : {"--bodies", "--theta", "--softening", "--verify"})
    EXPECT_THAT(help.output, HasSubstr(std::string("\n  ") + option));
  for (const char* wrong : {"--theta 1.2", "--bodies 2.5", "--body 3", "--steps", "--leaf 8x"}) {
    const auto ended = nbody(wrong);
    EXPECT_EQ(ended.status, 2) << wrong;
    EXPECT_THAT(ended.errors, HasSubstr(fmt::format("nbody: cannot use '{}'\n", wrong)));
    EXPECT_THAT(ended.errors, HasSubstr("\n  --bodies "));
  }
}

TEST(nbody_pictures, are_drawn_of_errors_and_times) {
  if (std::system("python3 -c 'import matplotlib' 2>/dev/null") != 0) GTEST_SKIP() << "python3-matplotlib is missing";
  const tri::testing::temporary_folder folder;
  const auto ended = tri::testing::run_command(
      fmt::format("python3 -B {} --bodies 200 --steps 1 --ranks 1,2 --launcher {} --trireme {} {} {}", PICTURES,
                  LAUNCHER, TRIREME_COMMAND, NBODY, folder.path().string()));
  EXPECT_EQ(ended.status, 0) << ended.errors;
  for (const char* name : {"errors.svg", "times.svg"})
    EXPECT_THAT(tri::testing::contents_of(folder.path() / name), HasSubstr("</svg>")) << name;
}

}  // namespace
