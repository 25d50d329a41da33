// From how many copiers on the memory of a domain gives no more.
#include "saturation/saturation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/cpu/topology.hpp"

namespace tri::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(saturation, is_where_a_far_copier_adds_nothing) {
  EXPECT_EQ(saturation_of({{1, 0, 5}, {1, 1, 9}, {2, 0, 10}, {2, 1, 12}, {3, 0, 12}, {3, 1, 12.1}, {4, 0, 12}}), 3);
  EXPECT_EQ(saturation_of({{1, 0, 5}, {1, 1, 4}, {2, 0, 10}, {2, 1, 12}}), 1);
  EXPECT_EQ(saturation_of({{1, 0, 5}, {1, 1, 9}, {2, 0, 10}, {2, 1, 14}}), 2);  // as many as there are
}

TEST(saturation, is_where_a_near_copier_adds_nothing_when_there_are_no_far_ones) {
  EXPECT_EQ(saturation_of({{1, 0, 5}, {2, 0, 9}, {3, 0, 9.1}, {4, 0, 15}}), 2);
  EXPECT_EQ(saturation_of({{1, 0, 5}, {2, 0, 9}, {3, 0, 13}}), 3);
  EXPECT_EQ(saturation_of({{1, 0, 5}}), 1);
}

TEST(saturation, is_told_as_the_setting_that_takes_it) {
  const std::string one = to_text({{1, 0, 5}, {2, 0, 5.1}});
  EXPECT_THAT(one, HasSubstr("         1        5.00\n         2        5.10\n"));
  EXPECT_THAT(one, HasSubstr("TRIREME_MPI_SHARING=throughput,1 fits"));
  EXPECT_THAT(one, HasSubstr("one NUMA domain"));
  const std::string two = to_text({{1, 0, 5}, {1, 1, 9}, {2, 0, 10}, {2, 1, 10}});
  EXPECT_THAT(two, HasSubstr("         1        5.00                         9.00\n"));
  EXPECT_THAT(two, HasSubstr("TRIREME_MPI_SHARING=throughput,2 fits"));
  EXPECT_THAT(two, Not(HasSubstr("one NUMA domain")));
}

TEST(saturation, is_measured_with_every_number_of_cores) {
  const os::topology& machine = os::topology::shared("auto");
  const std::vector<copy_throughput> rows = measure_copies(machine, 0.002);
  EXPECT_GE(rows.size(), 1u);
  EXPECT_EQ(rows.front().near, 1);
  for (const copy_throughput& each : rows) EXPECT_GT(each.gigabytes_per_s, 0.0);
  EXPECT_GE(saturation_of(rows), 1);
}

}  // namespace
}  // namespace tri::tools
