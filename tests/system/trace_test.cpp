// Traces of whole programs: what is in them, and what `trireme trace` tells of them (M49 to M52, FA-01, FA-08).
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/command_runner.hpp"
#include "trace/message_path.hpp"
#include "trace/otf2_archive.hpp"
#include "trace/profile.hpp"
#include "trace/program_events.hpp"
#include "trace/receive_order.hpp"
#include "trace/trace_folder.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;
using testing::command_result;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using trace::event;

class traced_job : public ::testing::Test {
 protected:
  command_result run(int processes, int pes, const std::string& what, const std::string& options) const {
    const command_result done = testing::run_command(
        folder_.path(), TRIREME_COMMAND " run -n " + std::to_string(processes) + " --pes " + std::to_string(pes) +
                            " " TRACE_PROGRAM " " + what + " --tri-trace t " + options);
    EXPECT_EQ(done.status, 0) << done.output << done.errors;
    return done;
  }
  trace_folder read() const { return read_trace(folder_.path() / "t"); }
  command_result tell(const std::string& options) const {
    return testing::run_command(folder_.path(), TRIREME_COMMAND " trace t " + options);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "t"))
      names.push_back(entry.path().filename().string());
    return names;
  }
  static std::uint32_t handler_of(const trace_folder& trace, const std::string& name) {
    for (std::uint32_t i = 0; i < trace.handlers.size(); ++i)
      if (trace.handlers[i].ends_with(name)) return i;
    ADD_FAILURE() << "no method " << name;
    return 0;
  }
  static std::size_t count(const trace_row& row, event what, std::uint32_t handler) {
    return static_cast<std::size_t>(std::count_if(row.events.begin(), row.events.end(), [&](const trace_event& one) {
      return one.what == what && one.handler == handler;
    }));
  }
  testing::temporary_folder folder_;
};

// M49: only what happens while it is on, on all PEs; a buffer of 16 events, so files would grow.
TEST_F(traced_job, is_switched_while_it_runs) {
  run(2, 2, "switch", "--tri-trace-start off --tri-trace-events 16");
  const trace_folder trace = read();
  ASSERT_EQ(trace.rows.size(), 4u);
  for (const trace_row& row : trace.rows) {
    EXPECT_EQ(count(row, event::begin, handler_of(trace, "Worker::before")), 0u) << row.label();
    EXPECT_EQ(count(row, event::begin, handler_of(trace, "Worker::during")), 300u) << row.label();
    EXPECT_EQ(count(row, event::end, handler_of(trace, "Worker::during")), 300u) << row.label();
    EXPECT_EQ(count(row, event::begin, handler_of(trace, "Worker::after")), 0u) << row.label();
    const auto off = std::find_if(row.events.begin(), row.events.end(),
                                  [](const trace_event& one) { return one.what == event::off; });
    EXPECT_TRUE(
        std::all_of(off, row.events.end(),
                    [](const trace_event& one) { return one.what == event::off || one.what == event::written; }))
        << row.label() << ": something is behind it";
  }
  EXPECT_EQ(count(*trace.row_of_pe(0), event::send, handler_of(trace, "Worker::during")), 1200u);
  EXPECT_EQ(count(*trace.row_of_pe(0), event::begin, trace::main_program), 1u) << "it switched the trace on";
}

TEST_F(traced_job, has_phases_and_marks_of_the_program) {
  run(2, 2, "phases", "--tri-trace-events 16");
  const trace_folder trace = read();
  const auto phases = phases_of(trace);
  ASSERT_EQ(phases.size(), 3u);
  for (const char* const name : {"first half", "its part", "across methods"}) {
    EXPECT_EQ(phases.at(name).times, 12u) << name;
    EXPECT_EQ(phases.at(name).by_pe.size(), 4u) << name;
  }
  EXPECT_GE(phases.at("first half").total, phases.at("its part").total);
  const std::string text = tell("").output;
  EXPECT_THAT(text,
              ContainsRegex("phases: +times +total +longest +largest over mean of PEs  name\n +12 .* across methods "));
  EXPECT_THAT(
      text, ContainsRegex("marks: +times +least +mean +largest  name\n +12 +0 +10 +20  number\n +1 +0 +0 +0  rounds"));
  EXPECT_THAT(text, ContainsRegex("messages: +to PE +0 +1 +2 +3\n +from PE +0 "));
  tell("--json t.json");
  const auto json = nlohmann::json::parse(testing::contents_of(folder_.path() / "t.json"));
  int begins = 0;
  for (const auto& one : json["traceEvents"]) begins += one["ph"] == "b" && one["name"] == "its part" ? 1 : 0;
  EXPECT_EQ(begins, 12);
}

