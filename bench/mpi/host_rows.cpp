#include "mpi/host_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "coll/algorithms.hpp"
#include "coll/cost_model.hpp"
#include "coll/request.hpp"
#include "mpi/row_measurement.hpp"

namespace tri::bench {
namespace {

const std::vector<std::string> collectives = {"bcast",  "gather",    "scatter",        "allgather", "alltoall",
                                              "reduce", "allreduce", "reduce_scatter", "scan",      "barrier"};

constexpr std::uint64_t kibi = 1024;

// As the drop-in chooses it (src/mpi/coll/hosts/collectives_across_hosts.cpp); none where it leaves the operation to
// the library, as it does everything where each rank is alone on its host.
std::string_view algorithm_of_drop_in(coll::collective what, std::uint64_t bytes, int hosts, int ranks) {
  if (hosts == ranks) return {};
  const bool is_short = bytes < 2048;
  const bool is_large = bytes > 32 * kibi;
  switch (what) {
    case coll::collective::allgather:
      return bytes * static_cast<std::uint64_t>(ranks) <= 64 * kibi ? "multi_object_bruck" : "multi_object_ring";
    case coll::collective::allreduce:
      return bytes * static_cast<std::uint64_t>(hosts) <= 16 * kibi ? "multi_object_gathered" : "multi_object_ring";
    case coll::collective::broadcast:
      if (bytes <= 4 * kibi) return {};
      if (bytes > 32 * kibi * static_cast<std::uint64_t>(hosts)) return "multi_object_chain";
      return bytes < 8 * kibi ? "multi_object_staged" : "multi_object";
    case coll::collective::reduce:
      return is_short ? "multi_object" : "multi_object_parts";
    case coll::collective::gather:
    case coll::collective::scatter:  // otherwise one message for each rank
      return bytes <= 4 * kibi || is_large ? std::string_view() : "multi_object";
    case coll::collective::alltoall:
      return bytes > 16 * kibi ? std::string_view() : "multi_object";
    default:
      return "multi_object";
  }
}

// Until one host has heard of all, where each of its ranks sends and receives one message in a round: in each round the
// hosts that have heard of each other become P + 1 times as many.
int rounds_at_least(int hosts, int ranks_of_a_host) {
  int rounds = 0;
  for (int reached = 1; reached < hosts; reached *= ranks_of_a_host + 1) ++rounds;
  return rounds;
}

// Rounds and messages between hosts.
std::map<std::string, double> counts_of(const std::string& name, std::uint64_t bytes, int hosts, int ranks_of_a_host) {
  coll::request asked;
  asked.what = coll::collective_of(name == "bcast" ? "broadcast" : name);
  if (asked.what == coll::collective::reduce && bytes > 32 * kibi) asked.what = coll::collective::allreduce;
  const std::string_view algorithm = algorithm_of_drop_in(asked.what, bytes, hosts, hosts * ranks_of_a_host);
  const bool is_rooted = asked.what == coll::collective::gather || asked.what == coll::collective::scatter ||
                         asked.what == coll::collective::broadcast;
  // Short blocks of a host have one message, of its leader.
  const bool is_by_leaders = bytes <= 4 * kibi;
  if (algorithm.empty() && is_rooted && ranks_of_a_host > 1)
    return {{"rounds", 1},
            {"messages", (hosts - 1) * (is_by_leaders ? 1 : ranks_of_a_host)},
            {"rounds at least", rounds_at_least(hosts, ranks_of_a_host)}};
  if (algorithm.empty()) return {};
  asked.hosts = coll::shape::uniform(hosts, ranks_of_a_host);
  asked.extent = 8;
  asked.blocks = coll::block_layout::uniform(bytes / 8);
  const auto plans = coll::generate_all(coll::algorithm_of(asked, algorithm), asked);
  const coll::plan_counts counts = coll::count_of(asked, plans);
  return {{"rounds", counts.rounds},
          {"messages", static_cast<double>(counts.between_hosts.messages)},
          {"rounds at least", rounds_at_least(hosts, ranks_of_a_host)}};
}

// Where fewer rounds must pay. Without delay the best that is asked for is to lose nothing.
std::optional<double> target_of(const std::string& what, long bytes, int hosts, int ranks_of_a_host, int delay_us) {
  if (delay_us == 0) return 1.05;
  const bool has_target = what == "allgather" || what == "scatter" || what == "allreduce";
  if (delay_us == 50 && hosts == 4 && ranks_of_a_host == 4 && bytes <= 1024 && has_target) return 0.67;
  return {};
}

struct job_shape {
  int hosts;
  int ranks;  // of a host
};

mpi_task task_of(const std::string& abi, const job_shape& shape, int delay_us, std::string what,
                 std::vector<std::string> arguments) {
  return {.what = std::move(what),
          .ranks = shape.hosts * shape.ranks,
          .arguments = std::move(arguments),
          .network = host_network{.hosts = shape.hosts, .delay_us = delay_us},
          .only = abi};
}

// All collectives of a shape and a delay are one task: to start a job takes longer than to measure one of them.
std::vector<mpi_row> collectives_of(const std::string& abi, const job_shape& shape, int delay_us) {
  const mpi_task task =
      task_of(abi, shape, delay_us, "collectives",
              {"--pattern", fmt::format("{}", fmt::join(collectives, ",")), "--largest", "65536", "--together", "1"});
  std::vector<mpi_row> rows;
  for (const std::string& what : collectives) {
    for (const long bytes : {8L, 1024L, 65536L}) {
      const bool is_barrier = what == "barrier";
      if (is_barrier && bytes > 8) continue;
      const std::string name = is_barrier ? what : fmt::format("{}/{}", what, bytes);
      rows.push_back(
          {.name = fmt::format("hosts{}x{}/{}/delay{}us", shape.hosts, shape.ranks, name, delay_us),
           .task = task,
           .series = fmt::format("{}/{}", what, bytes),
           .unit = "us",
           .description =
               fmt::format("{}{}, {} hosts of {} ranks, {} us between them", what,
                           is_barrier ? "" : fmt::format(" of {} B", bytes), shape.hosts, shape.ranks, delay_us),
           .target_ratio = target_of(what, bytes, shape.hosts, shape.ranks, delay_us),
           .counts = counts_of(what, is_barrier ? 0 : static_cast<std::uint64_t>(bytes), shape.hosts, shape.ranks)});
    }
  }
  return rows;
}

mpi_row rate_of_pairs(const std::string& abi, int pairs) {
  constexpr int delay_us = 50;
  return {.name = fmt::format("rate/pairs{}", pairs),
          .task = task_of(abi, {2, pairs}, delay_us, "pairs", {"--bytes", "8", "--batch-ms", "20"}),
          .series = "rate",
          .unit = "M/s",
          .description =
              fmt::format("8 B messages of {} pairs of ranks between 2 hosts, {} us between them", pairs, delay_us)};
}

// Beside a further rank of each host, which waits: with one on each host the drop-in leaves everything to the library.
mpi_row message_of(const std::string& abi, long bytes, int delay_us) {
  return {.name = fmt::format("hosts2x2/one_way/{}/delay{}us", bytes, delay_us),
          .task = task_of(abi, {2, 2}, delay_us, "sweep", {"--pattern", "one_way"}),
          .series = std::to_string(bytes),
          .unit = "us",
          .description =
              fmt::format("{} B, half of a round trip between 2 hosts of 2 ranks, {} us between them", bytes, delay_us),
          .target_ratio = 1.1};
}

}  // namespace

std::vector<row_definition> mpi_host_message_rows(const std::string& program) {
  const auto comparison = shared_comparison(program);
  std::vector<row_definition> rows;
  for (const std::string abi : {"openmpi", "mpich"})
    for (const int delay_us : {0, 50})
      for (const long bytes : {8L, 1024L, 8192L, 65536L, 524288L, 4194304L})
        rows.push_back(row_of("mpi", abi, message_of(abi, bytes, delay_us), comparison));
  return rows;
}

std::vector<row_definition> mpi_host_rows(const std::string& program) {
  const auto comparison = shared_comparison(program);
  std::vector<row_definition> rows;
  for (const std::string abi : {"openmpi", "mpich"}) {
    for (const int hosts : {2, 4})
      for (const int ranks : {1, 2, 4})
        for (const int delay_us : {0, 50, 500})
          for (const mpi_row& each : collectives_of(abi, {hosts, ranks}, delay_us))
            rows.push_back(row_of("coll", abi, each, comparison));
    for (const int pairs : {1, 2, 4}) rows.push_back(row_of("coll", abi, rate_of_pairs(abi, pairs), comparison));
  }
  return rows;
}

}  // namespace tri::bench
