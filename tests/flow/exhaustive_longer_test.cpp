// Every interleaving of two senders with three messages each: millions of states per size of memory. Data arrives with
// the CTS here and answers leave at once; what happens when they do not is in exhaustive_test.cpp.
#include <gmock/gmock.h>

#include <string>

#include "explore/in_place.hpp"
#include "programs.hpp"

namespace tri::flow {
namespace {

void explore(program which, std::uint64_t memory, std::size_t window) {
  scope what = make_scope(which, 2, 3, memory, window);
  what.late_data = what.late_packets = false;
  const auto result = explore::explore_all_in_place(flow_world<>(what), 4'000'000);
  EXPECT_EQ(result.failure(), "") << "memory " << memory;
  EXPECT_TRUE(result.complete) << "memory " << memory;
  EXPECT_GT(result.ends, 0U);
}

TEST(every_interleaving_of_three_messages, in_reverse_one_receive_at_a_time) {
  for (std::uint64_t records = 0; records <= 12; ++records) explore(program::reverse, records * record_bytes, 1);
}

TEST(every_interleaving_of_three_messages, in_reverse_two_receives_at_a_time) {
  for (std::uint64_t records = 0; records <= 3; ++records) explore(program::reverse, records * record_bytes, 2);
}

TEST(every_interleaving_of_three_messages, from_named_sources) {
  for (const std::uint64_t records : {0U, 4U, 8U}) explore(program::by_source, records * record_bytes, 1);
}

}  // namespace
}  // namespace tri::flow