TEST_F(traced_job, has_the_loads_of_balancing_steps) {
  run(2, 2, "balance", "");
  const std::vector<balancing_step> steps = balancing_steps_of(read());
  ASSERT_EQ(steps.size(), 1u);
  ASSERT_EQ(steps[0].before.size(), 4u);
  ASSERT_EQ(steps[0].after.size(), 4u);
  const double heavy_ns = 1e10;  // of two elements of PE 0; the others have a tenth
  EXPECT_GE(static_cast<double>(steps[0].before.at(0)), 2 * heavy_ns);
  EXPECT_GT(imbalance_of(steps[0].before), 2.9);
  EXPECT_LT(imbalance_of(steps[0].after), 2);
  std::int64_t before = 0;
  std::int64_t after = 0;
  for (const auto& [pe, load] : steps[0].before) before += load;
  for (const auto& [pe, load] : steps[0].after) after += load;
  EXPECT_EQ(before, after);
  EXPECT_THAT(tell("").output, HasSubstr("balancing steps: load of the PEs\n"));
}

// What is written is what otf2-print, of another project, reads.
TEST_F(traced_job, is_exported_to_otf2) {
  run(2, 2, "phases", "");
  const command_result made = tell("--otf2 archive");
  if (!has_otf2()) {
    EXPECT_EQ(made.status, 1);
    EXPECT_THAT(made.errors, HasSubstr("built without OTF2; install libotf2-trace-dev"));
    GTEST_SKIP() << "the command was built without OTF2 (libotf2-trace-dev)";
  }
  ASSERT_EQ(made.status, 0) << made.errors;
  EXPECT_EQ(tell("--otf2 archive").errors,
            "trireme trace: --otf2 archive: there is something already; an archive needs a new folder\n");
  const command_result printed = testing::run_command(folder_.path(), "otf2-print archive/traces.otf2");
  if (printed.status == 127) GTEST_SKIP() << "otf2-print is not there (otf2-tools)";
  ASSERT_EQ(printed.status, 0) << printed.errors;
  EXPECT_EQ(printed.errors, "");
  std::map<std::string, std::size_t> events;
  std::map<std::string, std::size_t> entered;
  std::istringstream lines(printed.output);
  for (std::string line; std::getline(lines, line);) {
    const std::string word = line.substr(0, line.find(' '));
    ++events[word];
    if (const auto quote = line.find("Region: \""); word == "ENTER" && quote != std::string::npos)
      ++entered[line.substr(quote + 9, line.find('"', quote + 9) - quote - 9)];
  }
  EXPECT_EQ(events["ENTER"], events["LEAVE"]);
  EXPECT_EQ(events["MPI_SEND"], events["MPI_RECV"]);
  EXPECT_EQ(events["MPI_SEND"], paths_of(read()).size());
  EXPECT_EQ(events["METRIC"], 13u);
  EXPECT_EQ(entered["its part"], 12u);
  EXPECT_GT(entered["idle"], 0u);
  const command_result definitions = testing::run_command(folder_.path(), "otf2-print -G archive/traces.otf2");
  EXPECT_THAT(definitions.output, HasSubstr("\"PE 3 (N1)\""));
  EXPECT_THAT(definitions.output, HasSubstr("\"host 0\""));
}

TEST_F(traced_job, that_never_switches_it_on_writes_nothing) {
  run(1, 2, "stall", "--tri-trace-start off --tri-trace-events 16");
  const trace_folder trace = read();
  ASSERT_EQ(trace.rows.size(), 2u);
  for (const trace_row& row : trace.rows) EXPECT_TRUE(row.events.empty()) << row.events.size();
  EXPECT_EQ(tell("").status, 0);
}

TEST_F(traced_job, ends_before_the_picture_begins) {
  run(1, 2, "stall", "");
  const command_result beyond = tell("--svg t.svg --from 100000s");
  EXPECT_EQ(beyond.status, 2);
  EXPECT_EQ(beyond.output, "");
  EXPECT_THAT(beyond.errors,
              ContainsRegex("^trireme trace: --from 100000s: the trace ends at [0-9.]+ [mun]?s, before that\n$"));
  EXPECT_FALSE(fs::exists(folder_.path() / "t.svg"));
  EXPECT_EQ(tell("--svg t.svg --from 1us").status, 0);
}

