// JSON files that one program writes and another reads: tune files, reports of loops, rows of benchmarks; and the texts
// of schedules in them. The first byte selects the reader.
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "framework/row.hpp"
#include "fuzz/fuzz_target.hpp"
#include "fuzz/scratch_folder.hpp"
#include "loops/loop_tuning.hpp"
#include "tune/loop_report_file.hpp"

namespace tri::fuzz {
namespace {

void read_report(std::string_view input) {
  static const tools::loop_report_file report;
  std::ofstream(report.name(), std::ios::binary | std::ios::trunc) << input;
  report.take();
  expect(report.text().empty(), "a report is taken once");
}

void read_row(std::string_view input) {
  const auto measured = nlohmann::json::parse(input).get<bench::row>();
  nlohmann::json again = measured;
  expect(nlohmann::json(again.get<bench::row>()) == again, "a row is written as it is read");
}

void read_schedule(std::string_view input) {
  const schedules::schedule read = schedules::parse_schedule(input);
  const std::string text = schedules::to_text(read);
  expect(schedules::to_text(schedules::parse_schedule(text)) == text, "a schedule is written as it is read");
}

bool read_with(char reader, std::string_view input) {
  switch (reader) {
    case 't':
      loops::tune_file::read(scratch_file("tune", input).string(), "this machine");
      return true;
    case 'l':
      read_report(input);
      return true;
    case 'r':
      read_row(input);
      return true;
    case 's':
      read_schedule(input);
      return true;
    default:
      return false;
  }
}

}  // namespace

bool read(std::string_view input) {
  if (input.empty()) return false;
  try {
    return read_with(input[0], input.substr(1));
  } catch (const std::invalid_argument&) {
    return false;
  } catch (const std::out_of_range&) {
    return false;
  } catch (const std::runtime_error&) {
    return false;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  bench::row row;
  row.name = "row";
  row.unit = "ns";
  row.figure = {1.0, 0.5, 2.0, 3};
  row.peers = {{"other", 2.0}};
  row.counts = {{"messages", 1.0}};
  row.ratio = row.figure;
  row.handoff_ns = 30.0;
  row.best_peer = bench::compared_row{"other", row.figure};
  bench::row missing;
  missing.name = "row";
  missing.unit = "ns";
  missing.not_available = "no MPI";
  return {R"(t{"trireme_tune":1,"machine":"this machine","program":"app","schedule":"dynamic,4","omp":false,)"
          R"("loops":[{"file":"a.cpp","line":7,"schedule":"hybrid,static=0.5,chunk=8"}]})",
          R"(l{"program":"app","loops":[{"file":"a.cpp","line":7,"schedule":"static","total_s":1.5,"steps_s":[0.1]}]})",
          "r" + nlohmann::json(row).dump(),
          "r" + nlohmann::json(missing).dump(),
          "stasklets,static=0.5,count=64,sizes=skewed,tags=off,queues=2",
          "sslack+staggered",
          "scombined,8,search=on"};
}

}  // namespace tri::fuzz
