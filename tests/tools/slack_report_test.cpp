#include "slack/slack_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tri::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

// PE 0: 1 and 3 us; PE 1: 10, 10 and 10 us.
std::vector<operation_waits> two_pes() { return {{"broadcast", {{1000, 3000}, {10000, 10000, 10000}}}}; }

TEST(slack_report, figures_of_pes_and_of_the_operation) {
  const std::vector<operation_slack> found = slack_of(two_pes());
  ASSERT_THAT(found, SizeIs(1));
  const operation_slack& one = found[0];
  ASSERT_THAT(one.pes, SizeIs(2));
  EXPECT_EQ(one.pes[0].mean, 2000.0);
  EXPECT_EQ(one.pes[0].median, 2000.0);
  EXPECT_EQ(one.pes[0].largest, 3000.0);
  EXPECT_EQ(one.pes[0].deviation, 1000.0);
  EXPECT_EQ(one.pes[1].deviation, 0.0);
  EXPECT_EQ(one.largest, 10000.0);
  EXPECT_EQ(one.mean, 6000.0);
  EXPECT_EQ(one.deviation_across, 4000.0);
  EXPECT_EQ(one.deviation_within, 500.0);
}

TEST(slack_report, text_and_json) {
  const std::string text = to_text(slack_of(two_pes()));
  EXPECT_THAT(text, HasSubstr("broadcast        10.00      6.00          4.00          0.50\n"));
  EXPECT_THAT(text, HasSubstr("broadcast        0      2.00      2.00      3.00      1.00\n"));
  const nlohmann::json json = to_json(slack_of(two_pes()));
  EXPECT_EQ(json[0]["operation"], "broadcast");
  EXPECT_EQ(json[0]["sigma_across_us"], 4.0);
  EXPECT_EQ(json[0]["pes"][1]["mean_us"], 10.0);
}

TEST(slack_report, needs_waits_of_every_pe) {
  const std::vector<operation_waits> holes{{"exchange", {{1.0}, {}}}};
  const std::vector<operation_waits> nobody{{"exchange", {}}};
  EXPECT_THAT([&] { slack_of(holes); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("PE 1 has no waits in exchange")));
  EXPECT_THAT([&] { slack_of(nobody); }, ThrowsMessage<std::invalid_argument>(HasSubstr("exchange has no PEs")));
}

}  // namespace
}  // namespace tri::tools
