// `trireme plan`: the steps of a collective on every rank, and what they cost, without running anything.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "os/output_file.hpp"
#include "plan/collective_options.hpp"
#include "plan/plan_report.hpp"
#include "subcommands.hpp"

namespace tri::tools {
namespace {

constexpr std::int64_t most_ranks = 1024;

constexpr const char* footer =
    "A collective is data here: a plan for each rank, whose steps (send, receive, copy, reduce, signal, wait) name\n"
    "the steps that they wait for. The plans of all ranks are verified for every interleaving of their steps; their\n"
    "cost is estimated in virtual time: between hosts by LogGP, where the gap is of a rank and the bandwidth of a\n"
    "host; inside by copies.\n"
    "\n"
    "--size is what one rank contributes or gets: its block (scatter, gather, allgather, reduce_scatter, alltoall) or\n"
    "the whole vector (broadcast, reduce, allreduce, scan, exscan). Without --algorithm the cheapest is taken.\n"
    "\n"
    "Algorithms are multi_object... (every rank of a host sends and receives: rounds of radix P+1), single_leader...\n"
    "(one of each host does), and the classic algorithms over single ranks; --compare lists those of the collective\n"
    "with their estimated costs. What messages and copies cost is assumed, or measured here: --tune-file.\n"
    "\n"
    "Examples:\n"
    "  trireme plan allgather --hosts 9 --ranks 4 --size 8          two rounds, and the steps of rank 0\n"
    "  trireme plan allreduce --hosts 16 --ranks 8 --size 64k --compare\n"
    "  trireme plan allreduce --hosts 7 --algorithm multi_object_bruck --size 8 --rank 3\n"
    "  trireme plan scatter --ranks 4,2,3 --size 100 --root 5 --svg scatter.svg\n"
    "  trireme plan reduce --hosts 4 --ranks 4 --size 1M --ordered --latency 50us --bandwidth 1.25 --json plan.json";

struct request_line {
  collective_options asked;
  int rank = 0;
  bool compare = false;
  std::string svg, json;
};

int show(const request_line& line) {
  const coll::request asked = line.asked.request();
  const int ranks = asked.hosts.ranks();
  if (line.rank < 0 || line.rank >= ranks)
    throw std::invalid_argument(fmt::format("--rank is {}; it must be 0 to {}", line.rank, ranks - 1));
  if (!line.svg.empty() && ranks > most_drawn_ranks)
    throw std::invalid_argument(
        fmt::format("--svg: a picture has room for {} ranks, and these are {}", most_drawn_ranks, ranks));
  const coll::cost_parameters costs = line.asked.costs();
  std::vector<coll::algorithm_cost> others;
  if (line.compare || line.asked.algorithm.empty()) others = coll::compare(asked, costs);
  const coll::algorithm& by =
      line.asked.algorithm.empty() ? *others.front().by : coll::algorithm_of(asked, line.asked.algorithm);
  if (!line.compare) others.clear();
  const plan_report report = report_of(asked, by, costs, std::move(others), line.asked.origin_of_costs());
  if (!line.svg.empty()) os::write_output_file(line.svg, to_svg(report));
  if (!line.json.empty()) os::write_output_file(line.json, to_json(report).dump(1) + '\n');
  fmt::print("{}", table_of(report, line.rank));
  return report.proof.starts_with("WRONG") ? 1 : 0;
}

}  // namespace

int plan_command(int argc, char** argv) {
  CLI::App app("Shows how a collective operation runs on hosts and ranks: rounds, messages, steps, and what it costs.",
               "trireme plan");
  app.footer(footer);
  request_line line;
  line.asked.add_to(app, most_ranks, most_ranks, "the cheapest by default");
  app.add_flag("--compare", line.compare, "list all algorithms of the collective with their estimated costs");
  app.add_option("--rank", line.rank, "the rank whose steps are listed, 0 by default")->type_name("RANK");
  app.add_option("--svg", line.svg, "draw the steps of all ranks over time")->type_name("FILE");
  app.add_option("--json", line.json, "write counts, costs and the steps of all ranks")->type_name("FILE");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  return show(line);
}

}  // namespace tri::tools
