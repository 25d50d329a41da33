// The suite `loop_model` as a user runs it: K63, K74, K95. Virtual time, so its figures may be judged.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "framework/row.hpp"

namespace tri::bench {
namespace {

using nlohmann::json;

const json& report() {
  static const json parsed = [] {
    const auto file = std::filesystem::path(testing::TempDir()) / "trireme_bench_loop_model.json";
    const std::string command = std::string(TRIREME_COMMAND) + " bench loop_model --json " + file.string();
    const int status = std::system(command.c_str());
    if (status != 0) throw std::runtime_error("'" + command + "' ended with status " + std::to_string(status));
    std::ifstream input(file);
    json all = json::parse(input);
    std::filesystem::remove(file);
    return all;
  }();
  return parsed;
}

row row_named(const std::string& name) {
  for (const json& each : report().at("rows")) {
    if (each.at("name") == name) return each.get<row>();
  }
  throw std::runtime_error("there is no row " + name);
}

class every_job : public testing::TestWithParam<const char*> {
 protected:
  row of(const std::string& what) const { return row_named("model/" + what + "/" + GetParam()); }
};

TEST_P(every_job, is_near_what_an_oracle_would_choose) {
  const row found = of("oracle");
  EXPECT_EQ(found.reference, "best constant fraction");
  EXPECT_EQ(verdict_of(found), verdict::met) << found.ratio->median;
  EXPECT_LT(found.figure.median, found.peers.at("static"));
  for (const char* peer : {"dynamic,8", "guided", "static-hybrid", "slack", "slack,rule=sharp", "automatic"})
    EXPECT_GT(found.peers.at(peer), 0.99 * found.figure.median) << peer;
}

TEST_P(every_job, gains_by_each_part_and_not_by_their_sum) {
  const row found = of("gains");
  EXPECT_GT(found.peers.at("model alone"), 10.0);
  EXPECT_GT(found.peers.at("with slack"), 10.0);
  EXPECT_GT(found.peers.at("with staggering"), found.peers.at("model alone"));
  EXPECT_GT(found.figure.median, 0.98 * found.peers.at("with staggering"));
  EXPECT_DOUBLE_EQ(found.peers.at("sum of both"), found.peers.at("with slack") + found.peers.at("with staggering"));
  EXPECT_LT(found.figure.median, found.peers.at("sum of both"));
}

TEST_P(every_job, staggered_beats_one_pool_and_moves_less) {
  const row found = of("staggered");
  EXPECT_EQ(verdict_of(found), verdict::met);
  EXPECT_LT(found.figure.median, found.peers.at("hybrid,0.5"));
  EXPECT_LT(found.counts.at("moved iterations, staggered,0.5"), 0.1 * found.counts.at("moved iterations, hybrid,0.5"));
}

INSTANTIATE_TEST_SUITE_P(loop_model, every_job, testing::Values("even", "unequal_nodes", "uneven_loop"),
                         [](const auto& chosen) { return std::string(chosen.param); });

}  // namespace
}  // namespace tri::bench
