// Folders of trace files (`trireme trace`): everything that the command makes of a trace it makes here, too. Between
// the files of an input stands a line of its own.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/scratch_folder.hpp"
#include "trace/message_path.hpp"
#include "trace/pictures.hpp"
#include "trace/profile.hpp"
#include "trace/receive_order.hpp"
#include "trace/trace_folder.hpp"

namespace tri::fuzz {
namespace {

constexpr std::string_view between_files = "\n--file--\n";
constexpr std::size_t most_files = 4;
constexpr std::size_t most_lines = 10;

using trace::event;
using trace::record;

void report(const tools::trace_folder& trace) {
  const tools::trace_profile profile = tools::profile_of(trace);
  const std::vector<tools::message_path> paths = tools::paths_of(trace);
  const std::vector<tools::receive_stream> streams = tools::streams_of(trace);
  tools::text_of_rows(trace, profile);
  tools::text_of_methods(trace, profile, most_lines);
  tools::text_of_slow_calls(trace, most_lines);
  tools::text_of_segments(trace, paths, most_lines);
  tools::text_of_orders(trace, streams);
  tools::text_of_prediction(trace, streams, {});
  tools::streams_as_csv(streams);
  tools::to_svg(trace, profile, paths, 0, std::max<std::int64_t>(trace.end_ns, 1), most_lines);
  std::ostringstream out;
  tools::write_chrome_trace(out, trace, paths);
  expect(nlohmann::json::accept(out.str()), "the file for other viewers is JSON");
}

record at(std::uint64_t ns, event what, record more = {}) {
  more.ticks = 2 * ns;
  more.number = what == event::clock ? ns : more.number;
  more.what = what;
  return more;
}

std::string file_of(int pe, int process, const char* clock, const std::vector<record>& records) {
  nlohmann::json facts = {{"process", process},  {"processes", 2},
                          {"host", process},     {"hosts", 2},
                          {"slow_us", 1000},     {"pes_per_process", 1},
                          {"comm_thread", "on"}, {"clock", clock},
                          {"ns_per_tick", 0.5},  {"handlers", {"Cell::ghost", "Cell::step"}}};
  if (pe >= 0) facts["pe"] = pe;
  std::string text = facts.dump();
  text.resize((text.size() + 31) / 32 * 32, ' ');
  trace::file_head head{};
  std::memcpy(head.magic, trace::format_magic, sizeof head.magic);
  head.version = trace::format_version;
  head.description_bytes = static_cast<std::uint32_t>(text.size());
  std::string bytes = raw(head) + text + raw(at(0, event::clock));
  for (const record& one : records) bytes += raw(one);
  return bytes + raw(at(1000, event::clock));
}

}  // namespace

bool read(std::string_view input) {
  for (std::size_t i = 0; i < most_files; ++i) {
    const std::size_t end = std::min(input.find(between_files), input.size());
    const std::string name = std::to_string(i) + ".trace";
    if (i == 0 || !input.empty())
      scratch_file(name, input.substr(0, end));
    else
      std::filesystem::remove(scratch_folder() / name);
    input.remove_prefix(std::min(end + between_files.size(), input.size()));
  }
  tools::trace_folder trace;
  try {
    trace = tools::read_trace(scratch_folder());
  } catch (const std::runtime_error&) {
    return false;
  }
  report(trace);
  return true;
}

std::vector<std::string> seeds() {
  const std::string worker = file_of(
      0, 0, "a",
      {at(0, event::on), at(0, event::begin, {.handler = trace::main_program}), at(100, event::wait),
       at(110, event::idle), at(200, event::begin, {.peer = 1, .handler = 0, .tag = 2}),
       at(240, event::send, {.number = 1, .bytes = 8, .peer = 1, .handler = 1}), at(250, event::end, {.handler = 0}),
       at(260, event::slow, {.number = 100, .handler = 1}), at(270, event::written, {.number = 10}),
       at(310, event::resume), at(350, event::end, {.handler = trace::main_program}), at(400, event::help),
       at(450, event::helped), at(460, event::incoming, {.number = trace::mailbox_number(1, 0), .peer = 1}),
       at(470, event::taken, {.number = trace::mailbox_number(1, 0), .peer = 1}), at(500, event::off)});
  const std::string there =
      file_of(1, 1, "b",
              {at(0, event::on), at(300, event::begin, {.peer = 0, .handler = 1, .tag = trace::tag_of(1)}),
               at(400, event::send, {.number = 1, .peer = 0, .handler = 0}), at(410, event::end, {.handler = 1})});
  const std::string wire = file_of(-1, 0, "a",
                                   {at(245, event::left, {.number = 1, .peer = 0}), at(300, event::work),
                                    at(500, event::arrived, {.number = 1, .peer = 1}), at(510, event::idle)});
  const std::string wire_there = file_of(
      -1, 1, "b", {at(290, event::arrived, {.number = 1, .peer = 0}), at(420, event::left, {.number = 1, .peer = 1})});
  const std::string mark(between_files);
  return {worker, wire, worker + mark + there, worker + mark + there + mark + wire + mark + wire_there};
}

}  // namespace tri::fuzz
