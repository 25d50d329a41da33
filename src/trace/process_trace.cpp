#include "trace/process_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "os/cpu/cpu_list.hpp"
#include "os/folder.hpp"
#include "trace/trace_clock.hpp"

namespace tri::trace {
namespace {

namespace fs = std::filesystem;

std::vector<bool> chosen_pes(const std::string& text, int pes) {
  std::vector<bool> chosen(static_cast<std::size_t>(pes), text == "all");
  if (text == "all") return chosen;
  std::vector<int> listed;
  try {
    listed = os::parse_cpu_list(text);
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument(
        fmt::format("--tri-trace-pes (TRIREME_TRACE_PES) is '{}'; right are all, or PEs such as 0-3,7", text));
  }
  for (const int pe : listed) {
    if (pe < 0 || pe >= pes)
      throw std::invalid_argument(fmt::format(
          "--tri-trace-pes (TRIREME_TRACE_PES) is '{}', but there is no PE {}: the PEs are 0-{}", text, pe, pes - 1));
    chosen[static_cast<std::size_t>(pe)] = true;
  }
  return chosen;
}

bool is_trace_file(const fs::path& file) {
  const std::string name = file.filename().string();
  return file.extension() == ".trace" && (name.starts_with("pe-") || name.starts_with("wire-"));
}

}  // namespace

void remove_old_traces(const std::string& folder) {
  try {
    os::clear_folder(folder, is_trace_file);
  } catch (const fs::filesystem_error& error) {
    throw std::runtime_error(
        fmt::format("cannot write a trace into the folder {}: {}", folder, error.code().message()));
  }
}

std::unique_ptr<process_trace> process_trace::open(const trace_options& options, const process_facts& facts) {
  const int pes = facts.processes * facts.pes_per_process;
  const std::vector<bool> chosen = chosen_pes(options.pes, pes);
  const int first = facts.process * facts.pes_per_process;
  const auto begin = chosen.begin() + first;
  if (std::find(begin, begin + facts.pes_per_process, true) == begin + facts.pes_per_process) return nullptr;

  nlohmann::json description = {{"process", facts.process},
                                {"processes", facts.processes},
                                {"host", facts.host},
                                {"hosts", facts.hosts},
                                {"pes_per_process", facts.pes_per_process},
                                {"comm_thread", facts.comm_thread},
                                {"slow_us", options.slow_us},
                                {"ns_per_tick", os::ns_per_tick()},
                                {"clock", name_of_clock()},
                                {"handlers", facts.handlers}};
  const auto text = [&] { return description.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); };
  const fs::path folder(options.folder);
  const std::uint64_t slow_ticks = os::ns_to_ticks(1000.0 * options.slow_us);
  std::unique_ptr<process_trace> traces(new process_trace);
  for (int local = 0; local < facts.pes_per_process; ++local) {
    const int pe = first + local;
    traces->pes_.emplace_back();
    if (!chosen[static_cast<std::size_t>(pe)]) continue;
    description["pe"] = pe;
    traces->pes_.back() = std::make_unique<recorder>((folder / fmt::format("pe-{}.trace", pe)).string(), text(),
                                                     options.events, slow_ticks);
  }
  if (facts.hosts > 1) {
    description.erase("pe");
    traces->wire_ = std::make_unique<wire_row>((folder / fmt::format("wire-{}.trace", facts.process)).string(), text(),
                                               options.events, slow_ticks, traces->pes_on_);
  }
  return traces;
}

void wire_row::left(std::uint32_t source, std::uint32_t number) {
  if (!is_on()) return;
  const std::uint64_t now = os::ticks();
  const std::lock_guard guard(lock_);
  recorder_.add({.ticks = now, .number = number, .peer = source, .what = event::left});
}

void wire_row::arrived(std::uint32_t source, std::uint32_t number, std::uint32_t handler, target to, int destination) {
  if (!is_on()) return;
  const std::uint64_t now = os::ticks();
  const std::lock_guard guard(lock_);
  recorder_.add({.ticks = now,
                 .number = number,
                 .bytes = static_cast<std::uint32_t>(destination),
                 .peer = source,
                 .handler = handler,
                 .what = event::arrived,
                 .to = to});
}

void wire_row::call_ended(std::uint32_t call, std::uint64_t began) {
  const std::uint64_t now = os::ticks();
  if (now - began < slow_ticks_) [[likely]]
    return;
  const std::lock_guard guard(lock_);
  recorder_.call_ended(call, recorder_.call_begins(began), now);
}

void wire_row::thread_worked(bool worked, std::uint64_t before) {
  const bool works = worked && is_on();
  if (works == working_) return;
  working_ = works;
  const std::lock_guard guard(lock_);
  if (works)
    recorder_.mark(event::work, before);
  else
    recorder_.idle(before);
}

}  // namespace tri::trace
