#include "mpi/collective_rows.hpp"

#include <fmt/format.h>

#include "mpi/row_measurement.hpp"

namespace tri::bench {

std::vector<row_definition> mpi_collective_rows(const std::string& program) {
  const auto comparison = shared_comparison(program);
  std::vector<row_definition> rows;
  for (const std::string abi : {"openmpi", "mpich"})
    for (const std::string what : {"bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce",
                                   "reduce_scatter", "scan", "barrier"})
      for (const int ranks : {2, 4, 8}) {
        std::vector<std::string> arguments = {"--pattern", what};
        // Where ranks share cores, messages come in bursts: a batch must be longer than several slices of the
        // scheduler.
        if (ranks > 2) arguments.insert(arguments.end(), {"--batch-ms", "20"});
        for (const long bytes : {8L, 1024L, 65536L, 1048576L}) {
          const bool is_barrier = what == "barrier";
          if (is_barrier && bytes > 8) continue;
          rows.push_back(
              row_of("coll", abi,
                     {.name = is_barrier ? fmt::format("barrier/{}ranks", ranks)
                                         : fmt::format("{}/{}/{}ranks", what, bytes, ranks),
                      .task = {.what = "collectives", .ranks = ranks, .arguments = arguments},
                      .series = fmt::format("{}/{}", what, bytes),
                      .unit = "us",
                      .description = is_barrier ? fmt::format("barrier, {} ranks on 2 cores", ranks)
                                                : fmt::format("{} of {} B, {} ranks on 2 cores", what, bytes, ranks),
                      .target_ratio = bytes >= 65536 ? 0.5 : 1.0},
                     comparison));
        }
      }
  return rows;
}

}  // namespace tri::bench