// M49: PEs that were not chosen have no file; those of an earlier job go.
TEST_F(traced_job, writes_only_of_chosen_pes) {
  run(2, 2, "stall", "");
  EXPECT_THAT(files(), UnorderedElementsAre("pe-0.trace", "pe-1.trace", "pe-2.trace", "pe-3.trace"));
  run(2, 2, "stall", "--tri-trace-pes 1,3");
  EXPECT_THAT(files(), UnorderedElementsAre("pe-1.trace", "pe-3.trace"));
  const command_result none = testing::run_command(
      folder_.path(), TRIREME_COMMAND " run -n 1 --pes 2 " TRACE_PROGRAM " stall --tri-trace t --tri-trace-pes 2");
  EXPECT_NE(none.status, 0);
  EXPECT_THAT(none.errors, HasSubstr("there is no PE 2: the PEs are 0-1"));
}

// M51: the events are the calls that took so long by the trace's own clock, and the stall is one of them, once.
TEST_F(traced_job, tells_calls_that_take_long) {
  run(1, 2, "stall", "--tri-trace-slow-us 10000");
  const trace_folder trace = read();
  const trace_row& row = *trace.row_of_pe(1);
  EXPECT_EQ(count(row, event::slow, handler_of(trace, "Worker::stall")), 1u);
  std::map<std::uint32_t, std::int64_t> begun;
  std::map<std::uint32_t, std::size_t> expected;
  for (const trace_event& one : row.events) {
    if (one.what == event::begin) begun[one.handler] = one.ns;
    if (one.what == event::end && one.ns - begun[one.handler] >= 10'000'000) ++expected[one.handler];
  }
  std::map<std::uint32_t, std::size_t> found;
  for (const trace_event& one : row.events)
    if (one.what == event::slow) ++found[one.handler];
  EXPECT_EQ(found, expected);
  const command_result text = tell("");
  EXPECT_THAT(text.output, ContainsRegex("PE 1 \\(N0\\) +at .* took +[0-9.]+ m?s +.*Worker::stall"));
}

struct wire_setting {
  std::string options;
  std::string wire_row;
};
class crossing_job : public traced_job, public ::testing::WithParamInterface<wire_setting> {};

