// Selection, reports and exit status, with rows that measure nothing real.
#include "framework/runner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "framework/children.hpp"
#include "framework/process_rows.hpp"
#include "suites.hpp"

namespace tri::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

row_definition fixed_row(const std::string& name, double ns) {
  return {.name = name, .unit = "ns", .target = 100, .measure = [ns](context&) {
            return measurement{.samples = {.operation_ns = {ns, ns, ns}}};
          }};
}

registry two_suites() {
  registry known;
  known.add({.name = "messages", .description = "d", .rows = {fixed_row("entry/threads", 90), fixed_row("rate", 200)}});
  known.add({.name = "loops", .description = "d", .rows = {fixed_row("fork_join", 50)}});
  return known;
}

std::vector<std::string> names(const std::vector<const row_definition*>& rows) {
  std::vector<std::string> found;
  for (const row_definition* row : rows) found.push_back(row->name);
  return found;
}

TEST(select, all_suites_one_suite_and_filter) {
  const registry known = two_suites();
  EXPECT_THAT(names(select_rows(known, {})), ElementsAre("entry/threads", "rate", "fork_join"));
  EXPECT_THAT(names(select_rows(known, {.suites = {"loops"}})), ElementsAre("fork_join"));
  EXPECT_THAT(names(select_rows(known, {.filter = "^r|join$"})), ElementsAre("rate", "fork_join"));
}

