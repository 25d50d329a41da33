// Processes of a host exchange messages by shared memory (M25): with all of TCP switched off, and faster than over it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

double shortest_round_trip(const std::string& options, const std::string& in_front = "") {
  const command_result done =
      run_command(in_front + TRIREME_COMMAND " run -n 2 --pes 1 " ROUND_TRIP_PROGRAM " " + options);
  EXPECT_EQ(done.status, 0) << done.errors;
  return std::atof(done.output.c_str());
}

// Of thousands of round trips the shortest is one that nothing has disturbed, on a busy machine as well.
TEST(shared_memory, is_faster_than_tcp_over_the_loopback_device) {
  const double by_memory = shortest_round_trip("");
  const double by_tcp = shortest_round_trip("--tri-hosts=2 --tri-wire=tcp");
  ASSERT_GT(by_memory, 0.0);
  EXPECT_LT(by_memory, by_tcp);
}

TEST(shared_memory, works_where_there_is_no_network) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a network namespace";
  // Its loopback device is down: a connection over it fails.
  if (run_command("unshare --net true").status != 0) GTEST_SKIP() << "no network namespaces here";
  EXPECT_GT(shortest_round_trip("", "unshare --net "), 0.0);
}

}  // namespace
}  // namespace tri::testing
