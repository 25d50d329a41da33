// `trireme info`: the machine's features and the options.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "arena/arena.hpp"
#include "build_parts.hpp"
#include "command_line.hpp"
#include "config/configuration.hpp"
#include "config/option_value.hpp"
#include "config/placement.hpp"
#include "duration.hpp"
#include "machine_facts.hpp"
#include "mpi/memory_kinds.hpp"
#include "mpi/mpi_report.hpp"
#include "os/clock.hpp"
#include "os/cpu/cpu_list.hpp"
#include "os/cpu/pinning.hpp"
#include "os/cpu/topology.hpp"
#include "saturation/saturation.hpp"
#include "slack/slack_probe.hpp"
#include "subcommands.hpp"
#include "trireme/objects.hpp"
#include "trireme/version.hpp"

namespace tri::tools {
namespace {

using nlohmann::json;

constexpr const char* footer =
    "The --tri-<name> options and TRIREME_<NAME> variables are honoured, so this also shows what a program would see.\n"
    "\n"
    "Examples:\n"
    "  trireme info                          parts of this build, topology, shared memory, counters\n"
    "  trireme info --config                 all options, their values and where these come from\n"
    "  trireme info --json                   the same as JSON\n"
    "  trireme info --tri-topology \"synthetic:pack:2 numa:1 l3:1 core:4 pu:2\"   another machine\n"
    "  trireme info --slack                  how long PEs wait for each other in collective operations\n"
    "  trireme run -n 2 --pes 2 trireme info --slack --rounds 5000     the same between processes\n"
    "  trireme info --mpi                    MPI libraries, and which path messages would take under `trireme exec`\n"
    "  trireme info --mpi ./app              the same, and what of it ./app would use\n"
    "  trireme info --saturation             how many cores the memory of a NUMA domain feeds\n"
    "  trireme info --migrations 1           do threads stay on their core? with and without pinning, for a second";

json config_json(const config::configuration& values) {
  json rows = json::array();
  for (const config::option_description& row : config::option_table()) {
    rows.push_back({{"name", row.name},
                    {"kind", row.kind},
                    {"default", row.default_value},
                    {"unit", row.unit},
                    {"allowed", row.allowed},
                    {"help", row.help},
                    {"variable", row.environment_variable()},
                    {"option", row.option()},
                    {"value", values.text_of(row.name)},
                    {"from", config::to_string(values.origin_of(row.name))}});
  }
  return rows;
}

json topology_json(const os::topology& machine) {
  json pus = json::array();
  for (const os::pu& each : machine.pus()) {
    pus.push_back({{"number", each.number},
                   {"core", each.core},
                   {"cache", each.cache},
                   {"numa", each.numa},
                   {"package", each.package}});
  }
  json caches = json::array();
  for (const os::cache_info& each : machine.all_caches()) {
    caches.push_back({{"level", each.level}, {"bytes", each.bytes}, {"pus", each.pus}});
  }
  json quota = machine.quota() ? json(*machine.quota()) : json(nullptr);
  return {{"description", machine.description()},
          {"pus", pus},
          {"cores", machine.cores()},
          {"numa_domains", machine.numa_domains()},
          {"packages", machine.packages()},
          {"caches", caches},
          {"memory_bytes", machine.memory_bytes()},
          {"cpu_quota", quota}};
}

json facts_json(const std::vector<machine_fact>& facts) {
  json rows = json::object();
  for (const machine_fact& each : facts) rows[each.name] = {{"works", each.works}, {"detail", each.detail}};
  return rows;
}

// The parts of this build, as facts: they are, or are not.
std::vector<machine_fact> part_facts() {
  std::vector<machine_fact> facts;
  for (const build_part& part : build_parts()) facts.push_back({part.name, part.built, part.detail});
  return facts;
}

void print_topology(const config::configuration& values, const os::topology& machine) {
  fmt::print("Topology ({})\n{}", machine.description(), machine.tree());
  std::vector<int> usable;
  for (const os::pu& each : machine.pus()) usable.push_back(each.number);
  fmt::print("usable: CPU {} = {} PUs on {} cores, {} NUMA domains, {} packages\n", os::format_cpu_list(usable),
             machine.pus().size(), machine.cores(), machine.numa_domains(), machine.packages());
  if (machine.quota()) fmt::print("the control group allows {:.2f} CPUs worth of time\n", *machine.quota());
  const int pes = config::resolve_pes(values, 1);
  const config::placement placed = config::assign_cpus(values, machine, 0, 1, pes);
  fmt::print("one process would start {} PE{} on CPU {} ({})\n\n", pes, pes == 1 ? "" : "s",
             os::format_cpu_list(placed.cpus), placed.pinned ? "pinned" : "not pinned");
}

void print_facts(const char* title, const std::vector<machine_fact>& facts) {
  fmt::print("{}\n", title);
  for (const machine_fact& each : facts)
    fmt::print("  {:<16}{:<5}{}\n", each.name, each.works ? "yes" : "no", each.detail);
}

// Runs one busy thread per CPU for `seconds` and counts how often they change their CPU.
std::uint64_t count_migrations(const std::vector<int>& cpus, bool pinned, double seconds) {
  std::vector<os::migration_probe> probes(cpus.size());
  std::vector<std::thread> threads;
  const std::int64_t end_ns = os::now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      if (pinned) os::pin_this_thread(cpus[i]);
      while (os::now_ns() < end_ns) probes[i].sample();
    });
  }
  std::uint64_t changes = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    changes += probes[i].changes();
  }
  return changes;
}