// M50, M52: each message has three segments that add up, whoever is at the wire; rows have the numbers of their nodes.
TEST_P(crossing_job, follows_messages_between_hosts) {
  if (os::under_thread_sanitizer) GTEST_SKIP() << "it does not know UCX";
  run(2, 2, "cross", "--tri-hosts 2 " + GetParam().options);
  EXPECT_THAT(files(), UnorderedElementsAre("pe-0.trace", "pe-1.trace", "pe-2.trace", "pe-3.trace", "wire-0.trace",
                                            "wire-1.trace"));
  const trace_folder trace = read();
  EXPECT_TRUE(trace.clocks.empty()) << "pretended hosts have one clock";
  const std::vector<message_path> paths = paths_of(trace);
  for (const auto& [method, messages, bytes] :
       {std::tuple("Worker::ping", 100, 4u), std::tuple("Worker::big_ping", 10, 160'008u)}) {
    std::set<std::uint64_t> numbers;
    std::uint64_t before = 0;
    for (const message_path& path : paths) {
      if (path.handler != handler_of(trace, method)) continue;
      EXPECT_EQ(path.bytes, bytes) << method;
      EXPECT_TRUE(path.between_hosts);
      EXPECT_EQ(path.source, 0);
      EXPECT_EQ(path.destination, 3);
      EXPECT_GT(path.number, before) << "in the order of the sends";
      before = path.number;
      EXPECT_TRUE(numbers.insert(path.number).second);
      // Calibration leaves an error of some 100 ns between processes.
      EXPECT_GE(path.to_wire(), 0);
      EXPECT_GE(path.on_wire(), -1000);
      EXPECT_GE(path.to_method(), 0);
      EXPECT_EQ(path.to_wire() + path.on_wire() + path.to_method(), path.total());
    }
    EXPECT_EQ(numbers.size(), static_cast<std::size_t>(messages)) << method;
  }
  const command_result text = tell("--json t.json --svg t.svg");
  ASSERT_EQ(text.status, 0) << text.errors;
  EXPECT_THAT(text.output, HasSubstr("PE 3 (N1)"));
  EXPECT_THAT(text.output, ContainsRegex(GetParam().wire_row + " \\(N1\\) .* 1[1-9][0-9] in"));
  EXPECT_THAT(text.output, ContainsRegex("PE 0 \\(N0\\) -> PE 3 \\(N1\\), [0-9]+ bytes at .*: [0-9]+ \\+ -?[0-9]+ \\+ "
                                         "[0-9]+ = [0-9]+ ns  .*Worker::"));
  const nlohmann::json viewer = nlohmann::json::parse(testing::contents_of(folder_.path() / "t.json"));
  std::map<std::string, int> phases;
  for (const auto& one : viewer.at("traceEvents")) ++phases[one.at("ph").get<std::string>()];
  EXPECT_EQ(phases["s"], phases["f"]) << "flows begin and end";
  EXPECT_GE(phases["t"], 220) << "those between hosts pass two wires";
  EXPECT_EQ(phases["M"], 8) << "processes and rows have names";
  EXPECT_THAT(testing::contents_of(folder_.path() / "t.svg"), HasSubstr("<polyline"));
}
INSTANTIATE_TEST_SUITE_P(wires, crossing_job,
                         ::testing::Values(wire_setting{"--tri-comm-thread off", "wire"},
                                           wire_setting{"--tri-comm-thread on", "CommP"},
                                           wire_setting{"--tri-comm-thread funnelled", "CommP"}),
                         [](const auto& chosen) {
                           return chosen.param.options.substr(chosen.param.options.rfind(' ') + 1);
                         });

std::vector<received> from(std::uint32_t sender, const std::vector<received>& stream) {
  std::vector<received> found;
  std::copy_if(stream.begin(), stream.end(), std::back_inserter(found),
               [&](const received& one) { return one.sender == sender; });
  return found;
}

// FA-01 and FA-08: four hosts, in each round another link is late.
TEST_F(traced_job, has_messages_in_the_order_of_the_program_and_of_arrival) {
  if (os::under_thread_sanitizer) GTEST_SKIP() << "it does not know UCX";
  run(4, 1, "orders", "--tri-hosts 4");
  const trace_folder trace = read();
  std::vector<receive_stream> streams = streams_of(trace);
  const auto found = std::find_if(streams.begin(), streams.end(),
                                  [](const receive_stream& one) { return one.pe == 0 && one.mailbox != 0; });
  ASSERT_NE(found, streams.end());
  ASSERT_EQ(found->logical.size(), 360u);
  ASSERT_EQ(found->physical.size(), 360u);
  for (std::size_t i = 0; i < found->logical.size(); ++i)
    EXPECT_EQ(found->logical[i],
              (received{1 + static_cast<std::uint32_t>(i % 3), 100 * (1 + i % 3), static_cast<std::int64_t>(i / 3)}))
        << i;
  EXPECT_NE(found->physical, found->logical);
  EXPECT_GT(found->displaced(), 100u);
  for (std::uint32_t sender = 1; sender < 4; ++sender)
    EXPECT_EQ(from(sender, found->physical), from(sender, found->logical)) << "sender " << sender;

  const command_result text = tell("--prediction --streams s.csv");
  ASSERT_EQ(text.status, 0) << text.errors;
  const auto rate = [&](const std::string& order) {
    std::istringstream lines(text.output);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> all;
      for (std::string word; words >> word;) all.push_back(word);
      // PE 0 (N0) mailbox 3 logical 360 early 98.0 ...
      if (all.size() == 13 && all[1] == "0" && all[3] == "mailbox" && all[5] == order && all[7] == "early")
        return std::stod(all[8]);
    }
    ADD_FAILURE() << "no row for " << order << "\n" << text.output;
    return 0.0;
  };
  EXPECT_GE(rate("logical"), 90.0);
  EXPECT_LT(rate("physical"), rate("logical") - 20.0);
  const std::string csv = testing::contents_of(folder_.path() / "s.csv");
  EXPECT_THAT(csv, HasSubstr(",logical,0,1,100,0\n"));
  EXPECT_THAT(csv, HasSubstr(",physical,0,"));
  EXPECT_THAT(tell("").output,
              ContainsRegex("mailbox [0-9]+: 360 messages arrived, 360 were received; [0-9]+ of them at "
                            "another position"));
}

TEST_F(traced_job, in_a_folder_that_cannot_be_is_told) {
  testing::write_file(folder_.path() / "t", "a file");
  const command_result done =
      testing::run_command(folder_.path(), TRACE_PROGRAM " stall --tri-pes 1 --tri-trace t/sub");
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.errors, HasSubstr("trireme: cannot write a trace into the folder t/sub: "));
}

}  // namespace
}  // namespace tri::tools
