#include "trace/trace_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

#include "config/json_number.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;

// Limits of a trace's numbers: within these, no sum or difference overflows its type.
constexpr int most_processes = 1 << 20;
constexpr int most_pes_per_process = 1 << 10;
constexpr std::int64_t day_ns = std::int64_t{86'400} * 1'000'000'000;
constexpr std::int64_t longest_clock_ns = 3650 * day_ns;
constexpr std::int64_t longest_trace_ns = 100 * day_ns;
constexpr double slowest_tick_ns = 1e6;

struct anchor {
  std::uint64_t tick;
  std::int64_t ns;
};

// Between two moments at which both clocks are known in proportion; outside by the rate of the description.
class tick_clock {
 public:
  tick_clock(std::vector<anchor> known, double ns_per_tick) : known_(std::move(known)), ns_per_tick_(ns_per_tick) {
    std::sort(known_.begin(), known_.end(), [](const anchor& a, const anchor& b) { return a.tick < b.tick; });
  }
  std::int64_t ns_of(std::uint64_t tick) const {
    const auto after = std::upper_bound(known_.begin(), known_.end(), tick,
                                        [](std::uint64_t t, const anchor& a) { return t < a.tick; });
    const anchor& near = after == known_.begin() ? *after : *(after - 1);
    double rate = ns_per_tick_;
    if (after != known_.begin() && after != known_.end() && after->tick != near.tick)
      rate = static_cast<double>(after->ns - near.ns) / static_cast<double>(after->tick - near.tick);
    const double away = static_cast<double>(static_cast<std::int64_t>(tick - near.tick)) * rate;
    return in_range(static_cast<double>(near.ns) + away) ? near.ns + std::llround(away) : out_of_range;
  }
  std::int64_t length(std::uint64_t ticks) const {
    const double ns = static_cast<double>(ticks) * ns_per_tick_;
    return in_range(ns) ? std::llround(ns) : out_of_range;
  }
  static constexpr std::int64_t out_of_range = std::numeric_limits<std::int64_t>::max();

 private:
  static bool in_range(double ns) { return std::abs(ns) <= static_cast<double>(longest_clock_ns); }
  std::vector<anchor> known_;
  double ns_per_tick_;
};

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", file.string(), why));
}

struct file_contents {
  nlohmann::json description;
  std::vector<trace::record> records;
  std::vector<std::string> names;
};

// The text that stands in the place of the next records.
std::string read_name(std::ifstream& in, const fs::path& file, const trace::record& one, std::size_t known) {
  if (one.bytes > trace::most_name_bytes || one.handler != known)
    refuse(file, fmt::format("name {} of {} bytes comes where name {} of at most {} bytes is expected", one.handler,
                             one.bytes, known, trace::most_name_bytes));
  std::string text(trace::records_of_name(one.bytes) * sizeof(trace::record), ' ');
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size()))) return {};  // the job was killed
  text.resize(one.bytes);
  return text;
}

file_contents read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  trace::file_head head{};
  if (!in.read(reinterpret_cast<char*>(&head), sizeof head) ||
      std::memcmp(head.magic, trace::format_magic, sizeof head.magic) != 0)
    refuse(file, "not a trace file of Trireme");
  if (head.version != trace::format_version)
    refuse(file,
           fmt::format("a trace of version {}; this command reads version {}", head.version, trace::format_version));
  file_contents contents;
  if (const std::uintmax_t size = fs::file_size(file); head.description_bytes > size) {
    refuse(file,
           fmt::format("it says that its description has {} bytes, but the file has {}", head.description_bytes, size));
  }
  std::string text(head.description_bytes, ' ');
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size())))
    refuse(file, "it is truncated inside its description");
  try {
    contents.description = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    refuse(file, fmt::format("its description cannot be read: {}", error.what()));
  }
  trace::record one;
  while (in.read(reinterpret_cast<char*>(&one), sizeof one)) {
    const auto what = static_cast<std::uint8_t>(one.what);
    if (what == 0 || what > trace::last_event)
      refuse(file, fmt::format("event {} is of the unknown kind {}", contents.records.size(), what));
    if (one.what == trace::event::name)
      contents.names.push_back(read_name(in, file, one, contents.names.size()));
    else
      contents.records.push_back(one);
  }
  return contents;
}

