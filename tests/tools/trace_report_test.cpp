// What hand-made traces say: every figure by hand, in files as programs write them.
#include <gmock/gmock.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/stream_generator.hpp"
#include "support/command_runner.hpp"
#include "trace/communication_matrix.hpp"
#include "trace/message_path.hpp"
#include "trace/pictures.hpp"
#include "trace/profile.hpp"
#include "trace/program_events.hpp"
#include "trace/receive_order.hpp"
#include "trace/region_steps.hpp"
#include "trace/trace_folder.hpp"

namespace tri::tools {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using trace::event;
using trace::record;

// Ticks of 0.5 ns. The clock of each file is ns = ticks / 2 + `ahead`.
class written_trace : public ::testing::Test {
 protected:
  struct written_row {
    int pe;  // below 0: the wire
    int process;
    std::string clock;
    std::int64_t ahead_ns;
    std::vector<record> records;
  };
  static record at(std::uint64_t ns, event what, record more = {}) {
    more.ticks = 2 * ns;
    more.what = what;
    return more;
  }
  void write(const written_row& one, std::size_t cut = 0) const {
    nlohmann::json facts = {{"process", one.process}, {"processes", 2},
                            {"host", one.process},    {"hosts", 2},
                            {"pes_per_process", 2},   {"comm_thread", "on"},
                            {"slow_us", 1000},        {"ns_per_tick", 0.5},
                            {"clock", one.clock},     {"handlers", {"Cell::ghost", "Cell::step"}}};
    if (one.pe >= 0) facts["pe"] = one.pe;
    facts.update(other_facts_);
    std::string text = facts.dump();
    text.resize((text.size() + 31) / 32 * 32, ' ');
    trace::file_head head{};
    std::memcpy(head.magic, trace::format_magic, sizeof head.magic);
    head.version = trace::format_version;
    head.description_bytes = static_cast<std::uint32_t>(text.size());
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes += text;
    const auto clock_at = [&](std::uint64_t ns) {
      return at(ns, event::clock, {.number = ns + static_cast<std::uint64_t>(one.ahead_ns)});
    };
    std::vector<record> all = one.records;
    all.insert(all.begin(), clock_at(0));
    all.push_back(clock_at(1'000'000));
    bytes.append(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(record));
    bytes.resize(bytes.size() - cut);
    testing::write_file(folder_.path() / (one.pe >= 0 ? "pe-" + std::to_string(one.pe) + ".trace"
                                                      : "wire-" + std::to_string(one.process) + ".trace"),
                        bytes);
  }
  trace_folder read() const { return read_trace(folder_.path()); }
  testing::temporary_folder folder_;
  nlohmann::json other_facts_ = nlohmann::json::object();
};

TEST_F(written_trace, time_of_a_row_adds_up) {
  write({0,
         0,
         "a",
         5000,
         {at(0, event::on), at(0, event::begin, {.handler = trace::main_program}), at(100, event::wait),
          at(110, event::idle), at(200, event::begin, {.handler = 0}), at(250, event::end, {.handler = 0}),
          at(260, event::begin, {.handler = 1}), at(290, event::send, {.handler = 0}),
          at(300, event::end, {.handler = 1}), at(310, event::resume),
          at(350, event::end, {.handler = trace::main_program}), at(400, event::help), at(450, event::helped),
          at(500, event::off)}});
  const trace_folder trace = read();
  EXPECT_EQ(trace.end_ns, 500);
  const trace_profile profile = profile_of(trace);
  ASSERT_EQ(profile.rows.size(), 1u);
  const row_profile& row = profile.rows[0];
  EXPECT_EQ(row.busy, 100 + 50 + 40 + 40 + 50);
  EXPECT_EQ(row.idle, 90);
  EXPECT_EQ(row.overhead, 10 + 10 + 10 + 50 + 50);
  EXPECT_EQ(row.off, 0);
  EXPECT_EQ(row.busy + row.idle + row.overhead, 500);
  EXPECT_EQ(row.begun, 2u);
  EXPECT_EQ(row.sent, 1u);
  EXPECT_EQ(profile.methods.at(0).longest, 50);
  EXPECT_EQ(profile.methods.at(trace::main_program).longest, 350);
  EXPECT_EQ(profile.methods.at(trace::main_program).total, 140) << "without what ran while it waited";
  EXPECT_THAT(text_of_rows(trace, profile), ContainsRegex("PE 0 \\(N0\\) +56.0 +18.0 +26.0 +500 ns +2 +1 "));
  EXPECT_THAT(text_of_rows(trace, profile), HasSubstr("(of 4 PEs)"));
  EXPECT_THAT(text_of_methods(trace, profile, 2),
              ContainsRegex("1 +50.0 ns +50.0 ns +50.0 ns +PE 0 .N0. at 200 ns +Cell::ghost"));
  EXPECT_THAT(text_of_methods(trace, profile, 2), HasSubstr("... and 1 more"));
}

// The record of a name, with its text behind it.
std::vector<record> named(std::uint64_t ns, std::uint32_t number, const std::string& name) {
  std::vector<record> made(1 + trace::records_of_name(static_cast<std::uint32_t>(name.size())));
  made[0] = {.ticks = 2 * ns, .bytes = static_cast<std::uint32_t>(name.size()), .handler = number, .what = event::name};
  std::memcpy(static_cast<void*>(made.data() + 1), name.data(), name.size());
  return made;
}
std::vector<record> together(std::vector<record> all, const std::vector<std::vector<record>>& more) {
  for (const std::vector<record>& each : more) all.insert(all.end(), each.begin(), each.end());
  return all;
}

TEST_F(written_trace, phases_and_marks_have_names) {
  const std::string long_name(100, 'x');
  write(
      {0, 0, "a", 0,
       together({at(0, event::on)}, {named(5, 0, "solve"),
                                     {at(10, event::enter, {.handler = 0}), at(40, event::leave, {.handler = 0})},
                                     named(41, 1, long_name),
                                     {at(50, event::enter, {.handler = 1}), at(60, event::enter, {.handler = 0}),
                                      at(70, event::leave, {.handler = 1}), at(90, event::leave, {.handler = 0}),
                                      at(95, event::mark, {.number = std::bit_cast<std::uint64_t>(2.5), .handler = 0}),
                                      at(96, event::leave, {.handler = 0}), at(97, event::enter, {.handler = 1})}})});
  const trace_folder trace = read();
  const auto phases = phases_of(trace);
  EXPECT_EQ(phases.at("solve").times, 2u) << "an end without a begin does not count";
  EXPECT_EQ(phases.at("solve").total, 60);
  EXPECT_EQ(phases.at("solve").longest, 30);
  EXPECT_EQ(phases.at(long_name).times, 1u) << "what has not ended does not count";
  EXPECT_EQ(phases.at(long_name).total, 20);
  EXPECT_THAT(text_of_marks(trace), ContainsRegex("1 +2.5 +2.5 +2.5  solve"));
  // Regions nest: the phase that ends under another one takes that with it for a moment.
  std::string steps;
  for (const region_step& step : region_steps_of(trace, trace.rows[0], 100))
    steps += (step.enters ? "+" : "-") + step.region.substr(0, 1) + std::to_string(step.ns) + " ";
  EXPECT_EQ(steps, "+s10 -s40 +x50 +s60 -s70 -x70 +s70 -s90 +x97 -x100 ");
}

TEST_F(written_trace, names_that_cannot_be_are_refused) {
  write({0, 0, "a", 0, together({at(0, event::on)}, {named(5, 3, "solve")})});
  EXPECT_THAT([&] { read(); }, ThrowsMessage<std::runtime_error>(
                                   HasSubstr("name 3 of 5 bytes comes where name 0 of at most 256 bytes is expected")));
  std::vector<record> too_long = named(5, 0, "solve");
  too_long[0].bytes = 257;
  write({0, 0, "a", 0, too_long});
  EXPECT_THAT([&] { read(); }, ThrowsMessage<std::runtime_error>(HasSubstr("name 0 of 257 bytes")));
}

TEST_F(written_trace, loads_of_balancing_steps_are_told) {
  // PE 0 knows them all.
  const auto loads = [](std::uint64_t ns, std::uint32_t step, std::uint32_t pe, std::uint64_t before,
                        std::uint64_t after) {
    return std::vector<record>{at(ns, event::load, {.number = before, .bytes = pe, .peer = step}),
                               at(ns, event::expected, {.number = after, .bytes = pe, .peer = step})};
  };
  write({0, 0, "a", 0,
         together({at(0, event::on)}, {loads(100, 1, 0, 3000, 2000), loads(100, 1, 1, 1000, 2000),
                                       loads(500, 2, 0, 2100, 2000), loads(500, 2, 1, 1900, 2000)})});
  const trace_folder trace = read();
  const std::vector<balancing_step> steps = balancing_steps_of(trace);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].ns, 100);
  EXPECT_EQ(steps[0].before, (std::map<int, std::int64_t>{{0, 3000}, {1, 1000}}));
  EXPECT_EQ(steps[1].after, (std::map<int, std::int64_t>{{0, 2000}, {1, 2000}}));
  EXPECT_DOUBLE_EQ(imbalance_of(steps[0].before), 1.5);
  EXPECT_DOUBLE_EQ(imbalance_of({}), 1);
  EXPECT_THAT(text_of_balancing(trace), ContainsRegex("1 at +100 ns: +before largest +3.00 us, 1.50 of the mean; "
                                                      "+expected largest +2.00 us, 1.00 of the mean"));
}

