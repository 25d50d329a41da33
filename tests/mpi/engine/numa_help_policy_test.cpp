// Whom a waiting rank helps, by strategy; and how a user says it.
#include "mpi/engine/numa_help_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tri::mpi {
namespace {

std::string refusal_of(std::string_view text) {
  try {
    parse_sharing(text);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

TEST(helping, ranks_of_no_domain_are_near_to_all) {
  EXPECT_FALSE(is_far(1, 1));
  EXPECT_TRUE(is_far(0, 1));
  EXPECT_FALSE(is_far(no_domain, 1));
  EXPECT_FALSE(is_far(0, no_domain));
}

TEST(helping, near_never_reaches_over) {
  const help_rule near{help_strategy::near};
  EXPECT_FALSE(helps_far(near, {0, 0}));
  EXPECT_FALSE(helps_far(near, {4, 0}));
}

TEST(helping, mixed_reaches_over_when_nobody_there_looks_for_work) {
  const help_rule mixed{help_strategy::mixed};
  EXPECT_TRUE(helps_far(mixed, {4, 0}));
  EXPECT_TRUE(helps_far(mixed, {0, 0}));  // all asleep
  EXPECT_FALSE(helps_far(mixed, {3, 1}));
}

TEST(helping, throughput_reaches_over_while_the_memory_has_room) {
  const help_rule rule{help_strategy::throughput, 4};
  EXPECT_TRUE(helps_far(rule, {3, 0}));
  EXPECT_TRUE(helps_far(rule, {3, 7}));
  EXPECT_FALSE(helps_far(rule, {4, 0}));
  EXPECT_FALSE(helps_far(rule, {9, 9}));
}

TEST(helping, is_chosen_by_a_word) {
  EXPECT_FALSE(parse_sharing("off").on);
  EXPECT_EQ(parse_sharing("near").help.strategy, help_strategy::near);
  EXPECT_EQ(parse_sharing("mixed").help.strategy, help_strategy::mixed);
  const sharing_choice chosen = parse_sharing("throughput,12");
  EXPECT_TRUE(chosen.on);
  EXPECT_EQ(chosen.help.strategy, help_strategy::throughput);
  EXPECT_EQ(chosen.help.saturation, 12u);
}

TEST(helping, other_words_are_told_what_would_be_right) {
  EXPECT_EQ(refusal_of("close"), "sharing 'close' is not one of off, near, mixed and throughput,N");
  EXPECT_EQ(refusal_of(""), "sharing '' is not one of off, near, mixed and throughput,N");
  EXPECT_EQ(refusal_of("throughputs"), "sharing 'throughputs' is not one of off, near, mixed and throughput,N");
  for (const char* incomplete : {"throughput", "throughput,", "throughput,0", "throughput,4x", "throughput,-1"})
    EXPECT_THAT(refusal_of(incomplete), ::testing::HasSubstr("`trireme info --saturation` measures it")) << incomplete;
}

}  // namespace
}  // namespace tri::mpi
