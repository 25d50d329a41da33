// loop_kernels as a user runs it: the same result on any number of threads, files, help, and bad input.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/command_runner.hpp"

namespace {

using testing::HasSubstr;

struct outcome : tri::testing::command_result {
  std::string result() const {
    const std::size_t begin = output.find("\nresult ");
    return begin == std::string::npos ? "no result in: " + output : output.substr(begin + 1, 23);
  }
};

outcome run(const std::string& arguments) {
  return {tri::testing::run_with_one_stream("timeout 100 " LOOP_KERNELS " " + arguments)};
}

class every_kernel : public testing::TestWithParam<const char*> {};

TEST_P(every_kernel, gives_the_same_result_on_any_number_of_threads) {
  const std::string arguments = std::string(GetParam()) + " --schedule all --rounds 1 --static-fraction 0.3";
  const outcome alone = run(arguments + " --threads 1");
  ASSERT_EQ(alone.status, 0) << alone.output;
  EXPECT_THAT(alone.output, HasSubstr("1 threads"));
  for (const char* threads : {"2", "3", "5"}) {
    const outcome several = run(arguments + " --threads " + threads);
    EXPECT_EQ(several.status, 0) << several.output;
    EXPECT_THAT(several.output, HasSubstr(std::string(threads) + " threads"));
    EXPECT_EQ(several.result(), alone.result());
    EXPECT_THAT(several.output, Not(HasSubstr("DIFFERENT")));
  }
}

INSTANTIATE_TEST_SUITE_P(small, every_kernel,
                         testing::Values("jacobi --size 20 --plane 8 --steps 3", "barnes_hut --size 300 --steps 2",
                                         "lu --size 130 --tile 16", "cg --size 700 --steps 4",
                                         "sweep --size 9 --steps 2", "elements --size 14 --steps 3",
                                         "spectral --size 32 --steps 2"),
                         [](const auto& chosen) {
                           const std::string text = chosen.param;
                           return text.substr(0, text.find(' '));
                         });

TEST(loop_kernels, a_sweep_writes_a_table_a_csv_file_and_a_picture) {
  const std::filesystem::path folder = testing::TempDir();
  const std::filesystem::path csv = folder / "loop_kernels_test.csv";
  const std::filesystem::path svg = folder / "loop_kernels_test.svg";
  const outcome ended =
      run("lu --size 64 --tile 16 --static-fraction sweep --step 0.05 --schedule static --rounds 1 --csv " +
          csv.string() + " --svg " + svg.string());
  ASSERT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("best tasks: static fraction "));
  EXPECT_THAT(ended.output, HasSubstr("best hybrid: static fraction "));
  std::ifstream lines(csv);
  std::string line;
  int sweep_lines = 0;
  while (std::getline(lines, line)) sweep_lines += line.starts_with("lu,\"tasks,") ? 1 : 0;
  EXPECT_EQ(sweep_lines, 21);
  std::ifstream picture(svg);
  const std::string drawing{std::istreambuf_iterator<char>(picture), {}};
  EXPECT_THAT(drawing, testing::StartsWith("<svg"));
  EXPECT_THAT(drawing, testing::EndsWith("</svg>\n"));
  std::filesystem::remove(csv);
  std::filesystem::remove(svg);
}

TEST(loop_kernels, explains_itself) {
  const outcome general = run("--help");
  EXPECT_EQ(general.status, 0);
  for (const char* word : {"jacobi", "barnes_hut", "lu", "cg", "--static-fraction sweep"}) {
    EXPECT_THAT(general.output, HasSubstr(word));
  }
  const outcome kernel = run("lu --help");
  EXPECT_EQ(kernel.status, 0);
  for (const char* word : {"loop_kernels lu", "--schedule", "--tile", "--threads", "--csv", "--svg", "--rounds"}) {
    EXPECT_THAT(kernel.output, HasSubstr(word));
  }
}

TEST(loop_kernels, says_what_is_wrong_with_a_command_line) {
  const auto refused = [](const std::string& arguments, const std::string& message) {
    const outcome ended = run(arguments);
    EXPECT_EQ(ended.status, 2) << arguments;
    EXPECT_THAT(ended.output, HasSubstr(message)) << arguments;
  };
  refused("", "name a kernel; the kernels are jacobi, barnes_hut, lu, cg");
  refused("jakobi", "the nearest is jacobi");
  refused("jacobi --scedule static", "the nearest is --schedule");
  refused("jacobi --schedule dynamik", "the nearest is 'dynamic'");
  refused("cg --schedule tasks", "only lu has a graph of tasks");
  refused("cg --static-fraction 1.5", "between 0 and 1, or sweep");
  refused("cg --static-fraction sweep --step 0", "--step is 0");
  refused("cg --svg x.svg", "give --static-fraction sweep");
  refused("lu --size 0", "--size");
  refused("lu --threads 0", "--threads");
  refused("barnes_hut --theta 2", "--theta");
  refused("jacobi --size 4 --plane 2 --steps 1 --rounds 1 --csv /nonexistent/file", "cannot write '/nonexistent/file'");
}

}  // namespace