trace_row row_of(const fs::path& file, const file_contents& contents, const trace_folder& job) {
  trace_row row;
  const nlohmann::json& facts = contents.description;
  row.pe = facts.contains("pe") ? config::json_number(facts, "pe", 0, job.processes * job.pes_per_process - 1) : -1;
  row.process = config::json_number(facts, "process", 0, job.processes - 1);
  row.host = config::json_number(facts, "host", 0, job.hosts - 1);
  row.clock = facts.at("clock");
  row.has_thread = facts.at("comm_thread") != "off";
  row.names = contents.names;
  std::vector<anchor> known;
  for (const trace::record& one : contents.records) {
    if (one.what != trace::event::clock) continue;
    if (one.number > static_cast<std::uint64_t>(longest_clock_ns))
      refuse(file, fmt::format("an event says that it is {} ns on a clock that counts from the start of the machine",
                               one.number));
    known.push_back({one.ticks, static_cast<std::int64_t>(one.number)});
  }
  if (known.empty()) {
    if (!contents.records.empty()) refuse(file, "it has no clock record");
    return row;  // its job was killed before the first events were written
  }
  const auto ns_per_tick = facts.at("ns_per_tick").get<double>();
  if (!(ns_per_tick > 0.0 && ns_per_tick <= slowest_tick_ns)) {
    refuse(file, fmt::format("'ns_per_tick' is {}; it must be above 0 and at most {}", ns_per_tick, slowest_tick_ns));
  }
  const tick_clock clock(std::move(known), ns_per_tick);
  for (const trace::record& one : contents.records) {
    if (one.what == trace::event::clock) continue;
    trace_event event{.ns = clock.ns_of(one.ticks),
                      .number = one.number,
                      .bytes = one.bytes,
                      .peer = one.peer,
                      .handler = one.handler,
                      .what = one.what,
                      .to = one.to,
                      .tag = one.tag};
    if (one.what == trace::event::slow || one.what == trace::event::written) event.length = clock.length(one.number);
    if (one.what == trace::event::copied) event.length = clock.length(one.bytes);
    if (event.ns == tick_clock::out_of_range || event.length > longest_trace_ns) {
      refuse(file, fmt::format("the event at tick {} is {}; its clock cannot be right", one.ticks,
                               event.ns == tick_clock::out_of_range ? "more than ten years from the others"
                                                                    : "more than 100 days long"));
    }
    row.events.push_back(event);
  }
  // Work of the board is written down when it has ended.
  std::stable_sort(row.events.begin(), row.events.end(),
                   [](const trace_event& a, const trace_event& b) { return a.ns < b.ns; });
  return row;
}

}  // namespace

std::string trace_row::label() const {
  if (pe >= 0) return fmt::format("PE {} (N{})", pe, process);
  return fmt::format("{} (N{})", has_thread ? "CommP" : "wire", process);
}

std::string trace_row::name_of_program(std::uint32_t number) const {
  return number < names.size() ? names[number] : fmt::format("name {}", number);
}

std::string trace_folder::name_of(std::uint32_t handler) const {
  if (handler == trace::main_program) return "main program";
  if (handler == trace::wire_progress_call) return "progress of the wire";
  if (handler == trace::wire_send_call) return "send over the wire";
  return handler < handlers.size() ? handlers[handler] : fmt::format("handler {}", handler);
}

const trace_row* trace_folder::row_of_pe(int pe) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const trace_row& row) { return row.pe == pe; });
  return pe < 0 || found == rows.end() ? nullptr : &*found;
}

const trace_row* trace_folder::wire_of(int process) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const trace_row& row) { return row.pe < 0 && row.process == process; });
  return found == rows.end() ? nullptr : &*found;
}

trace_folder read_trace(const fs::path& folder) {
  std::error_code unreadable;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable))
    if (entry.path().extension() == ".trace") files.push_back(entry.path());
  if (unreadable) throw std::runtime_error(fmt::format("{}: {}", folder.string(), unreadable.message()));
  if (files.empty())
    throw std::runtime_error(fmt::format("{}: no traces in there; a program started with --tri-trace {} writes them",
                                         folder.string(), folder.string()));
  std::sort(files.begin(), files.end());
  trace_folder all;
  nlohmann::json first;
  for (const fs::path& file : files) {
    const file_contents contents = read_file(file);
    try {
      const nlohmann::json& facts = contents.description;
      if (first.is_null()) {
        first = facts;
        all.processes = config::json_number(facts, "processes", 1, most_processes);
        all.hosts = config::json_number(facts, "hosts", 1, all.processes);
        all.pes_per_process = std::max(config::json_number(facts, "pes_per_process", 0, most_pes_per_process), 1);
        all.slow_us = config::json_number(facts, "slow_us", 0, std::numeric_limits<int>::max());
        all.handlers = facts.at("handlers").get<std::vector<std::string>>();
      }
      for (const char* const equal : {"processes", "hosts", "pes_per_process", "handlers"})
        if (facts.at(equal) != first.at(equal))
          refuse(file, fmt::format("of another job than {}: '{}' differs", files.front().filename().string(), equal));
      all.rows.push_back(row_of(file, contents, all));
    } catch (const nlohmann::json::exception& error) {
      refuse(file, fmt::format("its description lacks something: {}", error.what()));
    } catch (const std::out_of_range& error) {
      refuse(file, error.what());
    }
  }
  std::sort(all.rows.begin(), all.rows.end(), [](const trace_row& a, const trace_row& b) {
    return std::tuple(a.process, a.pe < 0, a.pe) < std::tuple(b.process, b.pe < 0, b.pe);
  });
  bring_clocks_together(all);
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (const trace_row& row : all.rows)
    if (!row.events.empty()) begin = std::min(begin, row.events.front().ns);
  for (trace_row& row : all.rows)
    for (trace_event& event : row.events) {
      event.ns -= begin;
      if (event.ns > longest_trace_ns) {
        throw std::runtime_error(
            fmt::format("{}: an event of {} is {} days after the first one; a trace of at most {} days can be read",
                        folder.string(), row.label(), event.ns / day_ns, longest_trace_ns / day_ns));
      }
      all.end_ns = std::max(all.end_ns, event.ns);
    }
  return all;
}

}  // namespace tri::tools
