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
#include "duration.hpp"
#include "os/output_file.hpp"
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
    "with their estimated costs.\n"
    "\n"
    "Examples:\n"
    "  trireme plan allgather --hosts 9 --ranks 4 --size 8          two rounds, and the steps of rank 0\n"
    "  trireme plan allreduce --hosts 16 --ranks 8 --size 64k --compare\n"
    "  trireme plan allreduce --hosts 7 --algorithm multi_object_bruck --size 8 --rank 3\n"
    "  trireme plan scatter --ranks 4,2,3 --size 100 --root 5 --svg scatter.svg\n"
    "  trireme plan reduce --hosts 4 --ranks 4 --size 1M --ordered --latency 50us --bandwidth 1.25 --json plan.json";

struct request_line {
  std::string collective;
  int hosts = 0;
  std::vector<int> ranks{1};
  std::uint64_t size = 8;
  std::uint32_t element = 1;
  int root = 0;
  int rank = 0;
  bool ordered = false;
  bool in_place = false;
  bool compare = false;
  std::string algorithm;
  std::string latency = "10us", overhead = "500ns", gap = "1us";
  double bandwidth = 10;
  std::string svg, json;
};

coll::shape shape_of(const request_line& line) {
  if (line.ranks.size() > 1 && line.hosts != 0 && line.hosts != static_cast<int>(line.ranks.size()))
    throw std::invalid_argument(fmt::format("--hosts is {}, and --ranks has those of {} hosts; they must agree",
                                            line.hosts, line.ranks.size()));
  std::int64_t ranks = 0;
  for (const int each : line.ranks) ranks += each;
  if (line.ranks.size() == 1) ranks *= std::max(line.hosts, 1);
  if (ranks > most_ranks) throw std::invalid_argument(fmt::format("{} ranks; it must be up to {}", ranks, most_ranks));
  if (line.ranks.size() == 1) return coll::shape::uniform(std::max(line.hosts, 1), line.ranks[0]);
  return coll::shape::of_table(line.ranks);
}

coll::request request_of(const request_line& line) {
  coll::request asked;
  asked.what = coll::collective_of(line.collective == "bcast" ? "broadcast" : line.collective);
  asked.hosts = shape_of(line);
  asked.extent = line.element;
  if (line.size % line.element != 0)
    throw std::invalid_argument(
        fmt::format("--size is {}, no multiple of --element, which is {}", line.size, line.element));
  asked.blocks = coll::block_layout::uniform(line.size / line.element);
  asked.root = line.root;
  asked.commutative = !line.ordered;
  asked.in_place = line.in_place;
  if (line.ordered && !coll::reduces(asked.what))
    throw std::invalid_argument(fmt::format("--ordered is for reductions, and {} is none", coll::name_of(asked.what)));
  if (line.root != 0 && !coll::has_root(asked.what))
    throw std::invalid_argument(fmt::format("--root is {}, and {} has no root", line.root, coll::name_of(asked.what)));
  asked.check();
  return asked;
}

double length_of(const char* option, const std::string& text) {
  try {
    return parse_duration(text);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("{}: {}", option, problem.what()));
  }
}

int show(const request_line& line) {
  const coll::request asked = request_of(line);
  const int ranks = asked.hosts.ranks();
  if (line.rank < 0 || line.rank >= ranks)
    throw std::invalid_argument(fmt::format("--rank is {}; it must be 0 to {}", line.rank, ranks - 1));
  if (!line.svg.empty() && ranks > most_drawn_ranks)
    throw std::invalid_argument(
        fmt::format("--svg: a picture has room for {} ranks, and these are {}", most_drawn_ranks, ranks));
  coll::cost_parameters costs;
  costs.latency = length_of("--latency", line.latency);
  costs.overhead = length_of("--overhead", line.overhead);
  costs.gap = length_of("--gap", line.gap);
  costs.per_byte = 1 / line.bandwidth;
  std::vector<coll::algorithm_cost> others;
  if (line.compare || line.algorithm.empty()) others = coll::compare(asked, costs);
  const coll::algorithm& by = line.algorithm.empty() ? *others.front().by : coll::algorithm_of(asked, line.algorithm);
  if (!line.compare) others.clear();
  const plan_report report = report_of(asked, by, costs, std::move(others));
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
  std::string names;
  for (const coll::collective each : coll::all_collectives())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", coll::name_of(each));
  app.add_option("collective", line.collective, names)->required();
  app.add_option("--hosts", line.hosts, "number of hosts, 1 by default")
      ->type_name("N")
      ->check(whole_number_between(1, most_ranks));
  app.add_option("--ranks", line.ranks, "ranks of each host, 1 by default; or of one host after the other: 4,2,3")
      ->type_name("N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number_between(1, most_ranks));
  app.add_option("--size", line.size, "bytes, 8 by default; 64k is 64000")
      ->type_name("BYTES")
      ->check(whole_number_between(0, std::int64_t{1} << 40))
      ->transform(with_thousands());
  app.add_option("--element", line.element, "bytes of an element, 1 by default; no reduction splits one")
      ->type_name("BYTES")
      ->check(whole_number_between(1, 1 << 20));
  app.add_option("--root", line.root, "rank of the root, 0 by default")->type_name("RANK");
  app.add_flag("--ordered", line.ordered, "the operation is not commutative: combine in the order of ranks");
  app.add_flag("--in-place", line.in_place, "input and output are one buffer, as with MPI_IN_PLACE");
  app.add_option("--algorithm", line.algorithm, "name of an algorithm; the cheapest by default")->type_name("NAME");
  app.add_flag("--compare", line.compare, "list all algorithms of the collective with their estimated costs");
  app.add_option("--rank", line.rank, "the rank whose steps are listed, 0 by default")->type_name("RANK");
  app.add_option("--latency", line.latency, "between hosts (L of LogGP), 10us by default")->type_name("TIME");
  app.add_option("--overhead", line.overhead, "of sending and of receiving a message (o), 500ns by default")
      ->type_name("TIME");
  app.add_option("--gap", line.gap, "between two messages of a rank (g), 1us by default")->type_name("TIME");
  app.add_option("--bandwidth", line.bandwidth, "of a host, in GB/s (1/G), 10 by default")
      ->type_name("X")
      ->check(number_above_zero());
  app.add_option("--svg", line.svg, "draw the steps of all ranks over time")->type_name("FILE");
  app.add_option("--json", line.json, "write counts, costs and the steps of all ranks")->type_name("FILE");
  if (const std::optional<int> done = parse_options(app, argc, argv)) return *done;
  return show(line);
}

}  // namespace tri::tools
