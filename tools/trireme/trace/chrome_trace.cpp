// Writes a trace as Chrome trace-event JSON, for Perfetto and chrome://tracing.
#include <fmt/format.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <ostream>

#include "trace/pictures.hpp"

namespace tri::tools {
namespace {

using trace::event;

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// One object after another, with commas between them.
class event_list {
 public:
  explicit event_list(std::ostream& out) : out_(out) { out_ << R"({"displayTimeUnit":"ns","traceEvents":[)"; }
  void add(const std::string& text) {
    out_ << (first_ ? "\n" : ",\n") << '{' << text << '}';
    first_ = false;
  }
  void end() { out_ << "\n]}\n"; }

 private:
  std::ostream& out_;
  bool first_ = true;
};

std::string microseconds(std::int64_t ns) { return fmt::format("{:.3f}", static_cast<double>(ns) / 1000.0); }

constexpr int wire_thread = 1'000'000;  // behind all PEs

std::string place(const trace_row& row) {
  return fmt::format(R"("pid":{},"tid":{})", row.process, row.pe < 0 ? wire_thread : row.pe);
}

std::string slice(const trace_row& row, const std::string& name, const char* category, std::int64_t begin,
                  std::int64_t end, const std::string& details = {}) {
  return fmt::format(R"("ph":"X","name":{},"cat":"{}",{},"ts":{},"dur":{}{})", quoted(name), category, place(row),
                     microseconds(begin), microseconds(end - begin),
                     details.empty() ? details : fmt::format(R"(,"args":{{{}}})", details));
}

// Slices of a row; those that hold others come later in the file, which the format allows.
void add_row(event_list& list, const trace_folder& trace, const trace_row& row) {
  struct open {
    std::int64_t begin;
    std::string name;
    const char* category;
    std::string details;
    event closed_by;
  };
  std::vector<open> stack;
  const auto name_of = [&](const trace_event& one) { return row.name_of_program(one.handler); };
  std::int64_t idle_since = -1;
  std::int64_t work_since = -1;
  const auto close = [&](std::int64_t now) {
    list.add(slice(row, stack.back().name, stack.back().category, stack.back().begin, now, stack.back().details));
    stack.pop_back();
  };
  for (const trace_event& one : row.events) {
    const bool passes = one.what == event::send || one.what == event::left || one.what == event::arrived ||
                        one.what == event::slow || one.what == event::written || one.what == event::incoming ||
                        one.what == event::taken || one.what == event::load || one.what == event::expected ||
                        one.what == event::copied;
    if (!passes && idle_since >= 0) {
      list.add(slice(row, "idle", "idle", idle_since, one.ns));
      idle_since = -1;
    }
    switch (one.what) {
      case event::begin:
        stack.push_back({one.ns, trace.name_of(one.handler), "method",
                         one.handler == trace::main_program
                             ? std::string()
                             : fmt::format(R"("from PE":{},"bytes":{})", one.peer, one.bytes),
                         event::end});
        break;
      case event::wait:
        stack.push_back({one.ns, "waits", "wait", {}, event::resume});
        break;
      case event::help:
        stack.push_back({one.ns, "work of the host's board", "board", {}, event::helped});
        break;
      case event::end:
      case event::resume:
      case event::helped:
        if (!stack.empty() && stack.back().closed_by == one.what)
          close(one.ns);
        else if (stack.empty() && one.what == event::resume)  // of a wait that began before the trace
          stack.push_back({one.ns, trace.name_of(trace::main_program), "method", {}, event::end});
        break;
      case event::on:
      case event::off:
        while (!stack.empty()) close(one.ns);
        break;
      case event::work:
        work_since = one.ns;
        break;
      case event::idle:
        idle_since = one.ns;
        if (work_since >= 0) {
          list.add(slice(row, "moves messages", "wire", work_since, one.ns));
          work_since = idle_since = -1;
        }
        break;
      case event::slow:
        list.add(fmt::format(R"("ph":"i","s":"t","name":{},"cat":"slow",{},"ts":{},"args":{{"took us":{}}})",
                             quoted("slow: " + trace.name_of(one.handler)), place(row), microseconds(one.ns),
                             microseconds(one.length)));
        break;
      case event::mark:
        list.add(fmt::format(R"("ph":"i","s":"t","name":{},"cat":"mark",{},"ts":{},"args":{{"value":{}}})",
                             quoted(name_of(one)), place(row), microseconds(one.ns),
                             nlohmann::json(std::bit_cast<double>(one.number)).dump()));
        break;
      case event::enter:  // phases need not nest with methods
      case event::leave:
        list.add(fmt::format(R"("ph":"{}","name":{},"cat":"phase","id":{},{},"ts":{})",
                             one.what == event::enter ? 'b' : 'e', quoted(name_of(one)), row.pe, place(row),
                             microseconds(one.ns)));
        break;
      case event::load:
        list.add(fmt::format(R"("ph":"C","name":"load of PE {}",{},"ts":{},"args":{{"us":{}}})", one.bytes, place(row),
                             microseconds(one.ns), microseconds(static_cast<std::int64_t>(one.number))));
        break;
      case event::written:
        list.add(slice(row, "writes the trace", "trace", one.ns - one.length, one.ns));
        break;
      default:
        break;
    }
  }
  while (!stack.empty()) close(trace.end_ns);
}

// A flow needs a slice at each of its ends.
void add_flow(event_list& list, const trace_folder& trace, const message_path& path, std::size_t number) {
  const trace_row& from = *trace.row_of_pe(path.source);
  const trace_row& to = *trace.row_of_pe(path.destination);
  const std::string name = quoted(trace.name_of(path.handler));
  const auto step = [&](const char* phase, const trace_row& row, std::int64_t ns, const char* more = "") {
    list.add(fmt::format(R"("ph":"{}","name":{},"cat":"message","id":{},{},"ts":{}{})", phase, name, number, place(row),
                         microseconds(ns), more));
  };
  step("s", from, path.sent);
  if (path.between_hosts) {
    const trace_row* const out = trace.wire_of(from.process);
    const trace_row* const in = trace.wire_of(to.process);
    if (out != nullptr && in != nullptr) {
      list.add(slice(*out, "leaves", "wire", path.left, path.left + 1));
      step("t", *out, path.left);
      list.add(slice(*in, "arrives", "wire", path.arrived, path.arrived + 1));
      step("t", *in, path.arrived);
    }
  }
  step("f", to, path.begun, R"(,"bp":"e")");
}

}  // namespace

void write_chrome_trace(std::ostream& out, const trace_folder& trace, const std::vector<message_path>& paths) {
  event_list list(out);
  int named = -1;
  for (const trace_row& row : trace.rows) {
    if (row.process != named)
      list.add(fmt::format(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":"process {} on host {}"}})",
                           row.process, row.process, row.host));
    named = row.process;
    list.add(fmt::format(R"("ph":"M","name":"thread_name",{},"args":{{"name":{}}})", place(row), quoted(row.label())));
    add_row(list, trace, row);
  }
  for (std::size_t i = 0; i < paths.size(); ++i) add_flow(list, trace, paths[i], i + 1);
  list.end();
}

}  // namespace tri::tools