TEST_F(written_trace, sends_make_a_matrix) {
  write({0,
         0,
         "a",
         0,
         {at(0, event::on), at(10, event::send, {.number = 1, .bytes = 8, .peer = 1}),
          at(11, event::send, {.number = 2, .bytes = 100, .peer = 1}),
          at(12, event::send, {.number = 3, .bytes = 5, .peer = 1, .to = trace::target::process}),
          at(13, event::send, {.number = 4, .bytes = 5, .to = trace::target::other_hosts})}});
  const trace_folder trace = read();
  const communication_matrix matrix = matrix_of(trace);
  EXPECT_EQ(matrix_as_csv(matrix), "from,to,messages,bytes\n0,1,2,108\n0,2,1,5\n");
  EXPECT_THAT(text_of_matrix(trace, matrix, 10), ContainsRegex("from PE +0 +0 +2 +1 +0\n"));
}

TEST_F(written_trace, switched_off_is_no_time) {
  write({0,
         0,
         "a",
         0,
         {at(100, event::on), at(110, event::begin, {.handler = 0}), at(150, event::off), at(400, event::on),
          at(420, event::end, {.handler = 0}), at(500, event::off)}});
  write({1, 0, "a", 0, {at(0, event::on), at(600, event::off)}});
  const trace_folder trace = read();
  const trace_profile profile = profile_of(trace);
  EXPECT_EQ(profile.rows[0].busy, 40);
  EXPECT_EQ(profile.rows[0].overhead, 10 + 100);
  EXPECT_EQ(profile.rows[0].off, 600 - 150);
  EXPECT_EQ(profile.methods.at(0).calls, 0u) << "its end was not seen";
}