void print_migrations(double seconds) {
  const std::vector<int> cpus = os::cpus_of_this_thread();
  for (const bool pinned : {false, true}) {
    fmt::print("{} busy threads {}: {} changes of CPU in {} s\n", cpus.size(), pinned ? "pinned" : "not pinned",
               count_migrations(cpus, pinned, seconds), seconds);
  }
}

void print_all(const config::configuration& values, const os::topology& machine) {
  fmt::print("trireme {}\n\n", tri::version());
  print_facts("Parts of this build", part_facts());
  fmt::print("\n");
  print_topology(values, machine);
  const std::size_t limit =
      values.arena_limit_bytes == 0 ? arena::automatic_limit(values.arena_window_bytes, 1) : values.arena_limit_bytes;
  fmt::print("Shared memory\n  {:<16}{} of addresses for each process, from {:#x} on; up to {} processes on a host\n",
             "arena window", config::write_size(values.arena_window_bytes), arena::base_address,
             arena::most_windows(values.arena_window_bytes));
  fmt::print("  {:<16}{} MiB for one process{}\n", "arena limit", limit >> 20,
             values.arena_limit_bytes == 0 ? ", divided by the processes of the host (automatic)" : "");
  print_facts("  what the machine allows:", memory_facts());
  fmt::print("\n");
  print_facts("Counters", counter_facts());
  fmt::print("\n`trireme info --config` lists the options.\n");
}

// Starts the PEs of this process as a job, or joins the one that the launcher made.
int print_slack(std::vector<char*> arguments, int rounds, double work_ns, bool as_json) {
  arguments.push_back(nullptr);
  return tri::run(static_cast<int>(arguments.size()) - 1, arguments.data(), [&] {
    const std::vector<operation_slack> found = slack_of(measure_slack(rounds, work_ns));
    if (as_json) {
      const json all{
          {"pes", tri::pe_count()}, {"rounds", rounds}, {"work_us", work_ns / 1e3}, {"operations", to_json(found)}};
      fmt::print("{}\n", all.dump(2));
    } else {
      fmt::print("slack: what each of {} PEs waits in a collective operation after {} of work, {} rounds\n\n{}",
                 tri::pe_count(), format_duration(work_ns), rounds, to_text(found));
    }
  });
}

double parse_work(const std::string& text) {
  try {
    return parse_duration(text);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("--work: {}", problem.what()));
  }
}

}  // namespace

int info_command(int argc, char** argv) {
  const std::vector<char*> all_arguments(argv, argv + argc);  // a job takes its own options out of them
  const config::configuration values = config::configuration::from(argc, argv);
  CLI::App app("Shows the machine, what it allows our shared memory and counters, and the options.", argv[0]);
  app.footer(footer);
  bool config = false;
  bool as_json = false;
  double migrations_s = 0;
  app.add_flag("--config", config, "the table of options");
  app.add_flag("--json", as_json, "JSON instead of text");
  app.add_option("--migrations", migrations_s, "watch busy threads for this many seconds each with and without pinning")
      ->type_name("SECONDS")
      ->check(number_above_zero());
  bool slack = false;
  int rounds = 1000;
  std::string work = "20us";
  CLI::Option* const slack_flag = app.add_flag("--slack", slack, "how long each PE waits in collective operations");
  app.add_option("--rounds", rounds, "rounds of --slack, 1000 by default")
      ->needs(slack_flag)
      ->type_name("N")
      ->check(whole_number_between(1, 100'000'000));
  app.add_option("--work", work, "computation before each operation of --slack, 20us by default")
      ->type_name("TIME")
      ->needs(slack_flag);
  bool mpi = false;
  bool mpi_memory = false;
  bool saturation = false;
  app.add_flag("--saturation", saturation,
               "how many cores take all that the memory of a NUMA domain gives, for TRIREME_MPI_SHARING=throughput,N");
  std::string program;
  CLI::Option* const mpi_flag =
      app.add_flag("--mpi", mpi, "MPI libraries, the drop-in of each, and what it can do on this host");
  app.add_option("program", program, "with --mpi: the program to report on")->needs(mpi_flag);
  app.add_flag(memory_kinds_option, mpi_memory)->group("");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  if (saturation) {
    const std::vector<copy_throughput> rows = measure_copies(os::topology::shared(values.topology), 0.2);
    fmt::print("{}", as_json ? to_json(rows).dump(2) + "\n" : to_text(rows));
    return 0;
  }
  if (mpi_memory) return print_memory_kinds();
  if (mpi) {
    const mpi_report report = make_mpi_report(program);
    fmt::print("{}", as_json ? to_json(report).dump(2) + "\n" : to_text(report));
    return 0;
  }
  if (slack) return print_slack(all_arguments, rounds, parse_work(work), as_json);
  if (migrations_s > 0) {
    print_migrations(migrations_s);
  } else if (config) {
    fmt::print("{}", as_json ? config_json(values).dump(2) + "\n" : config::configuration_listing(values));
  } else if (as_json) {
    const os::topology& machine = os::topology::shared(values.topology);
    const json all = {{"version", tri::version()},
                      {"parts", facts_json(part_facts())},
                      {"topology", topology_json(machine)},
                      {"memory", facts_json(memory_facts())},
                      {"counters", facts_json(counter_facts())},
                      {"config", config_json(values)}};
    fmt::print("{}\n", all.dump(2));
  } else {
    print_all(values, os::topology::shared(values.topology));
  }
  return 0;
}

}  // namespace tri::tools
