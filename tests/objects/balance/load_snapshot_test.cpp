// Parts of PEs become one snapshot.
#include "objects/balance/load_snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tri::objects {
namespace {

using ::testing::ElementsAre;

load_part part_of(std::int32_t pe, std::vector<load_part::element> elements) {
  load_part made;
  made.pe = pe;
  made.elements = std::move(elements);
  return made;
}
load_part::element element_of(std::uint64_t number, std::int64_t load, const std::vector<double>& at = {}) {
  load_part::element made;
  made.name = {3, number};
  made.load_ns = load;
  made.dimensions = static_cast<std::uint8_t>(at.size());
  std::ranges::copy(at, made.position.begin());
  return made;
}

TEST(load_snapshot, does_not_depend_on_the_order_of_the_parts) {
  const auto make = [](bool swapped) {
    std::vector<load_part> parts{part_of(0, {element_of(2, 20), element_of(5, 10)}), part_of(1, {element_of(9, 30)})};
    parts[0].traffic = {{{3, 5}, {3, 9}, 4, 400}};
    if (swapped) std::swap(parts[0], parts[1]);
    return snapshot_of(std::move(parts), {});
  };
  for (const bool swapped : {false, true}) {
    const named_snapshot made = make(swapped);
    balancing::check(made.loads);
    ASSERT_EQ(made.names.size(), 3U);
    EXPECT_EQ(made.names[0].number, 2U);
    EXPECT_EQ(made.names[1].number, 5U);
    EXPECT_EQ(made.names[2].number, 9U);
    EXPECT_EQ(made.loads.objects[2].pe, 1);
    EXPECT_EQ(made.loads.objects[0].load_ns, 20);
    ASSERT_EQ(made.loads.traffic.size(), 1U);
    EXPECT_EQ(made.loads.traffic[0].from, 1U);
    EXPECT_EQ(made.loads.traffic[0].to, 2U);
    EXPECT_EQ(made.loads.traffic[0].bytes, 400);
  }
}

TEST(load_snapshot, has_counters_as_soon_as_all_pes_know_them) {  // M70
  std::vector<load_part> parts{part_of(0, {element_of(1, 10), element_of(2, 10)}), part_of(1, {element_of(7, 10)})};
  for (load_part& part : parts) part.counters = {"misses", "faults"};
  parts[0].counts = {5, 6, 0, 0};
  parts[1].counts = {7, 8};
  const named_snapshot made = snapshot_of(parts, {});
  balancing::check(made.loads);
  EXPECT_THAT(made.loads.counters, ElementsAre("misses", "faults"));
  EXPECT_THAT(made.loads.counter_values, ElementsAre(5, 6, 0, 0, 7, 8));
  parts[1].counters.clear();
  parts[1].counts.clear();
  EXPECT_TRUE(snapshot_of(parts, {}).loads.counters.empty());
}

TEST(load_snapshot, leaves_out_traffic_of_elements_that_are_in_no_part) {
  std::vector<load_part> parts{part_of(0, {element_of(1, 10)})};
  parts[0].traffic = {{{3, 1}, {3, 77}, 4, 400}, {{3, 78}, {3, 1}, 1, 1}};
  EXPECT_TRUE(snapshot_of(std::move(parts), {}).loads.traffic.empty());
}

TEST(load_snapshot, has_coordinates_if_all_that_can_migrate_have_as_many) {
  std::vector<load_part> parts{part_of(0, {element_of(1, 10, {0.5, 0.25}), element_of(2, 10, {1.5, 2.5})})};
  EXPECT_THAT(snapshot_of(parts, {}).loads.coordinates, ElementsAre(0.5, 0.25, 1.5, 2.5));
  parts[0].elements[1].dimensions = 0;
  EXPECT_EQ(snapshot_of(parts, {}).loads.dimensions, 0U);
  parts[0].elements[1].is_migratable = 0;  // it stays wherever it is
  EXPECT_THAT(snapshot_of(parts, {}).loads.coordinates, ElementsAre(0.5, 0.25, 0.0, 0.0));
  parts[0].elements[1].is_migratable = 1;
  parts[0].elements[1].dimensions = 1;
  EXPECT_EQ(snapshot_of(parts, {}).loads.dimensions, 0U);
}

TEST(load_snapshot, keeps_user_data_of_variable_size) {
  std::vector<load_part> parts{part_of(0, {element_of(1, 10), element_of(2, 10), element_of(3, 10)})};
  parts[0].user_data = {std::byte{1}, std::byte{2}};
  parts[0].elements[1].user_data_bytes = 2;
  const named_snapshot made = snapshot_of(parts, {});
  balancing::check(made.loads);
  EXPECT_TRUE(made.loads.user_data_of(0).empty());
  EXPECT_EQ(made.loads.user_data_of(1).size(), 2U);
  EXPECT_TRUE(made.loads.user_data_of(2).empty());
}

TEST(load_snapshot, loads_that_elements_predict_are_of_a_usual_pe) {
  std::vector<load_part> parts{part_of(0, {element_of(1, 1000)}),
                               part_of(1, {element_of(2, 1000), element_of(3, 1000)})};
  parts[1].elements[1].is_work = 1;
  const named_snapshot made = snapshot_of(parts, {1.0, 2.0});
  EXPECT_EQ(made.loads.objects[0].load_ns, 1000);
  EXPECT_EQ(made.loads.objects[1].load_ns, 1000);
  EXPECT_EQ(made.loads.objects[2].load_ns, 500);
}

TEST(load_snapshot, parts_that_no_pe_would_send_are_refused) {
  const auto refuses = [](auto&& change) {
    std::vector<load_part> parts{part_of(0, {element_of(1, 10), element_of(2, 10)})};
    change(parts[0]);
    EXPECT_THROW(snapshot_of(std::move(parts), {}), std::logic_error);
  };
  refuses([](load_part& part) { part.elements[0].dimensions = 4; });
  refuses([](load_part& part) { part.elements[0].user_data_bytes = 1; });
  refuses([](load_part& part) { part.counters = {"misses"}; });
  refuses([](load_part& part) { std::swap(part.elements[0], part.elements[1]); });
}

TEST(load_snapshot, small_differences_of_rates_are_noise) {
  EXPECT_THAT(speeds_of({1.0, 1.05, 0.95, 1.4}, 1.05), ElementsAre(1.0, 1.0, 1.0, 1.4 / 1.05));
  EXPECT_THAT(speeds_of({2.0}, 2.0), ElementsAre(1.0));
}

}  // namespace
}  // namespace tri::objects
