#include "framework/process_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <utility>

#include "messages/allocators.hpp"

namespace tri::bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<row> shell(const std::string& script, double output_timeout_s = 60) {
  std::vector<row> rows;
  process_rows(
      {"sh", "-c", script}, [&](row measured) { rows.push_back(std::move(measured)); }, output_timeout_s);
  return rows;
}

TEST(process_rows, reads_rows_and_leaves_other_lines_alone) {
  row first;
  first.name = "a";
  first.unit = "ns";
  first.figure = {1, 1, 1, 3};
  const std::string json = nlohmann::json(first).dump();
  testing::internal::CaptureStderr();
  const std::vector<row> rows = shell("echo starting; echo '" + json + "'; echo '" + json + "'");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("starting"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].name, "a");
}

TEST(process_rows, names_the_command_that_failed) {
  EXPECT_THAT([] { shell("exit 3"); },
              ThrowsMessage<std::runtime_error>(AllOf(HasSubstr("sh -c exit 3"), HasSubstr("exit status 3"))));
  EXPECT_THAT([] { shell("kill -9 $$"); }, ThrowsMessage<std::runtime_error>(HasSubstr("ended by signal 9")));
  EXPECT_THAT([] { process_rows({"/no/such/program"}, [](row) {}); },
              ThrowsMessage<std::runtime_error>(AllOf(HasSubstr("/no/such/program"), HasSubstr("cannot start"))));
  EXPECT_THAT([] { shell("echo '{broken'"); }, ThrowsMessage<std::runtime_error>(HasSubstr("not a row: {broken")));
  EXPECT_THROW(process_rows({}, [](row) {}), std::invalid_argument);
}

TEST(process_rows, ends_a_command_that_hangs) {
  EXPECT_THAT([] { shell("exec sleep 1000", 0.2); }, ThrowsMessage<std::runtime_error>(HasSubstr("nothing for 0.2 s")));
}

// Of the two that say that they are done, one fails afterwards and one never ends.
TEST(process_rows, does_not_wait_for_a_command_that_has_done_its_work) {
  std::vector<std::string> lines;
  const auto keep = [&](const std::string& line) { lines.push_back(line); };
  const auto lines_of = [&](const std::string& script) { process_lines({"sh", "-c", script}, keep, 60, "done"); };
  lines_of("echo 1; echo done; exec sleep 1000");
  EXPECT_THAT(lines, testing::ElementsAre("1"));
  EXPECT_THAT([&] { lines_of("echo done; exit 3"); }, ThrowsMessage<std::runtime_error>(HasSubstr("exit status 3")));
}

TEST(allocator_peers, give_usable_memory) {
  const std::vector<allocator_peer> peers = allocator_peers();
  ASSERT_FALSE(peers.empty());
  EXPECT_EQ(peers.front().name, "glibc");
  for (const allocator_peer& peer : peers) {
    void* block = peer.allocate(1000);
    ASSERT_NE(block, nullptr) << peer.name;
    std::memset(block, 1, 1000);
    peer.release(block);
  }
}

}  // namespace
}  // namespace tri::bench
