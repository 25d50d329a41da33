// The suite `mpi_slack` as a user runs it (K66): a row for each MPI, its ways of remembering, what calls cost. How much
// depends on the machine.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace tri::bench {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::Key;

TEST(interception, has_a_row_for_each_mpi_and_its_cost_by_way_of_remembering) {
  const auto file = std::filesystem::path(testing::TempDir()) / "trireme_bench_mpi_slack.json";
  const std::string command = std::string(TRIREME_COMMAND) + " bench mpi_slack --quick --json " + file.string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream input(file);
  const json report = json::parse(input);
  std::filesystem::remove(file);
  ASSERT_EQ(report.at("rows").size(), std::size_t{MPIS});
  for (const json& row : report.at("rows")) {
    SCOPED_TRACE(row.at("name"));
    EXPECT_TRUE(row.at("name").get<std::string>().starts_with("mpi/interception/"));
    ASSERT_FALSE(row.contains("error")) << row.at("error");
    EXPECT_EQ(row.at("target"), 10000.0);
    for (const char* way : {"by operation", "one number", "off"}) EXPECT_TRUE(row.at("peers").contains(way)) << way;
    EXPECT_GT(row.at("counts").at("call alone ns").get<double>(), 0.0);
    // Remembering by call path walks the stack, which cannot cost less than nothing by more than the noise of a run.
    EXPECT_GT(row.at("median").get<double>(), -0.5 * row.at("counts").at("call alone ns").get<double>());
  }
}

}  // namespace
}  // namespace tri::bench
