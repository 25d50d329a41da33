#include "mpi/collective_rows.hpp"

#include <fmt/format.h>

#include "mpi/row_measurement.hpp"

namespace tri::bench {

namespace {

// Where ranks share cores, messages come in bursts: a batch must be longer than several slices of the scheduler.
std::vector<std::string> in_batches(std::vector<std::string> arguments, int ranks) {
  if (ranks > 2) arguments.insert(arguments.end(), {"--batch-ms", "20"});
  return arguments;
}

mpi_row on_one_communicator(const std::string& what, long bytes, int ranks) {
  const bool is_barrier = what == "barrier";
  return {.name = is_barrier ? fmt::format("barrier/{}ranks", ranks) : fmt::format("{}/{}/{}ranks", what, bytes, ranks),
          .task = {.what = "collectives", .ranks = ranks, .arguments = in_batches({"--pattern", what}, ranks)},
          .series = fmt::format("{}/{}", what, bytes),
          .unit = "us",
          .description = is_barrier ? fmt::format("barrier, {} ranks on 2 cores", ranks)
                                    : fmt::format("{} of {} B, {} ranks on 2 cores", what, bytes, ranks),
          .target_ratio = bytes >= 65536 ? 0.5 : 1.0};
}

// All of them are one task.
mpi_row between_groups(const std::string& what, long bytes, int ranks) {
  const bool is_barrier = what == "barrier";
  return {.name = is_barrier ? fmt::format("groups/barrier/{}ranks", ranks)
                             : fmt::format("groups/{}/{}/{}ranks", what, bytes, ranks),
          .task = {.what = "collectives",
                   .ranks = ranks,
                   .arguments = in_batches({"--pattern",
                                            "bcast,gather,scatter,allgather,alltoall,reduce,allreduce,reduce_scatter,"
                                            "barrier",
                                            "--largest", "65536", "--groups", "1"},
                                           ranks)},
          .series = fmt::format("{}/{}", what, bytes),
          .unit = "us",
          .description =
              is_barrier ? fmt::format("barrier of 2 groups of {} ranks on 2 cores", ranks / 2)
                         : fmt::format("{} of {} B between 2 groups of {} ranks on 2 cores", what, bytes, ranks / 2),
          .target_ratio = 1.0};
}

}  // namespace

std::vector<row_definition> mpi_collective_rows(const std::string& program) {
  const auto comparison = shared_comparison(program);
  std::vector<row_definition> rows;
  for (const std::string abi : {"openmpi", "mpich"})
    for (const std::string what : {"bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce",
                                   "reduce_scatter", "scan", "barrier"})
      for (const int ranks : {2, 4, 8})
        for (const long bytes : {8L, 1024L, 65536L, 1048576L}) {
          if (what == "barrier" && bytes > 8) continue;
          rows.push_back(row_of("coll", abi, on_one_communicator(what, bytes, ranks), comparison));
          if (what != "scan" && bytes <= 65536)  // MPI has none of two groups
            rows.push_back(row_of("coll", abi, between_groups(what, bytes, ranks), comparison));
        }
  return rows;
}

}  // namespace tri::bench
