// The suite `messages` as a user runs it: the real command with --quick, its JSON, and what the rows count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "messages/kneighbor.hpp"

namespace tri::bench {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Measured once for all tests of this file.
const json& quick_report() {
  static const json report = [] {
    const auto file = std::filesystem::path(testing::TempDir()) / "trireme_bench_messages.json";
    const std::string command = std::string(TRIREME_COMMAND) + " bench messages --quick --repetitions 3" +
                                " --kneighbor k=2,bytes=100,elements=5 --json " + file.string();
    const int status = std::system(command.c_str());
    if (status != 0) throw std::runtime_error("'" + command + "' ended with status " + std::to_string(status));
    std::ifstream input(file);
    json parsed = json::parse(input);
    std::filesystem::remove(file);
    return parsed;
  }();
  return report;
}

const json& row_named(const std::string& name) {
  for (const json& row : quick_report().at("rows")) {
    if (row.at("name") == name) return row;
  }
  throw std::runtime_error("there is no row " + name);
}

TEST(messages, report_has_its_form) {
  const json& report = quick_report();
  EXPECT_TRUE(report.at("context").is_object());
  ASSERT_TRUE(report.at("rows").is_array());
  for (const json& row : report.at("rows")) {
    SCOPED_TRACE(row.at("name").get<std::string>());
    ASSERT_FALSE(row.contains("error")) << row.at("error");
    EXPECT_TRUE(row.at("unit").is_string());
    for (const char* key : {"median", "p10", "p90"}) {
      ASSERT_TRUE(row.at(key).is_number()) << key;
      EXPECT_GT(row.at(key).get<double>(), 0) << key;
    }
    EXPECT_LE(row.at("p10").get<double>(), row.at("median").get<double>());
    EXPECT_LE(row.at("median").get<double>(), row.at("p90").get<double>());
    EXPECT_TRUE(row.at("better") == "lower" || row.at("better") == "higher");
    for (const char* key : {"target", "limit"}) EXPECT_TRUE(row.at(key).is_null() || row.at(key).is_number()) << key;
    ASSERT_TRUE(row.at("peers").is_object());
    for (const auto& [peer, median] : row.at("peers").items()) EXPECT_TRUE(median.is_number()) << peer;
  }
}

TEST(messages, has_all_rows) {
  for (const char* name : {"cacheline_handoff",
                           "handler/threads/one_way",
                           "handler/processes/one_way",
                           "entry/threads/one_way",
                           "entry/processes/one_way",
                           "entry/own_pe/alone",
                           "entry/own_pe/idle_peer_spinning",
                           "entry/own_pe/idle_peer_sleeping",
                           "rate/threads",
                           "rate/processes",
                           "create/element",
                           "broadcast_reduction/1000",
                           "team/barrier",
                           "team/broadcast/processes",
                           "team/allreduce",
                           "team/allreduce/8000/processes",
                           "team/scan",
                           "team/allgather/processes",
                           "quiescence/idle",
                           "kneighbor/64B/2",
                           "kneighbor/64B/20",
                           "self_send",
                           "allocator/2_threads",
                           "allocator/2_threads/checked",
                           "queue/mpsc",
                           "queue/locked",
                           "queue/locked_per_producer",
                           "queue/spsc",
                           "private_variable/thread_local",
                           "private_variable/unpadded_array"}) {
    EXPECT_NO_THROW(row_named(name)) << name;
  }
}

TEST(messages, latencies_have_the_hand_off_as_their_limit) {
  for (const char* name : {"handler/threads/one_way", "entry/processes/one_way"}) {
    EXPECT_GT(row_named(name).at("limit").get<double>(), 0) << name;
    EXPECT_GT(row_named(name).at("ratio").at("median").get<double>(), 0) << name;
  }
}

TEST(messages, k_neighbor_sends_what_its_rules_say) {
  const auto per_object = [](const char* row) {
    return row_named(row).at("counts").at("messages per object").get<double>();
  };
  EXPECT_EQ(per_object("kneighbor/64B/2/k1"), 4);
  EXPECT_EQ(per_object("kneighbor/64B/2/k1/no_acks"), 2);
  EXPECT_EQ(per_object("kneighbor/64B/2"), 12);
  EXPECT_EQ(per_object("kneighbor/64B/20"), 12);
  EXPECT_EQ(per_object("kneighbor/100B/5/k2"), 8);
}

TEST(messages, self_send_allocates_nothing) {
  EXPECT_EQ(row_named("self_send").at("counts").at("allocations").get<double>(), 0);
}

TEST(messages, allocators_say_what_a_second_thread_costs) {  // M13, M15
  for (const char* name : {"allocator/2_threads", "allocator/2_threads/locked", "allocator/2_threads/checked"})
    EXPECT_GT(row_named(name).at("counts").at("x of 1 thread").get<double>(), 0) << name;
}

TEST(messages, the_inbox_stands_beside_a_queue_with_a_shared_count) {  // M21
  EXPECT_GT(row_named("queue/mpsc").at("peers").at("shared_count").get<double>(), 0);
}

TEST(messages, buffers_are_not_copied) {
  for (const char* name : {"entry/threads/buffer_1MiB", "entry/processes/buffer_1MiB"}) {
    EXPECT_LT(row_named(name).at("counts").at("bytes copied per message").get<double>(), 100) << name;
  }
}

TEST(k_neighbor_shape, is_parsed_and_named) {
  EXPECT_EQ(parse_kneighbor("").name(), "kneighbor/64B/2");
  EXPECT_EQ(parse_kneighbor("k=1,bytes=4096,elements=8,acks=off,processes=on").name(),
            "kneighbor/4KiB/8/k1/no_acks/processes");
}

TEST(k_neighbor_shape, faulty_text_is_refused) {
  EXPECT_THAT([] { parse_kneighbor("elemnts=8"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("did you mean 'elements'?")));
  EXPECT_THAT([] { parse_kneighbor("k=0"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("k=0: a number from 1 to 1000")));
  EXPECT_THAT([] { parse_kneighbor("bytes=64B"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("bytes=64B")));
  EXPECT_THAT([] { parse_kneighbor("acks=maybe"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("on or off")));
  EXPECT_THAT([] { parse_kneighbor("k"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("not a setting such as")));
}

}  // namespace
}  // namespace tri::bench