TEST(select, refuses_what_selects_nothing) {
  const registry known = two_suites();
  EXPECT_THAT([&] { select_rows(known, {.suites = {"mesages"}}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("did you mean 'messages'?")));
  EXPECT_THAT([&] { select_rows(known, {.filter = "nothing"}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no row matches --filter 'nothing'")));
  EXPECT_THAT([&] { select_rows(known, {.filter = "("}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("--filter '(' is not a regular expression")));
}

TEST(registry, refuses_double_and_incomplete_rows) {
  registry known = two_suites();
  EXPECT_THROW(known.add({.name = "loops"}), std::logic_error);
  EXPECT_THROW(known.add({.name = "new", .rows = {fixed_row("rate", 1)}}), std::logic_error);
  EXPECT_THROW(known.add({.name = "new", .rows = {{.name = "unmeasured", .unit = "ns"}}}), std::logic_error);
}

TEST(options, quick_and_explicit_values) {
  EXPECT_LT(batch_options_of({.quick = true}).repetitions, batch_options_of({}).repetitions);
  EXPECT_EQ(batch_options_of({.quick = true, .repetitions = 7}).repetitions, 7U);
  EXPECT_THROW(batch_options_of({.repetitions = 0}), std::invalid_argument);
  EXPECT_THROW(batch_options_of({.min_time_s = -1}), std::invalid_argument);
}

row_definition launched_row(const std::string& name, const launch& where) {
  row_definition row = fixed_row(name, 1);
  row.launch = where;
  return row;
}

TEST(children, rows_of_one_launch_share_a_program) {
  const row_definition here = fixed_row("here", 1);
  const row_definition threads = launched_row("threads", {.pes = 2});
  const row_definition spinning = launched_row("spinning", {.pes = 2, .options = {"--tri-idle=spin"}});
  const row_definition more_threads = launched_row("more", {.pes = 2});
  EXPECT_THAT(rows_by_launch({&threads, &here, &spinning, &more_threads}),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1), ElementsAre(2)));
}

TEST(children, launch_this_program_with_the_same_method) {
  const launch where{.processes = 2, .pes = 1, .options = {"--tri-idle=spin"}};
  const row_definition first = launched_row("entry", where);
  const row_definition second = launched_row("rate", where);
  EXPECT_THAT(
      child_command({&first, &second}, {.quick = true, .repetitions = 9, .suite_arguments = {"--kneighbor", "k=1"}},
                    {{"/bin/trireme"}}),
      ElementsAre("/bin/trireme", "run", "-n", "2", "--pes", "1", "--tri-idle=spin", "--", "/bin/trireme", "bench",
                  "--emit-row", "entry", "--emit-row", "rate", "--quick", "--repetitions", "9", "--kneighbor", "k=1"));
}

TEST(children, processes_on_hosts_of_their_own_are_launched_from_the_first) {
  // What makes the hosts is the first word here; the rest is its command.
  const row_definition far =
      launched_row("far", {.processes = 2, .on_hosts = {"env", "HOSTS=a,b", "HOST_SHELL=shell"}});
  std::string said;
  process_lines(
      child_command({&far}, {}, {{"echo"}}), [&](const std::string& line) { said += line; }, 10);
  EXPECT_EQ(said, "run -n 2 --pes 1 --hosts a,b --rsh shell -- echo bench --emit-row far");
}

TEST(children, rows_that_cannot_be_measured_here_have_the_reason) {
  const launch where{.processes = 2, .why_not = []() -> const std::string& {
                       static const std::string reason = "no such network";
                       return reason;
                     }};
  const std::vector<row_definition> rows = {launched_row("a", where), launched_row("b", where)};
  std::vector<row> measured(2);
  progress_line progress(2);
  measure_in_children({&rows[0], &rows[1]}, {0, 1}, {}, {{"false"}}, progress,
                      [&](std::size_t which, row result) { measured[which] = std::move(result); });
  for (const row& each : measured) {
    EXPECT_EQ(each.not_available, "no such network");
    EXPECT_EQ(each.error, "");
  }
}

// A "launcher" that prints row a and then fails: what it printed counts, the row it was at is reported as failed, and
// the rest is tried again.
TEST(children, a_program_that_fails_costs_one_row) {
  const launch where{.pes = 2};
  const std::vector<row_definition> rows = {launched_row("a", where), launched_row("b", where),
                                            launched_row("c", where)};
  const std::string row_a =
      nlohmann::json(make_row(rows[0], rows[0].measure(*std::make_unique<context>(batch_options{})))).dump();
  std::string row_c = row_a;
  row_c.replace(row_c.find("\"a\""), 3, "\"c\"");
  const std::string script =
      "case \"$*\" in *' bench --emit-row c') echo '" + row_c + "';; *) echo '" + row_a + "'; exit 3;; esac";
  std::vector<row> measured(3);
  progress_line progress(3);
  measure_in_children({&rows[0], &rows[1], &rows[2]}, {0, 1, 2}, {}, {{"sh", "-c", script, "launcher"}}, progress,
                      [&](std::size_t which, row result) { measured[which] = std::move(result); });
  EXPECT_EQ(measured[0].figure.median, 1);
  EXPECT_THAT(measured[1].error, HasSubstr("exit status 3"));
  EXPECT_EQ(measured[2].error, "");
  EXPECT_EQ(measured[2].figure.median, 1);
}

TEST(run, writes_context_and_rows) {
  const auto file = std::filesystem::path(testing::TempDir()) / "trireme_bench_run.json";
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_benchmarks(two_suites(), {.json_file = file.string()}, {{"trireme"}}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasSubstr("rows: 3, targets: 2 met, 1 missed, rows that failed: 0"));
  std::ifstream input(file);
  const nlohmann::json report = nlohmann::json::parse(input);
  EXPECT_EQ(report["rows"].size(), 3U);
  for (const char* key : {"date", "commit", "compiler", "machine", "load_average", "build_type"}) {
    EXPECT_TRUE(report["context"].contains(key)) << key;
  }
  std::filesystem::remove(file);
}

// Peers that are programs of their own are asked ahead of the row; one that fails costs no row.
TEST(run, rows_have_the_best_of_their_peers) {
  const auto file = std::filesystem::path(testing::TempDir()) / "trireme_bench_peers.json";
  registry known;
  row_definition beside = fixed_row("beside", 30);
  beside.peers = [](context&) { return peer_figures{.medians = {{"slow", 60}, {"fast", 40}}, .note = "without lost"}; };
  row_definition without = fixed_row("without", 30);
  without.peers = [](context&) -> peer_figures { throw std::runtime_error("no peer starts"); };
  known.add({.name = "suite", .rows = {beside, without}});
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_benchmarks(known, {.json_file = file.string()}, {{"trireme"}}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("0.75x of the best peer, fast"));
  std::ifstream input(file);
  const nlohmann::json rows = nlohmann::json::parse(input)["rows"];
  EXPECT_EQ(rows[0]["peers"], nlohmann::json({{"slow", 60}, {"fast", 40}}));
  EXPECT_EQ(rows[0]["note"], "without lost");
  EXPECT_EQ(rows[1]["median"], 30);
  EXPECT_EQ(rows[1]["note"], "without peers: no peer starts");
  std::filesystem::remove(file);
}

TEST(run, rows_are_printed_soon_after_they_were_measured) {
  registry known;
  known.add({.name = "first", .rows = {fixed_row("here", 1), launched_row("there", {.pes = 2}), fixed_row("too", 1)}});
  known.add({.name = "second", .rows = {fixed_row("late", 1), launched_row("later", {.pes = 2})}});
  std::vector<const row_definition*> rows;
  for (const suite& each : known.suites())
    for (const row_definition& row : each.rows) rows.push_back(&row);
  EXPECT_THAT(order_of_measuring(known, rows),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1), ElementsAre(3), ElementsAre(4)));
}

// A run that is interrupted has a report: of what was measured until the last ten seconds.
TEST(run, the_report_is_there_while_rows_are_measured) {
  const auto file = std::filesystem::path(testing::TempDir()) / "trireme_bench_early.json";
  nlohmann::json seen;
  registry known;
  known.add({.name = "looks", .rows = {{.name = "row", .unit = "ns", .measure = [&](context&) -> measurement {
                                          std::ifstream input(file);
                                          seen = nlohmann::json::parse(input);
                                          return {};
                                        }}}});
  testing::internal::CaptureStdout();
  run_benchmarks(known, {.json_file = file.string()}, {{"trireme"}});
  testing::internal::GetCapturedStdout();
  EXPECT_TRUE(seen.contains("context"));
  EXPECT_TRUE(seen["rows"].empty());
  std::filesystem::remove(file);
}

TEST(run, a_device_is_written_and_not_replaced) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_benchmarks(two_suites(), {.json_file = "/dev/null"}, {{"trireme"}}), 0);
  testing::internal::GetCapturedStdout();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(run, a_failed_row_is_reported_and_the_others_are_measured) {
  registry known = two_suites();
  known.add({.name = "bad", .rows = {{.name = "throws", .unit = "ns", .measure = [](context&) -> measurement {
                                        throw std::runtime_error("no such device");
                                      }}}});
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_benchmarks(known, {}, {{"trireme"}}), 1);
  const std::string output = testing::internal::GetCapturedStdout();
  EXPECT_THAT(output, HasSubstr("FAILED: no such device"));
  EXPECT_THAT(output, HasSubstr("rows: 4, targets: 2 met, 1 missed, rows that failed: 1"));
}

TEST(run, refuses_a_file_that_cannot_be_written) {
  EXPECT_THAT([] { run_benchmarks(two_suites(), {.json_file = "/no/such/folder/x.json"}, {{"trireme"}}); },
              ThrowsMessage<std::runtime_error>(HasSubstr("/no/such/folder/x.json")));
}

TEST(run, emits_rows_for_its_parent) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_benchmarks(two_suites(), {.emit_rows = {"rate", "fork_join"}}, {{"trireme"}}), 0);
  std::istringstream output(testing::internal::GetCapturedStdout());
  std::string line;
  ASSERT_TRUE(std::getline(output, line));
  EXPECT_EQ(nlohmann::json::parse(line).get<row>().figure.median, 200);
  ASSERT_TRUE(std::getline(output, line));
  EXPECT_EQ(nlohmann::json::parse(line).get<row>().name, "fork_join");
}

TEST(suites, hand_off_is_measured) {
  const registry known = all_suites();
  context tools(batch_options_of({.quick = true}));
  const row measured = measure_here(known.find_row("cacheline_handoff"), tools);
  ASSERT_EQ(measured.error, "");
  EXPECT_GT(measured.figure.median, 0);
}

}  // namespace
}  // namespace tri::bench
