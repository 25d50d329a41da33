#include "trace/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "duration.hpp"

namespace tri::tools {
namespace {

using trace::event;

// A row's activity is a stack: a method, the wait inside it, a method that runs meanwhile. The scheduler is at the
// bottom.
struct frame {
  activity what;
  std::uint32_t handler = 0;
};

// Events that change the row's activity.
bool is_step(event what) {
  switch (what) {
    case event::on:
    case event::off:
    case event::begin:
    case event::end:
    case event::wait:
    case event::resume:
    case event::help:
    case event::helped:
    case event::idle:
    case event::work:
      return true;
    default:
      return false;
  }
}

std::string length(std::int64_t ns) { return format_duration(static_cast<double>(ns)); }

double percent(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<interval> intervals_of(const trace_row& row, std::int64_t end_ns) {
  std::vector<interval> found;
  std::vector<frame> stack;
  activity base = row.pe < 0 ? activity::idle : activity::off;
  bool idle = false;
  std::int64_t since = 0;
  bool starts = false;
  const auto close = [&](std::int64_t now) {
    interval one{.begin = since, .end = now, .what = base, .handler = 0, .starts = starts};
    if (idle)
      one.what = activity::idle;
    else if (!stack.empty()) {
      one.what = stack.back().what;
      one.handler = stack.back().handler;
    }
    since = now;
    if (one.end > one.begin || one.starts) found.push_back(one);
    starts = false;
  };
  const auto pop = [&](activity what) {
    if (!stack.empty() && stack.back().what == what) stack.pop_back();
  };
  for (const trace_event& one : row.events) {
    if (!is_step(one.what)) continue;
    close(one.ns);
    idle = one.what == event::idle;
    switch (one.what) {
      case event::on:
      case event::off:
        stack.clear();
        base = one.what == event::on ? activity::overhead : activity::off;
        break;
      case event::begin:
        stack.push_back({activity::method, one.handler});
        starts = true;
        break;
      case event::end:
        pop(activity::method);
        break;
      case event::wait:
        stack.push_back({activity::overhead});
        break;
      case event::resume:  // of a wait that began before the trace: the main program's
        if (stack.empty())
          stack.push_back({activity::method, trace::main_program});
        else
          pop(activity::overhead);
        break;
      case event::help:
        stack.push_back({activity::help});
        break;
      case event::helped:
        pop(activity::help);
        break;
      case event::work:  // of a communication thread
        base = activity::help;
        break;
      default:  // idle
        if (row.pe < 0) base = activity::idle;
        break;
    }
  }
  close(std::max(end_ns, since));
  return found;
}

trace_profile profile_of(const trace_folder& trace) {
  trace_profile profile;
  for (const trace_row& row : trace.rows) {
    row_profile sums{.row = &row};
    for (const interval& one : intervals_of(row, trace.end_ns)) {
      const std::int64_t taken = one.end - one.begin;
      switch (one.what) {
        case activity::method:
          profile.methods[one.handler].total += taken;
          sums.busy += taken;
          break;
        case activity::help:
          sums.busy += taken;
          break;
        case activity::idle:
          sums.idle += taken;
          break;
        case activity::overhead:
          sums.overhead += taken;
          break;
        case activity::off:
          sums.off += taken;
          break;
      }
    }
    std::vector<trace_event> open;
    for (const trace_event& one : row.events) {
      switch (one.what) {
        case event::begin:
          if (one.handler != trace::main_program) ++sums.begun;
          open.push_back(one);
          break;
        case event::end:
          if (!open.empty() && open.back().handler == one.handler) {
            method_profile& method = profile.methods[one.handler];
            ++method.calls;
            if (const std::int64_t taken = one.ns - open.back().ns; taken > method.longest)
              method = {method.calls, method.total, taken, row.pe, open.back().ns};
            open.pop_back();
          }
          break;
        case event::off:
        case event::on:
          open.clear();
          break;
        case event::send:
        case event::left:
          ++sums.sent;
          break;
        case event::arrived:
          ++sums.arrived;
          break;
        case event::written:
          sums.writing += static_cast<double>(one.length);
          break;
        default:
          break;
      }
    }
    profile.rows.push_back(sums);
  }
  return profile;
}

std::string text_of_rows(const trace_folder& trace, const trace_profile& profile) {
  std::string text = fmt::format("{:<14} {:>7} {:>7} {:>9} {:>10} {:>10} {:>10}  {}\n", "row", "busy %", "idle %",
                                 "overhead %", "traced", "methods", "sent", "");
  for (const row_profile& each : profile.rows) {
    const std::int64_t on = each.busy + each.idle + each.overhead;
    std::string note;
    if (each.writing != 0) note = fmt::format("{} of it writing the trace", format_duration(each.writing));
    if (each.row->pe < 0) {
      const std::string thread = each.row->has_thread ? fmt::format("{:>7.1f} {:>7.1f} {:>10}", percent(each.busy, on),
                                                                    percent(each.idle, on), "-")
                                                      : fmt::format("{:>7} {:>7} {:>10}", "-", "-", "-");
      text += fmt::format("{:<14} {} {:>10} {:>10} {:>10}  {}\n", each.row->label(), thread, "",
                          fmt::format("{} in", each.arrived), fmt::format("{} out", each.sent), note);
    } else {
      text += fmt::format("{:<14} {:>7.1f} {:>7.1f} {:>10.1f} {:>10} {:>10} {:>10}  {}\n", each.row->label(),
                          percent(each.busy, on), percent(each.idle, on), percent(each.overhead, on), length(on),
                          each.begun, each.sent, note);
    }
  }
  if (profile.rows.size() < static_cast<std::size_t>(trace.processes * trace.pes_per_process))
    text += fmt::format("(of {} PEs)\n", trace.processes * trace.pes_per_process);
  return text;
}

std::string text_of_methods(const trace_folder& trace, const trace_profile& profile, std::size_t most) {
  std::vector<std::pair<std::uint32_t, method_profile>> sorted(profile.methods.begin(), profile.methods.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  std::string text = fmt::format("{:>10} {:>10} {:>10} {:>10}  {:<22} {}\n", "calls", "self", "mean self", "longest",
                                 "which was", "method");
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) {
    const auto& [handler, method] = sorted[i];
    const std::int64_t mean = method.calls == 0 ? method.total : method.total / static_cast<std::int64_t>(method.calls);
    const trace_row* const row = trace.row_of_pe(method.longest_pe);
    text += fmt::format("{:>10} {:>10} {:>10} {:>10}  {:<22} {}\n", method.calls, length(method.total), length(mean),
                        length(method.longest),
                        method.calls == 0 || row == nullptr
                            ? std::string()
                            : fmt::format("{} at {}", row->label(), length(method.longest_begin)),
                        trace.name_of(handler));
  }
  if (sorted.size() > most) text += fmt::format("... and {} more\n", sorted.size() - most);
  return text + "Self leaves out the methods that ran within a call; longest is a call from its begin to its end.\n";
}

std::string text_of_slow_calls(const trace_folder& trace, std::size_t most) {
  struct found {
    const trace_row* row;
    const trace_event* what;
  };
  std::vector<found> all;
  for (const trace_row& row : trace.rows)
    for (const trace_event& one : row.events)
      if (one.what == event::slow) all.push_back({&row, &one});
  std::sort(all.begin(), all.end(), [](const found& a, const found& b) { return a.what->length > b.what->length; });
  std::string text = fmt::format("calls of {} or more: {}\n", length(std::int64_t{trace.slow_us} * 1000), all.size());
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
    text += fmt::format("  {:<14} at {:>10}  took {:>10}  {}\n", all[i].row->label(),
                        length(all[i].what->ns - all[i].what->length), length(all[i].what->length),
                        trace.name_of(all[i].what->handler));
  if (all.size() > most) text += fmt::format("  ... and {} more\n", all.size() - most);
  return text;
}

}  // namespace tri::tools
