// `trireme balance`: what balancing strategies make of a snapshot of loads, without running anything.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

#include "balance/balance_report.hpp"
#include "balance/made_snapshot.hpp"
#include "balance/snapshot_text.hpp"
#include "command_line.hpp"
#include "os/clock.hpp"
#include "os/output_file.hpp"
#include "subcommands.hpp"

namespace tri::tools {
namespace {

constexpr const char* footer =
    "A snapshot has the measured load of objects and PEs and the traffic between objects. A strategy decides which\n"
    "objects go to which PE. The table shows the makespan, which is the time of the PE that takes longest, before and\n"
    "after; by the shortest makespan that is possible; what has to move; and what then goes between hosts. Moves that\n"
    "would lengthen the makespan are dropped.\n"
    "\n"
    "Snapshots are files of JSON (src/balance/README.md has the format). --make makes one from a seed: random loads,\n"
    "patches (a corner of a grid is four times as heavy) or a droplet (almost all work in a ball), with objects=N,\n"
    "pes=N, hosts=N, numa=N (NUMA nodes of a host), immovable=X (part of the objects), speeds=X (PEs are up to that\n"
    "part faster or slower), background=X (up to that part of the mean load) and seed=N.\n"
    "\n"
    "gossip and hierarchy are distributed: each host decides with what it was sent. Here all hosts run in one "
    "process,\n"
    "and the messages are counted.\n"
    "\n"
    "Examples:\n"
    "  trireme balance --list                                  the strategies\n"
    "  trireme balance --make patches,objects=1000,pes=8,hosts=2 --strategy refine --svg loads.svg\n"
    "  trireme balance --make random,objects=100000,pes=4096,hosts=256 --strategy all\n"
    "  trireme balance --make droplet --save droplet.json      to edit it, or to look at the format\n"
    "  trireme balance droplet.json --strategy communication --json moves.json";

struct balance_line {
  std::string file, wish, strategy = "greedy", svg, json, save;
  bool lists = false;
  balancing::strategy_options options;
};

balancing::snapshot snapshot_of(const balance_line& line) {
  if (line.file.empty() == line.wish.empty())
    throw std::invalid_argument(line.file.empty() ? "a snapshot is missing: name its file, or make one with --make"
                                                  : "a snapshot has a file or is made with --make, not both");
  if (!line.wish.empty()) return balancing::make_snapshot(balancing::wish_from(line.wish));
  std::ifstream in(line.file, std::ios::binary);
  if (!in) throw std::invalid_argument(fmt::format("{}: cannot be read", line.file));
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return balancing::snapshot_from(text, line.file);
}

strategy_run run_of(const balancing::snapshot& of, const balancing::strategy& by, balancing::strategy_options options) {
  const bool shows_progress = isatty(STDERR_FILENO) == 1;
  if (shows_progress) {
    fmt::print(stderr, "\r{:<15}         ", by.name);
    options.progress = [&](double part) { fmt::print(stderr, "\r{:<15} {:5.1f} % ", by.name, 100 * part); };
  }
  strategy_run run{.name = by.name, .result = {}, .fault = {}};
  const std::int64_t begin = os::now_ns();
  run.result = balancing::balance(of, by, options);
  run.taken_ns = static_cast<double>(os::now_ns() - begin);
  if (shows_progress) fmt::print(stderr, "\r{:30}\r", "");
  return run;
}

void compare_all(const balancing::snapshot& of, const balance_line& line) {
  std::vector<strategy_run> runs;
  for (const balancing::strategy& each : balancing::all_strategies()) {
    try {
      runs.push_back(run_of(of, each, line.options));
    } catch (const std::exception& error) {  // what a strategy lacks is a line of the table
      runs.push_back({.name = each.name, .result = {}, .fault = error.what()});
    }
  }
  if (!line.json.empty()) os::write_output_file(line.json, to_json(of, runs).dump() + '\n');
  fmt::print("{}", comparison_of(of, runs));
}

void add_options(CLI::App& app, balance_line& line) {
  app.add_option("snapshot", line.file, "file of a snapshot")->type_name("FILE");
  app.add_option("--make", line.wish, "make a snapshot: random, patches or droplet, then objects=N,pes=N,...")
      ->type_name("KIND,NAME=N,...");
  app.add_option("--strategy", line.strategy, "its name, or all to compare them; greedy by default")->type_name("NAME");
  app.add_flag("--list", line.lists, "list the strategies");
  app.add_option("--tolerance", line.options.tolerance, "part by which a PE may be above the mean, 0.02 by default")
      ->type_name("X")
      ->check(number_between(0, 10));
  app.add_option("--alpha", line.options.alpha,
                 "communication: cost of a message between hosts by that of one inside, 10 by default")
      ->type_name("X")
      ->check(number_between(1, 1e6));
  app.add_option("--counter", line.options.counter, "contention: its counter, the first one by default")
      ->type_name("NAME");
  app.add_option("--counter-tolerance", line.options.counter_tolerance,
                 "contention: part by which groups may be away from their share, 0.05 by default")
      ->type_name("X")
      ->check(number_between(0, 10));
  app.add_option("--rounds", line.options.rounds, "gossip: rounds of rumours before each turn of offers, 3 by default")
      ->type_name("N")
      ->check(whole_number_between(1, 64));
  app.add_option("--seed", line.options.seed, "of strategies that draw, 1 by default")->type_name("N");
  app.add_option("--svg", line.svg, "draw the time of each PE before and after")->type_name("FILE");
  app.add_option("--json", line.json, "write the figures and all moves")->type_name("FILE");
  app.add_option("--save", line.save, "write the snapshot")->type_name("FILE");
}

}  // namespace

int balance_command(int argc, char** argv) {
  CLI::App app("Shows what load balancing strategies make of a snapshot of loads.", "trireme balance");
  app.footer(footer);
  balance_line line;
  add_options(app, line);
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  if (line.lists) {
    for (const balancing::strategy& each : balancing::all_strategies())
      fmt::print("{:<15} {}\n", each.name, each.summary);
    return 0;
  }
  const bool compares = line.strategy == "all";
  if (compares && !line.svg.empty())
    throw std::invalid_argument("--svg draws one strategy; name it with --strategy instead of 'all'");
  const std::optional<balancing::strategy> by =
      compares ? std::nullopt : std::optional(balancing::find_strategy(line.strategy));
  const balancing::snapshot of = snapshot_of(line);
  if (!line.save.empty()) os::write_output_file(line.save, balancing::to_text(of));
  if (compares) {
    compare_all(of, line);
    return 0;
  }
  const strategy_run run = run_of(of, *by, line.options);
  if (!line.svg.empty()) os::write_output_file(line.svg, to_svg(of, run));
  if (!line.json.empty()) os::write_output_file(line.json, to_json(of, {run}).dump() + '\n');
  fmt::print("{}", table_of(of, run));
  return 0;
}

}  // namespace tri::tools
