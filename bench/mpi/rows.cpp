// What messages cost in MPI programs under the drop-in, beside every MPI library that is there. A row is a comparison
// (comparison.hpp); the rows of both ABIs are of the same comparisons.
#include "mpi/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "framework/statistics.hpp"
#include "mpi/row_measurement.hpp"

namespace tri::bench {
namespace {

// Passive-target gets while the target computes; judged by their cost while it waits in MPI.
measurement measure_busy_target(mpi_comparison& libraries, const std::string& abi, const mpi_task& task) {
  const std::string own = "trireme/" + abi;
  const mpi_result& result = libraries.hold(task);
  measurement made = peers_of(result, own, "busy", "us", false).made;
  if (!have(libraries, result, own, made)) return made;
  const auto& of = result.of.at(own);
  made.samples.operation_ns = all_rounds(of.at("busy"));
  made.reference = comparison{"the same with a waiting target", ratios(of.at("busy"), of.at("idle"))};
  return made;
}

// The extra cost of a message when it is offered to waiting ranks that poll for it: the difference of medians in each
// round. `bytes` in one piece, or in two of which the second is tiny.
measurement measure_offering(mpi_comparison& libraries, const std::string& abi, const std::string& bytes) {
  const std::string own = "trireme/" + abi, offered = own + ", offered", alone = own + ", not offered";
  const mpi_result& result = libraries.hold(
      {.what = "latency",
       .ranks = 2,
       .arguments = {"--bytes", bytes},
       .modes = {{"offered", {"--sharing", "mixed", "--sharing-from", "8K"}}, {"not offered", {"--sharing", "off"}}}});
  measurement made;
  if (!have(libraries, result, own, made)) return made;
  for (const std::string& each : {offered, alone})
    if (const auto fault = result.faults.find(each); fault != result.faults.end())
      throw std::runtime_error(fault->second);
  const auto& with = result.of.at(offered).at("latency");
  const auto& without = result.of.at(alone).at("latency");
  for (const std::string& each : {offered, alone})
    made.peers[each] = in_unit(summarize(all_rounds(result.of.at(each).at("latency"))).median, "us");
  for (std::size_t round = 0; round < std::min(with.size(), without.size()); ++round)
    made.samples.operation_ns.push_back(summarize(with[round]).median - summarize(without[round]).median);
  return made;
}

// Resident memory beyond the host library alone.
measurement measure_memory(mpi_comparison& libraries, const std::string& abi, const mpi_task& task) {
  const std::string own = "trireme/" + abi;
  const mpi_result& result = libraries.hold(task);
  measurement made;
  constexpr double mebi = 1024.0 * 1024.0;
  for (const auto& [name, all] : result.of) {
    if (name != own) made.peers[name + " in all"] = summarize(all_rounds(all.at("memory"))).median / mebi;
  }
  if (!have(libraries, result, own, made)) return made;
  const double alone = summarize(all_rounds(result.of.at(abi).at("memory"))).median;
  for (const double sample : all_rounds(result.of.at(own).at("memory"))) made.values.push_back((sample - alone) / mebi);
  return made;
}

// Messages of 16 sizes, in four patterns, in buffers that are used again and in fresh ones. All sizes of a pattern are
// of one comparison.
std::vector<mpi_row> sweeps() {
  struct sweep_pattern {
    std::string name, description;
    int ranks;
  };
  const std::vector<sweep_pattern> patterns = {
      {"one_way", "half of a round trip", 2},
      {"stream", "a message of a stream in one direction", 2},
      {"both", "a message of streams in both directions", 2},
      {"pairs", "a message of a stream of one of two pairs, which share two cores", 4}};
  std::vector<mpi_row> rows;
  for (const sweep_pattern& pattern : patterns) {
    for (const bool fresh : {false, true}) {
      std::vector<std::string> arguments = {"--pattern", pattern.name, "--fresh", fresh ? "1" : "0"};
      if (pattern.ranks > 2) arguments.insert(arguments.end(), {"--batch-ms", "20"});
      for (const long bytes : {8L, 64L, 128L, 256L, 512L, 1024L, 2048L, 4096L, 8192L, 16384L, 32768L, 65536L, 131072L,
                               524288L, 1048576L, 4194304L}) {
        rows.push_back(
            {.name = fmt::format("{}{}/{}", pattern.name, fresh ? "_fresh" : "", bytes),
             .task = {.what = "sweep", .ranks = pattern.ranks, .arguments = arguments},
             .series = std::to_string(bytes),
             .unit = "us",
             .description = fmt::format("{} B, {}{}", bytes, pattern.description, fresh ? ", in fresh buffers" : ""),
             .target_ratio = 1.1});
      }
    }
  }
  return rows;
}

std::vector<mpi_row> described() {
  const auto bytes = [](long count) { return std::vector<std::string>{"--bytes", std::to_string(count)}; };
  // Where ranks share cores, messages come in bursts as long as a slice of the scheduler, with nothing in between: a
  // batch must be longer than several slices.
  const std::vector<std::string> shared = {"--bytes", "8", "--batch-ms", "50"};
  const mpi_task between_groups{.what = "sweep", .ranks = 2, .arguments = {"--pattern", "one_way", "--groups", "1"}};
  const std::vector<std::string> halo = {"--bytes", "2097152", "--compute-ms", "200"};
  return {
      {"latency/8", {"latency", 2, bytes(8)}, "latency", "us", "8 B, half of a round trip", {}, 1.1},
      {"latency/1024", {"latency", 2, bytes(1024)}, "latency", "us", "1 KiB, half of a round trip"},
      {"latency/8192", {"latency", 2, bytes(8192)}, "latency", "us", "8 KiB, half of a round trip"},
      {"latency/65536", {"latency", 2, bytes(65536)}, "latency", "us", "64 KiB, half of a round trip", {}, 0.5},
      {"latency/524288", {"latency", 2, bytes(524288)}, "latency", "us", "512 KiB, half of a round trip", {}, 0.5},
      {"latency/4194304", {"latency", 2, bytes(4194304)}, "latency", "us", "4 MiB, half of a round trip", {}, 0.5},
      {"vector/1MiB",
       {"vector", 2, bytes(1048576)},
       "vector",
       "us",
       "1 MiB of every second double, on both sides",
       {},
       0.5},
      {"groups/one_way/8", between_groups, "8", "us", "8 B between 2 groups of a rank, half of a round trip", {}, 1.1},
      {"groups/one_way/65536", between_groups, "65536", "us", "64 KiB between 2 groups of a rank", {}, 1.1},
      {"groups/one_way/4194304", between_groups, "4194304", "us", "4 MiB between 2 groups of a rank", {}, 1.1},
      {"rate/8", {"rate", 2, bytes(8)}, "rate", "M/s", "8 B messages, 64 in flight"},
      {"overlap/2MiB", {"overlap", 2, halo}, "overlap", "%", "two receives of 2 MiB behind 200 ms of computation", 80},
      {"overlap/2MiB_vector", {"overlap_vector", 2, halo}, "overlap", "%", "the same, every 64th byte", 80},
      {"overlap_hosts/2MiB",
       {.what = "overlap", .ranks = 4, .arguments = halo, .pretended_hosts = 2},
       "overlap",
       "%",
       "two receives of 2 MiB from another host behind 200 ms of computation, beside a rank that waits",
       80},
      {"overlap_hosts/2MiB_vector",
       {.what = "overlap_vector", .ranks = 4, .arguments = halo, .pretended_hosts = 2},
       "overlap",
       "%",
       "the same, every 64th byte",
       80},
      {"latency8/one_core", {"latency", 2, shared, true}, "latency", "us", "8 B between ranks that share a core"},
      {"latency8/4ranks",
       {"latency", 4, shared},
       "latency",
       "us",
       "8 B, 4 ranks on 2 cores, 2 of them in a barrier",
       40},
      {"latency8/8ranks",
       {"latency", 8, shared},
       "latency",
       "us",
       "8 B, 8 ranks on 2 cores, 6 of them in a barrier",
       40},
      {"allreduce8/2ranks", {"allreduce", 2, bytes(8)}, "allreduce", "us", "sum of 8 B", {}, 1.1},
      {"allreduce8/4ranks", {"allreduce", 4, shared}, "allreduce", "us", "sum of 8 B, 4 ranks on 2 cores", 40},
      {"allreduce8/8ranks", {"allreduce", 8, shared}, "allreduce", "us", "sum of 8 B, 8 ranks on 2 cores", 40},
      {"scan8/8ranks", {"scan", 8, shared}, "scan", "us", "MPI_Scan of 8 B, 8 ranks on 2 cores"},
  };
}

}  // namespace

std::vector<row_definition> mpi_rows(const std::string& program) {
  const auto comparison_of = shared_comparison(program);
  std::vector<row_definition> rows;
  for (const std::string abi : {"openmpi", "mpich"}) {
    const std::string prefix = "mpi/" + abi + "/";
    std::vector<mpi_row> all = described();
    for (mpi_row& each : sweeps()) all.push_back(std::move(each));
    for (const mpi_row& about : all) rows.push_back(row_of("mpi", abi, about, comparison_of));
    rows.push_back(
        {.name = prefix + "get8_busy_target",
         .unit = "us",
         .target_ratio = 1.5,
         .description = "lock, get of 8 B and unlock while the target computes without a call",
         .measure = [=](context& tools) {
           return measure_busy_target(comparison_of(tools), abi, {"get", 2, {"--bytes", "8", "--compute-ms", "50"}});
         }});
    for (const auto& [pieces, bytes] : {std::pair{"one_piece", "16384"}, {"two_pieces", "16392"}}) {
      rows.push_back(
          {.name = prefix + "offering/" + pieces,
           .unit = "us",
           .target = 5,
           .description = fmt::format("what a message of {} B costs more when it is offered to others", bytes),
           .measure = [=, bytes = bytes](context& tools) {
             return measure_offering(comparison_of(tools), abi, bytes);
           }});
    }
    rows.push_back({.name = prefix + "memory_at_start",
                    .unit = "MiB",
                    .target = 1,
                    .description = "resident memory of rank 0 after MPI_Init beyond the library alone",
                    .measure = [=](context& tools) {
                      return measure_memory(comparison_of(tools), abi, {"memory", 2});
                    }});
  }
  return rows;
}

}  // namespace tri::bench
