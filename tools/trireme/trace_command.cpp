// `trireme trace`: reports a trace as text, as a picture, and for other viewers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "duration.hpp"
#include "os/output_file.hpp"
#include "subcommands.hpp"
#include "trace/communication_matrix.hpp"
#include "trace/copies.hpp"
#include "trace/message_path.hpp"
#include "trace/otf2_archive.hpp"
#include "trace/pictures.hpp"
#include "trace/profile.hpp"
#include "trace/program_events.hpp"
#include "trace/receive_order.hpp"
#include "trace/trace_folder.hpp"

namespace tri::tools {
namespace {

constexpr int unreadable_status = 1;

constexpr const char* footer =
    "A program writes a trace when it is started with --tri-trace FOLDER (TRIREME_TRACE=FOLDER).\n"
    "\nExamples:\n"
    "  ./app --tri-trace /tmp/t && trireme trace /tmp/t\n"
    "  trireme trace /tmp/t --json t.json           then open t.json in ui.perfetto.dev or chrome://tracing\n"
    "  trireme trace /tmp/t --svg t.svg --from 10ms --to 12ms\n"
    "  trireme trace /tmp/t --otf2 archive          then vampir archive/traces.otf2\n"
    "  trireme trace /tmp/t --prediction            how well the next messages could be predicted\n";

struct request {
  std::string folder;
  std::string json;
  std::string svg;
  std::string streams;
  std::string matrix;
  std::string otf2;
  std::string from;
  std::string to;
  std::size_t most = 10;
  bool prediction = false;
};

int report(const request& wanted) {
  const trace_folder trace = read_trace(wanted.folder);
  const trace_profile profile = profile_of(trace);
  const std::vector<message_path> paths = paths_of(trace);
  const std::vector<receive_stream> streams = streams_of(trace);
  const auto time_of = [](const std::string& text, std::int64_t otherwise) {
    return text.empty() ? otherwise : static_cast<std::int64_t>(parse_duration(text));
  };
  const std::int64_t from = time_of(wanted.from, 0);
  if (from > 0 && from >= trace.end_ns)
    throw std::invalid_argument(fmt::format("--from {}: the trace ends at {}, before that", wanted.from,
                                            format_duration(static_cast<double>(trace.end_ns))));
  const std::int64_t to = time_of(wanted.to, std::max(trace.end_ns, from + 1));
  if (from >= to)
    throw std::invalid_argument(
        fmt::format("nothing is between {} and {}; the trace ends at {}", format_duration(static_cast<double>(from)),
                    format_duration(static_cast<double>(to)), format_duration(static_cast<double>(trace.end_ns))));
  if (wanted.prediction) {
    fmt::print("{}", text_of_prediction(trace, streams, {}));
  } else {
    fmt::print("{} of {} process{} with {} PE{} each on {} host{}\n\n{}\n{}\n{}",
               format_duration(static_cast<double>(trace.end_ns)), trace.processes, trace.processes == 1 ? "" : "es",
               trace.pes_per_process, trace.pes_per_process == 1 ? "" : "s", trace.hosts, trace.hosts == 1 ? "" : "s",
               text_of_rows(trace, profile), text_of_methods(trace, profile, wanted.most),
               text_of_slow_calls(trace, wanted.most));
    if (trace.hosts > 1) fmt::print("\n{}", text_of_segments(trace, paths, wanted.most));
    const communication_matrix matrix = matrix_of(trace);
    for (const std::string& part :
         {text_of_phases(trace), text_of_marks(trace), text_of_balancing(trace),
          text_of_matrix(trace, matrix, wanted.most), text_of_copies(copies_of(trace), wanted.most)})
      if (!part.empty()) fmt::print("\n{}", part);
    if (const std::string orders = text_of_orders(trace, streams); !orders.empty()) fmt::print("\n{}", orders);
  }
  if (!wanted.json.empty()) {
    std::ostringstream out;
    write_chrome_trace(out, trace, paths);
    os::write_output_file(wanted.json, out.view());
  }
  if (!wanted.svg.empty()) os::write_output_file(wanted.svg, to_svg(trace, profile, paths, from, to, wanted.most));
  if (!wanted.matrix.empty()) os::write_output_file(wanted.matrix, matrix_as_csv(matrix_of(trace)));
  if (!wanted.otf2.empty()) write_otf2(wanted.otf2, trace, paths);
  if (!wanted.streams.empty()) os::write_output_file(wanted.streams, streams_as_csv(streams));
  return 0;
}

}  // namespace

int trace_command(int argc, char** argv) {
  CLI::App app("Reports what a trace says: where time went, how messages travelled, what took abnormally long.",
               "trireme trace");
  app.footer(footer);
  request wanted;
  app.add_option("folder", wanted.folder, "where the program wrote its trace")->required()->type_name("FOLDER");
  app.add_option("--json", wanted.json, "for ui.perfetto.dev and chrome://tracing")->type_name("FILE");
  app.add_option("--svg", wanted.svg, "the timeline as a picture")->type_name("FILE");
  app.add_option("--from", wanted.from, "where the picture begins")->type_name("TIME");
  app.add_option("--to", wanted.to, "and where it ends")->type_name("TIME");
  app.add_option("--most", wanted.most, "at most this many lines per list, and messages in the picture")
      ->check(whole_number_between(0, 1'000'000))
      ->capture_default_str();
  app.add_flag("--prediction", wanted.prediction,
               "instead: how often the next messages are predicted, in the order of the program and of arrival");
  app.add_option("--otf2", wanted.otf2, "an OTF2 archive in this new folder, for Vampir, Scalasca and otf2-print")
      ->type_name("FOLDER");
  app.add_option("--matrix", wanted.matrix, "who sent how much to whom, comma-separated")->type_name("FILE");
  app.add_option("--streams", wanted.streams, "both orders of received messages, comma-separated")->type_name("FILE");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  try {
    return report(wanted);
  } catch (const std::invalid_argument& problem) {
    fmt::print(stderr, "trireme trace: {}\n", problem.what());
    return usage_status;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "trireme trace: {}\n", problem.what());
    return unreadable_status;
  }
}

}  // namespace tri::tools