TEST_F(written_trace, may_begin_while_the_main_program_waits) {
  write({0, 0, "a", 0, {at(0, event::on), at(100, event::resume), at(400, event::off)}});
  const trace_folder trace = read();
  EXPECT_EQ(profile_of(trace).rows[0].busy, 300);
  std::ostringstream out;
  write_chrome_trace(out, trace, {});
  EXPECT_THAT(out.str(), HasSubstr(R"("name":"main program","cat":"method","pid":0,"tid":0,"ts":0.100,"dur":0.300)"));
}

// M51, M52.
TEST_F(written_trace, slow_calls_and_the_communication_thread_are_told) {
  write({2, 1, "a", 0, {at(0, event::on), at(3'000'000, event::slow, {.number = 4'000'000, .handler = 1})}});
  write({-1, 1, "a", 0, {at(0, event::work), at(1'000'000, event::idle), at(2'000'000, event::work)}});
  const trace_folder trace = read();
  const std::string slow = text_of_slow_calls(trace, 10);
  EXPECT_THAT(slow, HasSubstr("calls of 1.00 ms or more: 1\n"));
  EXPECT_THAT(slow, ContainsRegex("PE 2 \\(N1\\) +at +1.00 ms +took +2.00 ms +Cell::step"));
  const trace_profile profile = profile_of(trace);
  EXPECT_EQ(profile.rows[1].busy, 2'000'000);
  EXPECT_EQ(profile.rows[1].idle, 1'000'000);
  EXPECT_THAT(text_of_rows(trace, profile), ContainsRegex("CommP \\(N1\\) +66.7 +33.3"));
}

