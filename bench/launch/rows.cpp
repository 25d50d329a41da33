// The same number of PEs in one process of each host, and in a process for each PE: from the start of `trireme run` to
// the first method of the program, which runs when all PEs have joined. The two are started in turn and compared pair
// by pair, so that a slow moment of the machine hits both.
#include "launch/rows.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "framework/process_rows.hpp"
#include "framework/statistics.hpp"
#include "os/clock.hpp"
#include "trireme/run.hpp"

namespace tri::bench {
namespace {

struct job_shape {
  int processes;
  int pes;  // of each
  int hosts;
};

struct launch_times {
  double until_running_ns;
  double until_ended_ns;
};

launch_times start_job(const std::string& program, const job_shape& job) {
  std::vector<std::string> command = {
      program, "run", "-n", std::to_string(job.processes), "--pes", std::to_string(job.pes)};
  if (job.hosts > 1) command.insert(command.end(), {"--hosts", std::to_string(job.hosts)});
  command.insert(command.end(), {"--", program, "bench", "--started-job"});
  std::int64_t running_ns = 0;
  const std::int64_t begin_ns = os::now_ns();
  process_lines(
      command, [&](const std::string& line) { running_ns = std::strtoll(line.c_str(), nullptr, 10); }, 60);
  const std::int64_t end_ns = os::now_ns();
  if (running_ns < begin_ns || running_ns > end_ns)
    throw std::runtime_error("the job of the suite launch has not said when it began");
  return {static_cast<double>(running_ns - begin_ns), static_cast<double>(end_ns - begin_ns)};
}

measurement measure(context& tools, const std::string& program, const job_shape& together, const job_shape& apart) {
  const bool in_a_hurry = tools.runner().options().max_time_s <= 2;
  const int pairs = in_a_hurry ? 3 : 15;
  measurement made;
  comparison beside{.name = fmt::format("{} processes", apart.processes), .ratios = {}};
  std::vector<double> until_ended, of_peer;
  for (int pair = 0; pair < pairs; ++pair) {
    launch_times own{}, other{};
    for (const bool own_turn : {pair % 2 == 0, pair % 2 != 0})
      (own_turn ? own : other) = start_job(program, own_turn ? together : apart);
    made.samples.operation_ns.push_back(own.until_running_ns);
    beside.ratios.push_back(own.until_running_ns / other.until_running_ns);
    until_ended.push_back(own.until_ended_ns);
    of_peer.push_back(other.until_running_ns);
  }
  made.peers[fmt::format("processes_{}", apart.processes)] = nanoseconds_in_unit(summarize(of_peer).median, "ms");
  made.counts["processes"] = together.processes;
  made.counts["ms to the end"] = nanoseconds_in_unit(summarize(until_ended).median, "ms");
  made.reference = std::move(beside);
  return made;
}

row_definition row_of(const std::string& program, const std::string& name, const job_shape& together,
                      const job_shape& apart) {
  return {.name = name,
          .unit = "ms",
          .target_ratio = 1.0,
          .handoffs = 0,
          .description =
              fmt::format("from trireme run to the program's first method: {} process{} of {} PEs, beside {} "
                          "processes of one",
                          together.processes, together.processes == 1 ? "" : "es", together.pes, apart.processes),
          .measure = [=](context& tools) { return measure(tools, program, together, apart); }};
}

}  // namespace

std::vector<row_definition> launch_rows(const std::string& program) {
  return {
      row_of(program, "launch/8_pes", {.processes = 1, .pes = 8, .hosts = 1}, {.processes = 8, .pes = 1, .hosts = 1}),
      row_of(program, "launch/8_pes_on_2_hosts", {.processes = 2, .pes = 4, .hosts = 2},
             {.processes = 8, .pes = 1, .hosts = 2})};
}

int serve_as_started_job() {
  char name[] = "trireme";
  char* arguments[] = {name, nullptr};
  return tri::run(1, arguments, [] { fmt::print("{}\n", os::now_ns()); });
}

}  // namespace tri::bench
