// A comparison between MPI libraries: one task, run by each of them as it is, and by those of our ABIs also under the
// drop-in, in several rounds. In each round every library is started once, in another order each time, so that
// disturbances of the machine hit all alike. Used by one thread.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/batches.hpp"
#include "mpi/host_network.hpp"
#include "mpi/libraries.hpp"

namespace tri::bench {

// A task of the measuring program (mpi_measure.c).
struct mpi_task {
  std::string what;
  int ranks = 2;
  std::vector<std::string> arguments = {};
  bool one_core = false;  // all ranks share one core; otherwise they are distributed over two
  // Options of `trireme exec` by name. Ours take part as they are, and with each of these as a competitor of its own,
  // "trireme/ABI, NAME"; the libraries alone only if asked for.
  std::map<std::string, std::vector<std::string>> modes = {};
  bool libraries_beside_modes = false;
  int pretended_hosts = 1;  // of the drop-in; the library alone sends between them as between all ranks
  // On hosts with a network between them, each with an equal part of the ranks, by one library and the drop-in under
  // it.
  std::optional<host_network> network = {};
  std::string only = {};  // the library; empty: all take part

  bool operator==(const mpi_task&) const = default;
};

// One library, as it is or under the drop-in.
struct mpi_competitor {
  std::string name;  // "openmpi", "trireme/openmpi"
  mpi_library library;
  std::vector<std::string> wrapper;  // command before the program: `trireme exec` and options; empty: none
};

// Samples by series and round.
using mpi_rounds = std::map<std::string, std::vector<std::vector<double>>>;

struct mpi_result {
  std::map<std::string, mpi_rounds> of = {};       // by competitor
  std::map<std::string, std::string> faults = {};  // by competitor: why it has no samples
};

class mpi_comparison {
 public:
  // `program`: the trireme command that starts the drop-in.
  mpi_comparison(const std::string& program, const batch_options& method);

  // Starts all libraries, once for each task: rows that need the same task share its result.
  const mpi_result& hold(const mpi_task& task);

  // Why there is no competitor of this name; empty when there is one.
  std::string why_not(const std::string& competitor) const;

 private:
  std::vector<mpi_competitor> competitors_for(const mpi_task& task) const;
  // The series of one start.
  std::map<std::string, std::vector<double>> run(const mpi_competitor& who, const mpi_task& task, double seconds) const;

  batch_options method_;
  std::vector<mpi_competitor> competitors_;
  std::deque<std::pair<mpi_task, mpi_result>> held_;  // references to results stay good
};

}  // namespace tri::bench