std::uint8_t tag_of(std::uint64_t number) { return trace::tag_of(number); }

// M50: 30 us + 50 us + 20 us, and messages inside the host.
class crossing : public written_trace {
 protected:
  void write_all(const std::string& second_clock) const {
    write({0,
           0,
           "a",
           0,
           {at(0, event::on), at(1000, event::send, {.number = 1, .bytes = 64, .peer = 1, .handler = 1}),
            at(2000, event::send, {.number = 2, .bytes = 8, .peer = 2, .handler = 0}),
            at(400'000, event::begin, {.peer = 2, .handler = 1, .tag = tag_of(9)})}});
    write({1, 0, "a", 0, {at(0, event::on), at(1500, event::begin, {.bytes = 64, .handler = 1, .tag = tag_of(1)})}});
    write({-1,
           0,
           "a",
           0,
           {at(32'000, event::left, {.number = 2, .peer = 0}),
            at(350'000, event::arrived, {.number = 9, .bytes = 0, .peer = 2, .handler = 1})}});
    write({2,
           1,
           second_clock,
           0,
           {at(102'000, event::begin, {.bytes = 8, .peer = 0, .handler = 0, .tag = tag_of(2)}),
            at(200'000, event::send, {.number = 9, .bytes = 8, .peer = 0, .handler = 1})}});
    write({-1,
           1,
           second_clock,
           0,
           {at(82'000, event::arrived, {.number = 2, .bytes = 2, .peer = 0, .handler = 0}),
            at(300'000, event::left, {.number = 9, .peer = 2})}});
  }
};

TEST_F(crossing, segments_add_up) {
  write_all("a");
  const trace_folder trace = read();
  const std::vector<message_path> paths = paths_of(trace);
  ASSERT_EQ(paths.size(), 3u);
  EXPECT_FALSE(paths[0].between_hosts);
  EXPECT_EQ(paths[0].destination, 1);
  EXPECT_EQ(paths[0].total(), 500);
  EXPECT_TRUE(paths[1].between_hosts);
  EXPECT_EQ(paths[1].to_wire(), 30'000);
  EXPECT_EQ(paths[1].on_wire(), 50'000);
  EXPECT_EQ(paths[1].to_method(), 20'000);
  EXPECT_EQ(paths[1].total(), 100'000);
  const std::string text = text_of_segments(trace, paths, 10);
  EXPECT_THAT(text, HasSubstr("messages between hosts that were followed: 2\n"));
  EXPECT_THAT(text,
              HasSubstr("PE 0 (N0) -> PE 2 (N1), 8 bytes at 2.00 us: 30000 + 50000 + 20000 = 100000 ns  Cell::ghost"));
}

// Both ways take 50 us on the wire, so the estimate is exact; but nobody knows that, so it may be as much off.
TEST_F(crossing, clocks_of_hosts_are_brought_together) {
  write_all("b");
  const trace_folder trace = read();
  ASSERT_EQ(trace.clocks.size(), 1u);
  EXPECT_EQ(trace.clocks[0].host, 1);
  EXPECT_EQ(trace.clocks[0].messages, 2u);
  EXPECT_EQ(trace.clocks[0].ns, 0);
  EXPECT_EQ(trace.clocks[0].uncertain_ns, 50'000);
  EXPECT_EQ(paths_of(trace)[1].on_wire(), 50'000);
  EXPECT_THAT(text_of_segments(trace, paths_of(trace), 1),
              HasSubstr("clock of host 1: 0 ns ahead, give or take 50.0 us"));
}

TEST_F(crossing, a_clock_that_is_ahead_is_found) {
  write_all("a");
  // The same records, by a clock that is 7 ms ahead.
  write({2,
         1,
         "b",
         7'000'000,
         {at(102'000, event::begin, {.bytes = 8, .peer = 0, .handler = 0, .tag = tag_of(2)}),
          at(200'000, event::send, {.number = 9, .bytes = 8, .peer = 0, .handler = 1})}});
  write({-1,
         1,
         "b",
         7'000'000,
         {at(82'000, event::arrived, {.number = 2, .bytes = 2, .peer = 0, .handler = 0}),
          at(300'000, event::left, {.number = 9, .peer = 2})}});
  const trace_folder trace = read();
  ASSERT_EQ(trace.clocks.size(), 1u);
  EXPECT_EQ(trace.clocks[0].ns, 7'000'000);
  EXPECT_EQ(paths_of(trace)[1].on_wire(), 50'000);
}

TEST_F(crossing, the_viewers_file_is_whole) {
  write_all("a");
  const trace_folder trace = read();
  std::ostringstream out;
  write_chrome_trace(out, trace, paths_of(trace));
  const nlohmann::json events = nlohmann::json::parse(out.str()).at("traceEvents");
  int flows = 0;
  for (const auto& one : events) {
    if (one.at("ph") == "s") ++flows;
    if (one.at("ph") == "X") {
      EXPECT_GE(one.at("dur").get<double>(), 0.0);
    }
  }
  EXPECT_EQ(flows, 3);
  EXPECT_THAT(out.str(), HasSubstr(R"x("name":"thread_name","pid":1,"tid":1000000,"args":{"name":"CommP (N1)"})x"));
  const std::string svg = to_svg(trace, profile_of(trace), paths_of(trace), 0, trace.end_ns, 10);
  EXPECT_THAT(svg, HasSubstr("CommP (N1)"));
  EXPECT_THAT(svg, HasSubstr("<polyline"));
}

// What ran while the receiver was not traced leaves sends behind, whose numbers come round again.
TEST_F(written_trace, sends_of_untraced_begins_are_left_out) {
  write({0,
         0,
         "a",
         0,
         {at(0, event::on), at(10, event::send, {.number = 1, .peer = 1, .handler = 0}),
          at(300, event::send, {.number = 256, .peer = 1, .handler = 0})}});
  write({1, 0, "a", 0, {at(100, event::on), at(400, event::begin, {.handler = 0, .tag = tag_of(256)})}});
  ASSERT_EQ(tag_of(1), tag_of(256));
  const auto paths = paths_of(read());
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(paths[0].number, 256u);
}

// FA-01: asked for 0, 2, 0; seen 2, 0, 0 (the example of the source).
TEST_F(written_trace, has_both_orders) {
  const auto message = [](std::uint64_t receive, std::uint32_t sender, std::uint32_t tag) {
    return record{
        .number = trace::mailbox_number(4, receive), .bytes = 10 * (sender + 1), .peer = sender, .handler = tag};
  };
  write({1,
         0,
         "a",
         0,
         {at(1, event::incoming, message(0, 2, 5)), at(2, event::taken, message(2, 2, 5)),
          at(3, event::incoming, message(0, 0, 6)), at(4, event::taken, message(1, 0, 6)),
          at(5, event::incoming, message(0, 0, 7)), at(6, event::taken, message(3, 0, 7))}});
  const trace_folder trace = read();
  const auto streams = streams_of(trace);
  ASSERT_EQ(streams.size(), 1u);
  EXPECT_EQ(streams[0].logical, (std::vector<received>{{0, 10, 6}, {2, 30, 5}, {0, 10, 7}}));
  EXPECT_EQ(streams[0].physical, (std::vector<received>{{2, 30, 5}, {0, 10, 6}, {0, 10, 7}}));
  EXPECT_EQ(streams[0].displaced(), 2u);
  EXPECT_THAT(text_of_orders(trace, streams),
              HasSubstr("PE 1 (N0) mailbox 4: 3 messages arrived, 3 were received; 2 of them at another position"));
  EXPECT_EQ(
      streams_as_csv(streams),
      "pe,mailbox,level,position,sender,bytes,tag\n1,4,logical,0,0,10,6\n1,4,logical,1,2,30,5\n1,4,logical,2,0,10,7\n"
      "1,4,physical,0,2,30,5\n1,4,physical,1,0,10,6\n1,4,physical,2,0,10,7\n");
}

// FA-08: the streams of FA-07 through a trace: in the order of the program more than 90 % are predicted.
TEST_F(written_trace, predicts_the_order_of_the_program) {
  namespace prediction = flow::prediction;
  for (const auto& [program, processes] : {std::pair("BT", 9), {"CG", 8}, {"LU", 4}, {"SP", 9}}) {
    const auto stream = sim::generate(sim::known_stream(program, processes), 2008);
    ASSERT_EQ(stream.logical.size(), stream.physical.size());
    std::vector<record> records;
    for (std::size_t i = 0; i < stream.logical.size(); ++i) {
      const auto of = [&](const prediction::message_facts& facts, std::uint64_t receive) {
        return record{.number = trace::mailbox_number(4, receive),
                      .bytes = static_cast<std::uint32_t>(facts.size),
                      .peer = facts.sender};
      };
      records.push_back(at(10 * i + 1, event::incoming, of(stream.physical[i], 0)));
      records.push_back(at(10 * i + 2, event::taken, of(stream.logical[i], i + 1)));
    }
    write({0, 0, "a", 0, records});
    const trace_folder trace = read();
    const std::string text = text_of_prediction(trace, streams_of(trace), {});
    std::istringstream lines(text);
    int rows = 0;
    double first[2] = {0, 0};
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> all;
      for (std::string word; words >> word;) all.push_back(word);
      if (all.size() != 13 || all[7] != "early") continue;
      ++rows;
      const bool logical = all[5] == "logical";
      for (std::size_t ahead = 8; ahead < 13; ++ahead) {
        if (logical) {
          EXPECT_GE(std::stod(all[ahead]), 90.0) << program << "\n" << text;
        }
      }
      first[logical ? 0 : 1] = std::stod(all[8]);
    }
    EXPECT_EQ(rows, 2) << text;
    EXPECT_GE(first[0], first[1]) << program;
  }
}

TEST_F(written_trace, damaged_files_are_told) {
  EXPECT_THAT([&] { read(); },
              ThrowsMessage<std::runtime_error>(HasSubstr("no traces in there; a program started with")));
  EXPECT_THAT([&] { read_trace(folder_.path() / "no"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("No such file or directory")));
  testing::write_file(folder_.path() / "pe-0.trace", "something else entirely");
  EXPECT_THAT([&] { read(); }, ThrowsMessage<std::runtime_error>(HasSubstr("pe-0.trace: not a trace file of Trireme")));
  write({0, 0, "a", 0, {at(1, event::on), at(2, static_cast<event>(77))}});
  EXPECT_THAT([&] { read(); }, ThrowsMessage<std::runtime_error>(HasSubstr("event 2 is of the unknown kind 77")));
  // Killed in the middle of a record: what is whole counts.
  write({0, 0, "a", 0, {at(1, event::on), at(2, event::begin), at(3, event::end)}}, 40);
  EXPECT_EQ(read().rows[0].events.size(), 2u);
}

TEST_F(written_trace, descriptions_that_cannot_be_true_are_told) {
  const auto told = [&](const nlohmann::json& facts, const char* what) {
    other_facts_ = facts;
    write({0, 0, "a", 0, {at(1, event::on)}});
    EXPECT_THAT([&] { read(); }, ThrowsMessage<std::runtime_error>(AllOf(HasSubstr("pe-0.trace: "), HasSubstr(what))));
  };
  told({{"processes", 1e300}}, "'processes' is 1e+300; it must be a whole number from 1 to 1048576");
  told({{"processes", -1}}, "'processes' is -1; it must be");
  told({{"processes", 1u << 31}}, "'processes' is 2147483648; it must be");
  told({{"pes_per_process", 1 << 20}}, "'pes_per_process' is 1048576; it must be a whole number from 0 to 1024");
  told({{"process", 2}}, "'process' is 2; it must be a whole number from 0 to 1");
  told({{"hosts", 3}}, "'hosts' is 3; it must be a whole number from 1 to 2");
  told({{"host", "a"}}, "'host' is \"a\"; it must be a whole number");
  told({{"pe", 4}}, "'pe' is 4; it must be a whole number from 0 to 3");
  told({{"slow_us", 0.5}}, "'slow_us' is 0.5; it must be");
  told({{"ns_per_tick", 0}}, "'ns_per_tick' is 0; it must be above 0 and at most 1000000");
  told({{"ns_per_tick", 1e300}}, "'ns_per_tick' is 1e+300");
  told({{"handlers", 3}}, "its description lacks something");
}

TEST_F(written_trace, a_file_that_says_it_is_larger_than_it_is_takes_no_memory) {
  write({0, 0, "a", 0, {}});
  std::string bytes = testing::contents_of(folder_.path() / "pe-0.trace");
  const std::uint32_t description_bytes = 0xffff'fff0;
  std::memcpy(bytes.data() + offsetof(trace::file_head, description_bytes), &description_bytes, 4);
  testing::write_file(folder_.path() / "pe-0.trace", bytes);
  EXPECT_THAT([&] { read(); },
              ThrowsMessage<std::runtime_error>(HasSubstr("its description has 4294967280 bytes, but the file has ")));
}

TEST_F(written_trace, times_that_cannot_be_true_are_told) {
  const auto told = [&](const record& one, const char* what) {
    write({0, 0, "a", 0, {at(1, event::on), one}});
    EXPECT_THAT([&] { read(); }, ThrowsMessage<std::runtime_error>(HasSubstr(what)));
  };
  told(at(1, event::clock, {.number = ~std::uint64_t{0}}),
       "an event says that it is 18446744073709551615 ns on a clock");
  told(at(1, event::slow, {.number = ~std::uint64_t{0}}), "the event at tick 2 is more than 100 days long");
  told(at(std::uint64_t{1} << 62, event::off), "is more than ten years from the others");
  told(at(std::uint64_t{201} * 86'400 * 1'000'000'000, event::off),
       "an event of PE 0 (N0) is 200 days after the first");
}

TEST_F(written_trace, files_of_another_job_are_told) {
  write({0, 0, "a", 0, {}});
  write({1, 0, "a", 0, {}});
  std::string bytes = testing::contents_of(folder_.path() / "pe-1.trace");
  bytes.replace(bytes.find("Cell::ghost"), 4, "Dell");
  testing::write_file(folder_.path() / "pe-1.trace", bytes);
  EXPECT_THAT([&] { read(); }, ThrowsMessage<std::runtime_error>(
                                   HasSubstr("pe-1.trace: of another job than pe-0.trace: 'handlers' differs")));
}

}  // namespace
}  // namespace tri::tools
