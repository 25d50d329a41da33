#include "mpi/waiting_rows.hpp"

#include <fmt/format.h>

#include <utility>

#include "mpi/row_measurement.hpp"

namespace tri::bench {
namespace {

// The task, with the drop-in whose waiting ranks do not help as a further peer. Where ranks share cores, messages come
// in bursts: a batch must be longer than several slices of the scheduler.
mpi_task beside_libraries(std::string what, int ranks, std::vector<std::string> arguments) {
  if (ranks > 2) arguments.insert(arguments.end(), {"--batch-ms", "20"});
  return {.what = std::move(what),
          .ranks = ranks,
          .arguments = std::move(arguments),
          .modes = {{"sharing off", {"--sharing", "off"}}},
          .libraries_beside_modes = true};
}

// Ping-pong of two ranks, while none, one, two or six others wait.
std::vector<mpi_row> beside_idle_ranks() {
  struct kind {
    std::string name, description, wait;
  };
  std::vector<mpi_row> rows;
  for (const kind& each : {kind{"contiguous", "", "barrier"}, kind{"contiguous", "", "receive"},
                           kind{"vector", " in pieces of 256 doubles", "barrier"}}) {
    for (const int idle : {0, 1, 2, 6}) {
      if (idle == 0 && each.wait != "barrier") continue;  // nobody waits
      const std::string others = idle == 0 ? "no_idle" : fmt::format("{}_in_{}", idle, each.wait);
      for (const long bytes : {8L, 65536L, 1048576L, 8388608L}) {
        if (each.name == "vector" && bytes == 8) continue;
        rows.push_back(
            {.name = fmt::format("idle/{}/{}/{}", each.name, bytes, others),
             .task = beside_libraries("idle", 2 + idle, {"--pattern", each.name, "--wait", each.wait}),
             .series = std::to_string(bytes),
             .unit = "us",
             .description = fmt::format("{} B{}, half of a round trip, {}", bytes, each.description,
                                        idle == 0 ? "no idle ranks" : fmt::format("{} idle in a {}", idle, each.wait)),
             .target_ratio = 1.1});
      }
    }
  }
  return rows;
}

// Rank 0 changes the window of rank 1; both and the others meet in fences.
std::vector<mpi_row> with_fences() {
  std::vector<mpi_row> rows;
  for (const std::string what : {"accumulate", "put"})
    for (const int ranks : {2, 4, 8})
      for (const long bytes : {8L, 131072L, 1048576L, 8388608L})
        rows.push_back(
            {.name = fmt::format("fence/{}/{}/{}ranks", what, bytes, ranks),
             .task = beside_libraries("fences", ranks, {"--pattern", what}),
             .series = std::to_string(bytes),
             .unit = "us",
             .description = fmt::format("{} of {} B of doubles and a fence, {} ranks on 2 cores", what, bytes, ranks),
             .target_ratio = 1.1});
  return rows;
}

}  // namespace

std::vector<row_definition> mpi_waiting_rows(const std::string& program) {
  const auto comparison = shared_comparison(program);
  std::vector<row_definition> rows;
  for (const std::string abi : {"openmpi", "mpich"}) {
    for (const mpi_row& each : beside_idle_ranks()) rows.push_back(row_of("mpi", abi, each, comparison));
    for (const mpi_row& each : with_fences()) rows.push_back(row_of("mpi", abi, each, comparison));
  }
  return rows;
}

}  // namespace tri::bench
